package verdict

import (
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
)

// withDatabase gives a scene a database: its CPU, and the gauge of its connections.
func withDatabase(use cpu, connections int64, busy float64) func(*record.Cell, *Evidence) {
	return func(c *record.Cell, about *Evidence) {
		c.Probes[record.TierPostgres] = use.window()
		about.CPUs[record.TierPostgres] = about.Cores
		c.Database = &record.Database{Samples: 100, Connections: connections, BusyMean: busy, BusyMax: connections}
	}
}

func TestDatabaseVerdicts(t *testing.T) {
	tests := []struct {
		name  string
		scene scene
		kind  string
		sure  bool
		says  string
	}{
		{"a pool of 20 at 8 ms", scene{n: 1000, x: 2390, sut: cpu{cores: 1}, limits: record.Limits{DBPool: 20}, change: withDatabase(cpu{cores: 0.6}, 20, 19.6)},
			record.VerdictDBPool, true, "s at 1000: 20 pooled database connections are the limit. 2390/s is 98 % of 20 ÷ 0.0082 s = 2439/s, the time that a request keeps one busy; by Little's law 1000 = 2390/s × 0.418 s, so about 980 requests wait in a queue."},
		{"a pool that nobody declared", scene{n: 1000, x: 1200, sut: cpu{cores: 1}, change: withDatabase(cpu{cores: 0.4}, 10, 9.7)}, record.VerdictDBPool, true, "10 pooled database connections"},
		{"another pool than declared", scene{n: 1000, x: 1200, sut: cpu{cores: 1}, limits: record.Limits{DBPool: 20}, change: withDatabase(cpu{cores: 0.4}, 10, 9.7)}, record.VerdictDBPool, true, "(A pool of 20 was declared.)"},
		{"busy four fifths of the time", scene{n: 1000, x: 2000, sut: cpu{cores: 1}, change: withDatabase(cpu{cores: 0.6}, 20, 17)}, record.VerdictDBPool, false, ""},
		{"not that busy", scene{n: 1000, x: 2000, sut: cpu{cores: 1}, change: withDatabase(cpu{cores: 0.6}, 20, 12)}, record.VerdictUnknown, false, "PostgreSQL 0.6 of 4 cores"},
		{"fewer connections than the pool has", scene{n: 20, x: 2400, sut: cpu{cores: 1}, change: withDatabase(cpu{cores: 0.6}, 20, 19.6)}, record.VerdictUnknown, false, ""},
		{"the pool on a busy machine", scene{n: 1000, x: 2390, sut: cpu{cores: 2.2}, load: cpu{cores: 0.6}, change: withDatabase(cpu{cores: 0.9, wait: 1}, 20, 19.6)}, record.VerdictDBPool, false, "which makes every query take longer"},
		{"PostgreSQL's CPU", scene{n: 1000, x: 700, sut: cpu{cores: 0.8}, load: cpu{cores: 0.2}, change: withDatabase(cpu{cores: 2.8, wait: 14}, 20, 19.8)},
			record.VerdictCPU, true, "PostgreSQL's CPU is the limit: it uses 2.8 of 4 cores, and its 19.8 busy connections run or wait for a CPU 85 % of the time. A request costs 4000 µs of it: 2.8 ÷ 0.004 s = 700/s."},
		{"the SUT's CPU beside it", scene{n: 1000, x: 700, sut: cpu{cores: 3.7}, change: withDatabase(cpu{cores: 0.2}, 20, 6)}, record.VerdictCPU, false, "the SUT's CPU is the limit"},
		{"workers in downstream and database", scene{n: 500, x: 690, delay: 0.28, sut: cpu{cores: 1}, peaks: peaks(196, 197), limits: record.Limits{Workers: 200, DBPool: 20}, change: withDatabase(cpu{cores: 0.4}, 20, 6)},
			record.VerdictWorkerThreads, true, "200 worker threads are the limit: 193 requests are in the downstream and 6 in the database."},
	}
	for _, test := range tests {
		v := test.scene.verdict()
		if v == nil || v.Kind != test.kind || v.Sure != test.sure || !strings.Contains(v.Text+v.Evidence, test.says) {
			t.Errorf("%s: %+v, want %s (sure: %v) that says %q", test.name, v, test.kind, test.sure, test.says)
		}
	}
}

func TestDatabaseCeiling(t *testing.T) {
	other := []record.Ceiling{{Kind: CeilingConnections, PerS: 3000}}
	ms := 8.0
	got := WithDatabase(slices.Clone(other), 20, &record.Database{BusyMS: &ms})
	if len(got) != 2 || got[0].Kind != CeilingDBPool || got[0].PerS != 2500 || got[0].Arithmetic != "20 pooled database connections ÷ 0.008 s = 2500/s" {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string][]record.Ceiling{
		"no pool is known":     WithDatabase(other, 0, &record.Database{BusyMS: &ms}),
		"no gauge":             WithDatabase(other, 20, nil),
		"nothing was answered": WithDatabase(other, 20, &record.Database{}),
	} {
		if len(c) != 1 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
