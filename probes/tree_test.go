package probes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeMachine is a root folder whose processes a test changes between samples.
type fakeMachine struct {
	t    *testing.T
	root string
}

const boot = 1_700_000_000 // btime of testdata/proc/stat-machine

func newFakeMachine(t *testing.T) fakeMachine {
	m := fakeMachine{t, t.TempDir()}
	m.write("proc/stat", string(procFile(t, "stat-machine")))
	return m
}

func (m fakeMachine) fs() FS {
	fs := NewFS(m.root)
	fs.owner = func(uid int) (string, error) { return fmt.Sprintf("user%d", uid), nil }
	return fs
}

func (m fakeMachine) write(path, text string) string {
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// process writes the files of one; own and waited are clock ticks.
func (m fakeMachine) process(pid, ppid int, start uint64, state string, own, waited int) {
	dir := fmt.Sprintf("proc/%d/", pid)
	m.write(dir+"stat", fmt.Sprintf("%d (p%d) %s %d 1 1 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 3 0 %d 0 100 0", pid, pid, state, ppid, own, waited, start))
	m.write(dir+"statm", "900 100 0 0 0 0 0")
	m.write(dir+"status", fmt.Sprintf("Uid:\t1000\t1000\t1000\t1000\nNSpid:\t%d\t1\nVmHWM:\t500 kB\n", pid))
	m.write(dir+"fd/0", "")
	m.write(dir+"maps", "7f00-7f01 r-xp 0 00:00 0 /lib/libc.so.6\n")
	m.write(dir+"smaps_rollup", "Rss: 400 kB\n")
	m.write(fmt.Sprintf("%stask/%d/schedstat", dir, pid), fmt.Sprintf("%d000000 5000000 1", own*10))
	m.write(fmt.Sprintf("%stask/%d/comm", dir, pid), fmt.Sprintf("work-%d\n", pid))
}

func (m fakeMachine) end(pid int) {
	if err := os.RemoveAll(filepath.Join(m.root, "proc", fmt.Sprint(pid))); err != nil {
		m.t.Fatal(err)
	}
}

func (m fakeMachine) tree(pid int, options ...TreeOption) *Tree {
	tree, err := NewTree(m.fs(), pid, options...)
	if err != nil {
		m.t.Fatal(err)
	}
	return tree
}

func cpuOf(t *testing.T, s Sample) float64 {
	t.Helper()
	if s.CPUS == nil {
		t.Fatalf("cpu_s: %v", s.Unavailable)
	}
	return *s.CPUS
}

func TestTreeIsDescendantsAndNobodyElse(t *testing.T) {
	m := newFakeMachine(t)
	m.process(1, 0, 1, "S", 9999, 9999)
	m.process(100, 1, 500, "S", 100, 0)
	m.process(99, 102, 700, "R", 30, 0) // listed before its parent: numbers wrap around
	m.process(102, 100, 600, "S", 20, 0)
	m.process(200, 1, 500, "R", 7000, 0)   // a stranger
	m.process(201, 100, 400, "R", 8000, 0) // older than its "parent": the number of that was reused
	s := m.tree(100).Sample()
	near(t, "cpu_s", cpuOf(t, s), 1.5, 1e-9)
	if s.Processes != 3 || *s.Threads != 9 || *s.FDs != 3 || *s.RSSBytes != 300*int64(os.Getpagesize()) {
		t.Errorf("%s", asJSON(s))
	}
	s = m.tree(100, SkipRoot).Detailed()
	near(t, "cpu_s below the root", cpuOf(t, s), 0.5, 1e-9)
	if s.Processes != 2 || *s.RunDelayS != 0.01 || len(s.Groups) != 1 || s.Groups[0].Name != "work" || s.Groups[0].Threads != 2 {
		t.Errorf("%s", asJSON(s))
	}
	near(t, "the busiest thread", s.Groups[0].MaxCPUS, 0.3, 1e-9)
	if got := fmt.Sprint(m.fs().Descendants(100)); got != "[102 99]" {
		t.Errorf("descendants %s", got)
	}
}

func TestCPUNeverGoesBackwards(t *testing.T) {
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 100, 0)
	m.process(101, 100, 600, "R", 50, 0)
	m.process(102, 100, 600, "R", 70, 0)
	tree := m.tree(100)
	near(t, "all three", cpuOf(t, tree.Sample()), 2.2, 1e-9)

	m.process(101, 100, 600, "Z", 60, 0) // a zombie: its time is final, its memory gone
	s := tree.Sample()
	near(t, "with a zombie", cpuOf(t, s), 2.3, 1e-9)
	if s.Processes != 2 {
		t.Errorf("the zombie is a process: %s", asJSON(s))
	}
	m.end(101)
	m.process(100, 1, 500, "S", 100, 62) // waited for
	near(t, "waited for", cpuOf(t, tree.Sample()), 2.32, 1e-9)

	m.end(102) // reaped by the kernel itself: its parent ignores SIGCHLD
	near(t, "reaped by nobody", cpuOf(t, tree.Sample()), 2.32, 1e-9)
	m.process(100, 1, 500, "S", 110, 62)
	near(t, "afterwards", cpuOf(t, tree.Sample()), 2.42, 1e-9)

	m.process(103, 100, 900, "R", 10, 0)
	tree.Sample()
	m.process(103, 1, 900, "R", 40, 0) // its parent ended; it went to init
	m.end(100)
	near(t, "an orphan", cpuOf(t, tree.Sample()), 2.82, 1e-9)
}

