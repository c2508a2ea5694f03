package probes

import (
	"bytes"
	"fmt"
	"strconv"
)

// procStatus is what is used of /proc/<pid>/status.
type procStatus struct {
	UID     int   // real user
	EUID    int   // effective user, after whom HotSpot names the hsperfdata folder
	NSPIDs  []int // its number in each nested PID namespace, outermost first
	PeakRSS int64 // VmHWM in bytes; 0 for a kernel thread
}

func (fs FS) status(pid int) (procStatus, error) {
	data, err := fs.read(fs.proc(pid, "status"), nil)
	if err != nil {
		return procStatus{}, err
	}
	s, err := parseStatus(data)
	if err != nil {
		return procStatus{}, fmt.Errorf("/proc/%d/status: %w", pid, err)
	}
	return s, nil
}

// parseStatus parses /proc/<pid>/status: a line "Key:<tab>value" each. See proc_pid_status(5).
func parseStatus(data []byte) (procStatus, error) {
	s := procStatus{UID: -1, EUID: -1}
	for line := range bytes.Lines(data) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		var err error
		switch fields := bytes.Fields(value); string(key) {
		case "Uid":
			if len(fields) < 2 {
				return s, fmt.Errorf("%w: Uid: %q", errParse, value)
			}
			if s.UID, err = strconv.Atoi(string(fields[0])); err == nil {
				s.EUID, err = strconv.Atoi(string(fields[1]))
			}
		case "NSpid":
			for _, f := range fields {
				n, perr := strconv.Atoi(string(f))
				if perr != nil {
					err = perr
				}
				s.NSPIDs = append(s.NSPIDs, n)
			}
		case "VmHWM":
			s.PeakRSS, err = kilobytes(fields)
		}
		if err != nil {
			return s, fmt.Errorf("%w: %s: %w", errParse, key, err)
		}
	}
	if s.UID < 0 {
		return s, fmt.Errorf("%w: no Uid line", errParse)
	}
	return s, nil
}

// kilobytes parses "1234 kB", the kernel's form for memory, and returns bytes.
func kilobytes(fields [][]byte) (int64, error) {
	if len(fields) != 2 || string(fields[1]) != "kB" {
		return 0, fmt.Errorf("%q is not in kB", bytes.Join(fields, []byte(" ")))
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return n << 10, err
}
