package probes

import (
	"os"
	"testing"
)

func TestCapacity(t *testing.T) {
	m := newFakeMachine(t)
	m.write("proc/net/sockstat", string(procFile(t, "net-sockstat")))
	for name, value := range map[string]string{"core/somaxconn": "4096\n", "ipv4/tcp_max_syn_backlog": "2048\n", "ipv4/tcp_syncookies": "1\n", "ipv4/tcp_tw_reuse": "2\n"} {
		m.write("proc/sys/net/"+name, value)
	}
	m.write("proc/self/cgroup", "4:memory:/box\n0::/\n")
	m.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n")
	m.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n")
	m.write("sys/fs/cgroup/memory/memory.stat", "cache 9\ntotal_inactive_file 268435456\n")
	want := Capacity{MemoryBytes: 1 << 30, AvailableBytes: 768 << 20, SoMaxConn: 4096, SYNBacklog: 2048, SYNCookies: true, TimeWaitReuse: "2", TimeWait: 9787}
	if got := m.fs().Capacity(); got != want {
		t.Errorf("version 1: %+v", got)
	}

	m.write("proc/self/cgroup", "0::/lab.slice\n")
	m.write("sys/fs/cgroup/lab.slice/memory.max", "max\n") // no limit of its own: the root's, which has none either
	want.MemoryBytes, want.AvailableBytes = 0, 0
	if got := m.fs().Capacity(); got != want {
		t.Errorf("version 2 without a limit: %+v", got)
	}
	m.write("sys/fs/cgroup/lab.slice/memory.max", "2048\n")
	m.write("sys/fs/cgroup/lab.slice/memory.current", "4096\n")
	want.MemoryBytes = 2048
	if got := m.fs().Capacity(); got != want {
		t.Errorf("version 2: %+v", got)
	}

	if got := NewFS(t.TempDir()).Capacity(); got != (Capacity{}) {
		t.Errorf("nothing to read: %+v", got)
	}
}

func TestCapacityHere(t *testing.T) {
	if c := NewFS("").Capacity(); c.MemoryBytes < 64<<20 || c.AvailableBytes <= 0 || c.AvailableBytes > c.MemoryBytes {
		t.Errorf("%+v", c)
	}
	if free := DiskFree(os.TempDir()); free <= 0 {
		t.Errorf("disk: %d", free)
	}
	if DiskFree("/nonexistent/folder") != 0 {
		t.Error("a folder that is not there has space")
	}
}

func TestBusyCPUs(t *testing.T) {
	one, three := 1.0, 3.0
	if busy, ok := BusyCPUs(MachineSample{At: 10, BusyS: &one}, MachineSample{At: 12, BusyS: &three}); !ok || busy != 1 {
		t.Errorf("busy %v, %v", busy, ok)
	}
	if _, ok := BusyCPUs(MachineSample{At: 10}, MachineSample{At: 12, BusyS: &three}); ok {
		t.Error("a counter that was not read says something")
	}
}