func TestPIDReuseEndsTheSeries(t *testing.T) {
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 100, 0)
	tree, id := m.tree(100), ID{100, 500}
	if !m.fs().Alive(id) || tree.Root() != id {
		t.Fatalf("root %v", tree.Root())
	}
	m.process(100, 1, 9000, "R", 4000, 0)
	if s := tree.Sample(); s.Processes != 0 || s.CPUS != nil || s.RSSBytes != nil || s.Unavailable["cpu_s"] == "" {
		t.Errorf("another process's figures: %s", asJSON(s))
	}
	if m.fs().Alive(id) {
		t.Error("a signal would reach another process")
	}
	if _, err := NewTree(m.fs(), 555); !errors.Is(err, ErrGone) {
		t.Errorf("nobody: %v", err)
	}
}

func TestWhatMayNotBeReadIsSaid(t *testing.T) {
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 100, 0)
	m.write("proc/100/statm", "garbage")
	if err := os.Remove(filepath.Join(m.root, "proc/100/task/100/schedstat")); err != nil {
		t.Fatal(err)
	}
	m.write("proc/100/task/100/stat", "there")
	m.write("proc/100/smaps_rollup", "")
	tree := m.tree(100)
	s := tree.Detailed()
	if s.RSSBytes != nil || !strings.Contains(s.Unavailable["rss_bytes"], "statm") {
		t.Errorf("rss: %s", asJSON(s))
	}
	if s.RunDelayS != nil || !strings.Contains(s.Unavailable["run_delay_s"], "schedstat") {
		t.Errorf("run delay: %s", asJSON(s))
	}
	if s.CPUS == nil || s.FDs == nil || s.Threads == nil {
		t.Errorf("the rest: %s", asJSON(s))
	}
	if n, err := tree.RSSNow(); err == nil {
		t.Errorf("RSS %d out of an empty smaps_rollup", n)
	}
}

