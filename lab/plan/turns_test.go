package plan

import (
	"testing"

	"loomlab/lab/record"
)

func TestEqualRateTurns(t *testing.T) {
	plan := func(forks int, want *bool) *Plan {
		p := &Plan{SUTs: []SUT{{SUT: record.SUT{Name: "a"}}, {SUT: record.SUT{Name: "b"}}}}
		p.Experiment = record.Experiment{Forks: forks, SUTs: []record.SUT{{Name: "a"}, {Name: "b"}},
			Load: record.Load{Connections: []int{10, 20}, Rounds: 2, EqualRate: want}}
		p.planCells()
		return p
	}
	tests := []struct {
		name        string
		forks       int
		want        *bool
		ends, again int // turns that end at the equal rate, and processes only for it
	}{
		{"one fork, nobody asked", 1, nil, 0, 0},
		{"one fork, asked", 1, ptr(true), 0, 2},
		{"three forks: from the second on", 3, nil, 4, 0},
		{"three forks, unwanted", 3, ptr(false), 0, 0},
	}
	for _, test := range tests {
		p := plan(test.forks, test.want)
		ends := 0
		for _, turn := range p.turns() {
			if turn.EqualRate {
				ends++
			}
		}
		if again := len(p.turnsAgain()); ends != test.ends || again != test.again {
			t.Errorf("%s: %d turns end at the equal rate and %d start again, want %d and %d", test.name, ends, again, test.ends, test.again)
		}
	}
}
