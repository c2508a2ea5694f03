package probes

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ID is the identity of a process: its number, which the kernel reuses, and its
// start in clock ticks since boot, which tells two bearers of the number apart. The
// start is never converted to wall time to be compared: that clock jumps.
type ID struct {
	PID   int
	Start uint64
}

// procStat is what is used of /proc/<pid>/stat.
type procStat struct {
	ID
	Comm     string
	State    byte
	PPID     int
	Own      time.Duration // user + system time of all its threads, ended ones included
	Waited   time.Duration // the same of its children that ended and were waited for
	Threads  int64
	RSSPages int64
}

// zombie: the process has ended; its times are final, and it holds nothing else.
func (s procStat) zombie() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

var errParse = errors.New("unexpected content")

// identify reads the identity of a process. A zombie is [ErrGone].
func (fs FS) identify(pid int) (ID, error) {
	s, err := fs.stat(pid, nil)
	if err == nil && s.zombie() {
		err = fmt.Errorf("%w: %d is a zombie", ErrGone, pid)
	}
	return s.ID, err
}

// Alive says whether id still is the process it was: running, and not another
// one with the same number. Ask it before sending a signal.
func (fs FS) Alive(id ID) bool {
	now, err := fs.identify(id.PID)
	return err == nil && now == id
}

func (fs FS) stat(pid int, buf []byte) (procStat, error) {
	data, err := fs.read(fs.proc(pid, "stat"), buf)
	if err != nil {
		return procStat{}, err
	}
	s, err := parseStat(data, fs.ticks)
	if err != nil {
		return procStat{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return s, nil
}

// parseStat parses /proc/<pid>/stat, or /proc/<pid>/task/<tid>/stat. The name stands between the first "(" and
// the last ")", for it may itself hold spaces and brackets. See proc_pid_stat(5).
func parseStat(data []byte, ticks float64) (procStat, error) {
	var s procStat
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 2 || end < open {
		return s, fmt.Errorf("%w: no name in brackets", errParse)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
	if err != nil {
		return s, fmt.Errorf("%w: %w", errParse, err)
	}
	// Fields are numbered as in the manual page: the first after the name is 3, the state.
	const state, ppid, utime, stime, cutime, cstime, threads, start, rss = 3, 4, 14, 15, 16, 17, 20, 22, 24
	var number [rss + 1]int64
	field := state
	for f := range bytes.FieldsSeq(data[end+1:]) {
		switch field {
		case state:
			if len(f) != 1 {
				return s, fmt.Errorf("%w: state %q", errParse, f)
			}
			s.State = f[0]
		case ppid, utime, stime, cutime, cstime, threads, start, rss:
			if number[field], err = strconv.ParseInt(string(f), 10, 64); err != nil {
				return s, fmt.Errorf("%w: field %d: %w", errParse, field, err)
			}
		}
		if field++; field > rss {
			break
		}
	}
	if field <= rss {
		return s, fmt.Errorf("%w: ends at field %d", errParse, field-1)
	}
	s.ID = ID{PID: pid, Start: uint64(number[start])}
	s.Comm = string(data[open+1 : end])
	s.PPID = int(number[ppid])
	tick := time.Duration(float64(time.Second) / ticks)
	s.Own = time.Duration(number[utime]+number[stime]) * tick
	s.Waited = time.Duration(number[cutime]+number[cstime]) * tick
	s.Threads = number[threads]
	s.RSSPages = number[rss]
	return s, nil
}
