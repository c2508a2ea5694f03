package probes

import (
	"errors"
	"os"

	"loomlab/clock"
)

// Sample reads the tree's counters and gauges, without those of single threads.
// It never fails: what cannot be read is null, with its reason.
func (t *Tree) Sample() Sample { return t.sample(false) }

// Detailed is [Tree.Sample] plus the time that threads ran and waited for a CPU,
// by group. It opens a file for every thread: 5 to 9 µs each, so 3 ms or more for 500.
func (t *Tree) Detailed() Sample { return t.sample(true) }

func (t *Tree) sample(detailed bool) Sample {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Sample{At: clock.Now().Seconds(), Unavailable: map[string]string{}}
	t.update()
	alive := t.alive()
	s.Processes = len(alive)
	s.CPUS = t.cpu()
	if s.CPUS == nil {
		s.Unavailable["cpu_s"] = reasonEnded
	}
	if len(alive) == 0 {
		for _, field := range []string{"run_delay_s", "rss_bytes", "threads", "fds", "jvm"} {
			s.Unavailable[field] = reasonEnded
		}
		return s
	}
	t.gauges(&s, alive)
	if detailed {
		t.threads(&s, alive)
	} else {
		t.lookAtLoops(alive)
	}
	s.JVM = t.readJVM(s.Unavailable, alive)
	return s
}

const reasonEnded = "no process of the tree is running"

// cpu sums what the members used and what ended ones passed on; null when all have gone.
func (t *Tree) cpu() *float64 {
	if len(t.members) == 0 {
		return nil
	}
	total := t.lostCPU
	for _, m := range t.members {
		total += t.counted(m)
	}
	seconds := total.Seconds()
	return &seconds
}

// gauges sums memory, threads and descriptors. A process that ends between two
// reads is left out; one that may not be read makes the sum unavailable, for a part of it would mislead.
func (t *Tree) gauges(s *Sample, alive []*member) {
	var threads, rss, fds int64
	var rssErr, fdsErr error
	for _, m := range alive {
		threads += m.Threads
		n, err := t.processes.residentBytes(m.PID, t.buffer())
		rss, rssErr = rss+n, t.worse(rssErr, err, m)
		n, err = t.processes.openFDs(m.PID)
		fds, fdsErr = fds+n, t.worse(fdsErr, err, m)
	}
	s.Threads = &threads
	s.RSSBytes = s.unless("rss_bytes", rssErr, rss)
	s.FDs = s.unless("fds", fdsErr, fds)
}

// unless returns n, or null and the reason when err says so.
func (s *Sample) unless(field string, err error, n int64) *int64 {
	if err != nil {
		s.Unavailable[field] = err.Error()
		return nil
	}
	return &n
}

// worse keeps the first error that is not the process m ending meanwhile. While
// it exits, its files belong to root for a moment and may not be read: it has no memory then.
func (t *Tree) worse(first, err error, m *member) error {
	if first != nil || err == nil || errors.Is(err, ErrGone) {
		return first
	}
	if errors.Is(err, os.ErrPermission) {
		now, gone := t.processes.stat(m.PID, nil)
		if gone != nil || now.ID != m.ID || now.zombie() {
			return nil
		}
		if rss, gone := t.processes.residentBytes(m.PID, nil); gone != nil || rss == 0 {
			return nil
		}
	}
	return err
}

// RSSNow is the tree's resident memory in bytes from smaps_rollup, exact to the
// page. It stalls the processes for some milliseconds: only when a window has ended.
func (t *Tree) RSSNow() (int64, error) { return t.sum(t.fs.exactResidentBytes) }

// ResetPeak makes [Tree.PeakRSS] start again from here.
func (t *Tree) ResetPeak() error {
	_, err := t.sum(func(pid int) (int64, error) { return 0, t.fs.resetPeak(pid) })
	return err
}

// PeakRSS sums the processes' largest resident sizes (VmHWM), in bytes, since
// [Tree.ResetPeak]. They need not have been at the same moment, so with several processes it is an upper bound.
func (t *Tree) PeakRSS() (int64, error) {
	return t.sum(func(pid int) (int64, error) {
		s, err := t.fs.status(pid)
		return s.PeakRSS, err
	})
}

// sum adds read over the living processes; those that end meanwhile do not count.
func (t *Tree) sum(read func(pid int) (int64, error)) (int64, error) {
	if t.fs.elsewhere() {
		return 0, ErrNeedsLinux
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.update()
	var total int64
	var firstErr error
	counted := 0
	for _, m := range t.alive() {
		n, err := read(m.PID)
		if err == nil {
			total += n
			counted++
		}
		firstErr = t.worse(firstErr, err, m)
	}
	if firstErr == nil && counted == 0 {
		firstErr = ErrGone
	}
	return total, firstErr
}
