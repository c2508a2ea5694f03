package probes

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds CPU numbers; Linux is built for at most 8192.
const maxCPU = 8191

// ParseCPUList reads CPU numbers as Linux writes them, such as "0-3,8". The
// result is ascending and without repeats.
func ParseCPUList(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseUint(from, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || a > b || b > maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs such as 0-3,8", text)
		}
		for n := a; n <= b; n++ {
			cpus = append(cpus, int(n))
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// AllowedCPUs returns the CPUs that a process may run on. The error wraps
// ErrNeedsLinux elsewhere and ErrGone when there is no such process.
func (fs FS) AllowedCPUs(pid int) ([]int, error) {
	if fs.elsewhere() {
		return nil, ErrNeedsLinux
	}
	data, err := fs.read(fs.proc(pid, "status"), nil)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		if list, ok := bytes.CutPrefix(line, []byte("Cpus_allowed_list:")); ok {
			return ParseCPUList(string(bytes.TrimSpace(list)))
		}
	}
	return nil, fmt.Errorf("%w: no list of allowed CPUs", errParse)
}
