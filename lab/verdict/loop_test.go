package verdict

import (
	"strings"
	"testing"

	"loomlab/lab/record"
	"loomlab/probes"
)

func TestBlockedEventLoop(t *testing.T) {
	loops := func(looks, blocked int64) func(*record.Cell, *Evidence) {
		return func(c *record.Cell, _ *Evidence) {
			c.Probes[record.TierSUT].Groups = []probes.ThreadGroup{
				{Name: "GC Thread", Threads: 2, CPUS: 0.3}, {Name: "reactor", Threads: 4, CPUS: 0.2, Looks: looks, Blocked: blocked}}
		}
	}
	four := scene{n: 100, x: 80, sut: cpu{cores: 0.1}}
	for _, c := range []struct {
		name           string
		looks, blocked int64
		kind           string
		sure           bool
	}{
		{"asleep at every look", 40, 40, record.VerdictBlockedLoop, true},
		{"asleep at most looks", 40, 34, record.VerdictBlockedLoop, false},
		{"asleep now and then", 40, 20, record.VerdictUnknown, false},
		{"hardly looked at", 4, 4, record.VerdictUnknown, false},
		{"at rest", 40, 0, record.VerdictUnknown, false},
	} {
		s := four
		s.change = loops(c.looks, c.blocked)
		v := s.verdict()
		if v.Kind != c.kind || v.Sure != c.sure {
			t.Errorf("%s: %s, sure %v: %s", c.name, v.Kind, v.Sure, v.Text)
		}
		if c.sure && !strings.Contains(v.Text, "A request holds its loop for 50 ms: 4 ÷ 0.05 s = 80/s") {
			t.Errorf("%s: %s", c.name, v.Text)
		}
	}
	busy := four
	busy.sut = cpu{cores: 3.9}
	busy.change = loops(40, 40)
	if v := busy.verdict(); v.Kind == record.VerdictBlockedLoop {
		t.Errorf("a SUT that uses up its CPUs: %s", v.Text)
	}
}
