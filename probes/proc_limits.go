package probes

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// FDLimit returns the soft limit of open descriptors of a process.
func (fs FS) FDLimit(pid int) (int64, error) {
	data, err := fs.read(fs.proc(pid, "limits"), nil)
	if err != nil {
		return 0, err
	}
	return parseFDLimit(data)
}

// parseFDLimit parses the line "Max open files  soft  hard  files" of
// /proc/<pid>/limits. Unlimited is the largest int64.
func parseFDLimit(data []byte) (int64, error) {
	for line := range bytes.Lines(data) {
		value, ok := bytes.CutPrefix(line, []byte("Max open files"))
		if !ok {
			continue
		}
		fields := bytes.Fields(value)
		if len(fields) == 0 {
			break
		}
		if string(fields[0]) == "unlimited" {
			return math.MaxInt64, nil
		}
		n, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: limits: %w", errParse, err)
		}
		return n, nil
	}
	return 0, fmt.Errorf("%w: no line about open files", errParse)
}