func TestPerfDataIsFound(t *testing.T) {
	data := string(readFixture(t, filepath.Join(hsperfDir, "jdk25-g1-gc.hsperf")))
	const start = 500 // ticks: 5 s after boot
	for name, c := range map[string]struct {
		path, comm string
		age        time.Duration // before the process's start
		nobody     bool          // the user cannot be looked up
		found      bool
		reason     string
	}{
		"the owner's folder":    {path: "tmp/hsperfdata_user1000/101", found: true},
		"user not known":        {path: "tmp/hsperfdata_somebody/101", nobody: true, found: true},
		"another user's folder": {path: "tmp/hsperfdata_root/101", found: true},
		"inside a container":    {path: "proc/101/root/tmp/hsperfdata_app/1", found: true},
		"stale":                 {path: "tmp/hsperfdata_user1000/101", age: time.Hour, comm: "java", reason: "older"},
		"perf data off":         {path: "tmp/unrelated", comm: "java", reason: "perf data off"},
		"not a JVM":             {path: "tmp/unrelated", reason: NoJVM},
	} {
		m := newFakeMachine(t)
		m.process(100, 1, 400, "S", 1, 0) // sh -c java: the JVM is a child
		m.process(101, 100, start, "S", 100, 0)
		if c.comm != "" {
			stat := filepath.Join(m.root, "proc/101/stat")
			m.write("proc/101/stat", strings.Replace(string(readFixture(t, stat)), "(p101)", "("+c.comm+")", 1))
		}
		file := m.write(c.path, data)
		at := time.Unix(boot+5, 0).Add(time.Second - c.age)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		tree := m.tree(100)
		if c.nobody {
			tree.fs.owner = func(int) (string, error) { return "", errors.New("no such user") }
			tree.processes = tree.fs
		}
		s := tree.Sample()
		switch {
		case c.found && (s.JVM == nil || s.JVM.PID != 101 || s.JVM.Collector != "G1" || s.JVM.ThreadsLive == nil):
			t.Errorf("%s: %s", name, asJSON(s))
		case !c.found && (s.JVM != nil || !strings.Contains(s.Unavailable["jvm"], c.reason) || s.CPUS == nil):
			t.Errorf("%s: %s", name, asJSON(s))
		}
		if c.found && tree.JVMPID() != 101 {
			t.Errorf("%s: JVM %d", name, tree.JVMPID())
		}
	}
}

func TestPerfDataGoesAndComes(t *testing.T) {
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 1, 0)
	m.write("proc/100/maps", "7f00-7f01 r-xp 0 00:00 0 /opt/jdk/lib/server/libjvm.so\n") // an own launcher
	tree := m.tree(100)
	if s := tree.Sample(); s.JVM != nil || !strings.Contains(s.Unavailable["jvm"], "no hsperfdata file") {
		t.Errorf("before the file: %s", asJSON(s))
	}
	whole := string(readFixture(t, filepath.Join(hsperfDir, "jdk17-serial-gc.hsperf")))
	file := m.write("tmp/hsperfdata_user1000/100", whole[:900])
	if s := tree.Sample(); s.JVM != nil || !strings.Contains(s.Unavailable["jvm"], "torn") {
		t.Errorf("half a file: %s", asJSON(s))
	}
	m.write("tmp/hsperfdata_user1000/100", whole)
	if s := tree.Sample(); s.JVM == nil || s.JVM.Collector != "Serial" {
		t.Errorf("the file: %s", asJSON(s))
	}
	if err := os.Remove(file); err != nil { // by a cleaner of /tmp
		t.Fatal(err)
	}
	if s := tree.Sample(); s.JVM != nil || s.Unavailable["jvm"] == "" {
		t.Errorf("after the file: %s", asJSON(s))
	}
	m.write("tmp/hsperfdata_user1000/100", whole)
	if facts, err := tree.JVM(); err != nil || !strings.HasPrefix(facts.Version, "17.") || !strings.Contains(facts.Args, "-Xmx64m") {
		t.Errorf("facts: %+v, %v", facts, err)
	}
}

func TestPerfDataWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 1, 0)
	m.write("proc/100/maps", "/opt/jdk/lib/server/libjvm.so\n")
	folder := filepath.Dir(m.write("tmp/hsperfdata_user1000/100", "x"))
	if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
	if s := m.tree(100).Sample(); s.JVM != nil || !strings.Contains(s.Unavailable["jvm"], "permission") {
		t.Errorf("%s", asJSON(s))
	}
}
