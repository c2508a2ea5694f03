package probes

import "testing"

// FuzzProc holds that no text of /proc or of a control group makes a parser panic
// or believe in less than nothing.
func FuzzProc(f *testing.F) {
	for _, name := range []string{"stat-brackets", "limits", "net-tcp", "net-sockstat", "net-netstat", "stat-machine", "cpu.stat-v2"} {
		f.Add(procFile(f, name))
	}
	f.Add([]byte("4:memory:/box\n0::/\n"))
	f.Add([]byte("1024 65535\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parseStat(data, 100)
		_, _ = parseFDLimit(data)
		_ = listeners{}.parse(data)
		_ = new(MachineSample).parseProcStat(data, 100)
		_ = new(MachineSample).parseCPUStat(data)
		_, _ = parseNetCounter(data, "TcpExt:", "ListenDrops")
		_, _ = parseTimeWait(data)
		_ = parseHugePages(data)
		_, _ = groupDirs(data, "memory"), groupDirs(data, "cpu")
		if n := parsePortRange(data); n < 0 {
			t.Errorf("%d ports", n)
		}
		var c Capacity
		c.confine(statValue(data, "limit"), statValue(data, "used"))
		if c.MemoryBytes < 0 || c.AvailableBytes < 0 {
			t.Errorf("%+v", c)
		}
	})
}
