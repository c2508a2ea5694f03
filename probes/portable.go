package probes

import (
	"fmt"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

// elsewhere says that fs stands for a live machine that has no /proc as Linux has.
func (fs FS) elsewhere() bool { return fs.host() && runtime.GOOS != "linux" }

// portable has the figures that gopsutil can get on systems other than Linux.
// Children that ended and were waited for cannot be had there.
type portable struct{}

func (portable) pids() ([]int, error) {
	list, err := process.Pids()
	if err != nil {
		return nil, err
	}
	pids := make([]int, len(list))
	for i, pid := range list {
		pids[i] = int(pid)
	}
	return pids, nil
}

func (portable) lineage(pid int) (ID, int, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ID{}, 0, fmt.Errorf("%w: %w", ErrGone, err)
	}
	ppid, err := p.Ppid()
	if err != nil {
		return ID{}, 0, fmt.Errorf("%w: %w", ErrGone, err)
	}
	start, err := p.CreateTime()
	return ID{PID: pid, Start: uint64(start)}, int(ppid), err
}

func (o portable) stat(pid int, _ []byte) (procStat, error) {
	id, ppid, err := o.lineage(pid)
	if err != nil {
		return procStat{}, err
	}
	p := process.Process{Pid: int32(pid)}
	times, err := p.Times()
	if err != nil {
		return procStat{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	s := procStat{ID: id, PPID: ppid, State: 'R', Own: time.Duration((times.User + times.System) * 1e9)}
	if name, err := p.Name(); err == nil {
		s.Comm = name
	}
	if states, err := p.Status(); err == nil && len(states) > 0 && states[0] == process.Zombie {
		s.State = 'Z'
	}
	if n, err := p.NumThreads(); err == nil {
		s.Threads = int64(n)
	}
	return s, nil
}

func (portable) residentBytes(pid int, _ []byte) (int64, error) {
	p := process.Process{Pid: int32(pid)}
	m, err := p.MemoryInfo()
	if err != nil {
		return 0, err
	}
	return int64(m.RSS), nil
}

func (portable) openFDs(int) (int64, error) { return 0, ErrNeedsLinux }

// startedAt: the start of an ID is here in milliseconds of wall time, as gopsutil gives it.
func (portable) startedAt(id ID) (time.Time, error) { return time.UnixMilli(int64(id.Start)), nil }
