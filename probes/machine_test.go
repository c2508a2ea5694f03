package probes

import (
	"os"
	"runtime"
	"slices"
	"testing"
)

func TestReadMachine(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Xmx64m")
	t.Setenv("MALLOC_ARENA_MAX", "2")
	m, err := ReadMachine()
	if err != nil {
		t.Logf("not all facts: %v", err)
	}
	if m.OS != runtime.GOOS || m.Cores < 1 || m.Host == "" || m.Kernel == "" || m.MemoryBytes < 64<<20 || m.FDLimit < 16 {
		t.Errorf("%+v", m)
	}
	if m.Env["JAVA_TOOL_OPTIONS"] != "-Xmx64m" || m.Env["MALLOC_ARENA_MAX"] != "2" || m.Env["PATH"] != "" {
		t.Errorf("env: %v", m.Env)
	}
}

func TestParseHugePages(t *testing.T) {
	for text, want := range map[string]string{"always [madvise] never\n": "madvise", "[always] madvise never": "always", "": "", "never": "", "[x": ""} {
		if got := parseHugePages([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func machineFixture(t *testing.T, cgroup string) FS {
	m := newFakeMachine(t)
	for _, name := range []string{"netstat", "snmp", "sockstat"} {
		m.write("proc/net/"+name, string(procFile(t, "net-"+name)))
	}
	m.write("proc/self/cgroup", cgroup)
	m.write("sys/fs/cgroup/lab.slice/cpu.stat", string(procFile(t, "cpu.stat-v2")))
	m.write("sys/fs/cgroup/cpu,cpuacct/cpu.stat", string(procFile(t, "cpu.stat-v1")))
	m.write("sys/fs/cgroup/cpu.stat", string(procFile(t, "cpu.stat-without-controller")))
	return m.fs()
}

func TestSampleMachine(t *testing.T) {
	s := machineFixture(t, "0::/lab.slice\n").SampleMachine()
	if *s.BusyS != 543.65 || *s.StealS != 1.02 || *s.Switches != 3535336 || *s.Running != 3 || *s.ListenOverflows != 12 || *s.ListenDrops != 15 ||
		*s.RetransSegs != 98 || *s.DelayedACKs != 31 || *s.TimeWait != 9787 || *s.ThrottledS != 1.5 || *s.ThrottledN != 7 || len(s.Unavailable) != 0 {
		t.Errorf("%s", asJSON(s))
	}
	// Version 1, in a container that does not see its own path.
	if s := machineFixture(t, "3:cpu,cpuacct:/docker/x\n1:cpuset:/\n0::/y\n").SampleMachine(); *s.ThrottledS != 2.5 || *s.ThrottledN != 8 {
		t.Errorf("version 1: %s", asJSON(s))
	}
	if s := machineFixture(t, "0::/\n").SampleMachine(); s.ThrottledS != nil || s.Unavailable["throttled_s"] == "" {
		t.Errorf("no controller: %s", asJSON(s))
	}
	s = NewFS(t.TempDir()).SampleMachine()
	if s.BusyS != nil || s.TimeWait != nil || s.ListenDrops != nil || len(s.Unavailable) != 12 {
		t.Errorf("nothing to read: %s", asJSON(s))
	}
}

func TestMachineWindow(t *testing.T) {
	a := machineFixture(t, "0::/lab.slice\n").SampleMachine()
	b := a
	a.At, b.At = 10, 20
	b.IRQS = ptr(*a.IRQS + 0.5)
	b.BusyS, b.StealS, b.ListenDrops, b.TimeWait, b.Switches = ptr(*a.BusyS+12.5), ptr(*a.StealS+0.5), ptr(int64(20)), ptr(int64(3)), ptr(int64(1))
	w := NewMachineWindow([]MachineSample{a, b}, 9)
	if w.Seconds != 10 || *w.BusyS != 12.5 || *w.IRQS != 0.5 || *w.StrangersS != 3 || *w.ListenDrops != 5 || *w.ListenOverflows != 0 || *w.MaxTimeWait != 9787 || *w.MaxRunning != 3 {
		t.Errorf("%s", asJSON(w))
	}
	near(t, "steal_s", *w.StealS, 0.5, 1e-9)
	if w.Switches != nil {
		t.Errorf("a counter that went backwards: %s", asJSON(w))
	}
	if w := NewMachineWindow([]MachineSample{a}, 0); w.BusyS != nil || w.Unavailable["machine"] == "" {
		t.Errorf("one sample: %s", asJSON(w))
	}
}

func TestLiveMachineHasItsCounters(t *testing.T) {
	s := NewFS("").SampleMachine()
	if runtime.GOOS != "linux" {
		if len(s.Unavailable) == 0 {
			t.Errorf("%s", asJSON(s))
		}
		return
	}
	if s.BusyS == nil || s.Switches == nil || s.Running == nil || *s.Running < 1 {
		t.Errorf("%s", asJSON(s))
	}
	if !slices.Contains([]string{"", "always", "madvise", "never"}, NewFS("").hugePages()) {
		t.Errorf("huge pages: %q", NewFS("").hugePages())
	}
	if _, err := os.Stat("/lib64/ld-linux-x86-64.so.2"); err == nil && NewFS("").libc() == "" {
		t.Error("no libc found")
	}
}
