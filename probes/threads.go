package probes

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// thread is what was last read of one thread.
type thread struct {
	name       string
	seen       int // readings since it appeared
	run, delay float64
}

// GroupName turns a thread's name into that of its group: what stands before
// its number, or before the ".." with which newer JDKs shorten names that Linux
// (15 bytes) would cut. "http-nio-8080-e" becomes "http-nio", "http-ni..exec-7"
// "http-ni", "GC Thread#3" "GC Thread"; "C2 CompilerThre" stays, and "G1 Conc#0" becomes "G1 Conc".
func GroupName(name string) string {
	group, _, _ := strings.Cut(name, "..")
	family := 0
	if len(group) > 3 && group[2] == ' ' { // C1, C2 and G1 are no numbers of threads
		family = 3
	}
	if at := strings.IndexAny(group[family:], "0123456789#"); at >= 0 {
		group = group[:family+at]
	}
	if group = strings.TrimRight(group, "-# "); group == "" {
		return name
	}
	return group
}

// threads adds run and wait times by thread group to s. Each thread's growth
// since its last reading goes to the group of its present name, so a group
// keeps what ended threads used; only what they used after their last reading is lost.
func (t *Tree) threads(s *Sample, alive []*member) {
	if t.fs.elsewhere() {
		s.Unavailable["run_delay_s"] = ErrNeedsLinux.Error()
		return
	}
	for _, g := range t.groups {
		g.Threads, g.MaxCPUS = 0, 0
	}
	var firstErr error
	for _, m := range alive {
		firstErr = t.worse(firstErr, t.readThreads(m), m)
	}
	if firstErr != nil {
		s.Unavailable["run_delay_s"] = firstErr.Error()
		return
	}
	t.findLoops(alive)
	t.lookAtLoops(alive)
	var delay float64
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		s.Groups = append(s.Groups, *t.groups[name])
		delay += t.groups[name].RunDelayS
	}
	s.RunDelayS = &delay
}

func (t *Tree) readThreads(m *member) error {
	tids, err := t.fs.numbers(t.fs.proc(m.PID, "task"))
	if err != nil {
		return err
	}
	before := m.threads
	m.threads = make(map[int]*thread, len(tids))
	for _, tid := range tids {
		dir := "task/" + strconv.Itoa(tid)
		data, err := t.fs.read(t.fs.proc(m.PID, dir+"/schedstat"), t.buffer())
		if errors.Is(err, os.ErrNotExist) && t.threadExists(m, dir) {
			return errors.New("the kernel has no schedstat")
		}
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		run, delay, err := parseSchedstat(data)
		if err != nil {
			return err
		}
		was := before[tid]
		if was == nil || run < was.run {
			was = &thread{} // new, or its number was reused
		}
		if was.seen < 2 { // a JVM names its threads shortly after their start
			was.name = t.threadName(m, dir)
		}
		was.seen++
		m.threads[tid] = was
		t.account(was, run, delay)
	}
	return nil
}

// threadExists tells a thread that ended from a kernel without the file.
func (t *Tree) threadExists(m *member, dir string) bool {
	_, err := os.Stat(t.fs.proc(m.PID, dir+"/stat"))
	return err == nil
}

func (t *Tree) threadName(m *member, dir string) string {
	data, err := t.fs.read(t.fs.proc(m.PID, dir+"/comm"), t.buffer())
	if err != nil {
		return m.Comm
	}
	return strings.TrimSuffix(string(data), "\n")
}

func (t *Tree) account(th *thread, run, delay float64) {
	name := GroupName(th.name)
	g := t.groups[name]
	if g == nil {
		g = &ThreadGroup{Name: name}
		t.groups[name] = g
	}
	g.Threads++
	g.CPUS += run - th.run
	g.RunDelayS += max(0, delay-th.delay)
	g.MaxCPUS = max(g.MaxCPUS, run-th.run)
	th.run, th.delay = run, delay
}

// groupsBetween subtracts the groups of the first detailed sample from those of
// the last, busiest first. samples are all detailed samples of the window.
func groupsBetween(samples []Sample) []ThreadGroup {
	if len(samples) < 2 {
		return nil
	}
	before := map[string]ThreadGroup{}
	for _, g := range samples[0].Groups {
		before[g.Name] = g
	}
	busiest := map[string]float64{}
	for _, s := range samples[1:] {
		for _, g := range s.Groups {
			busiest[g.Name] += g.MaxCPUS
		}
	}
	var groups []ThreadGroup
	for _, g := range samples[len(samples)-1].Groups {
		g.CPUS -= before[g.Name].CPUS
		g.RunDelayS -= before[g.Name].RunDelayS
		g.MaxCPUS = min(busiest[g.Name], g.CPUS)
		g.Looks -= before[g.Name].Looks
		g.Blocked -= before[g.Name].Blocked
		if g.CPUS > 0 || g.Threads > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b ThreadGroup) int { return cmp.Compare(b.CPUS, a.CPUS) })
	return groups
}
