package lab

import (
	"testing"

	"loomlab/lab/record"
)

func TestEqualRateOf(t *testing.T) {
	full := []figure{
		{"platform", 1, 100, 990}, {"virtual", 1, 100, 991}, {"platform", 1, 1000, 1990}, {"platform", 1, 1000, 2010}, {"virtual", 1, 1000, 9000},
		{"platform", 2, 1000, 10}, // later forks do not move it
	}
	tests := []struct {
		name     string
		measured []figure
		want     float64
	}{
		{"nothing measured", nil, 0},
		{"one SUT", full[:1], 0},
		{"70 % of the weakest mean at the highest rung", full, 1400},
		{"a rung that one SUT failed is not common", append(full[:5:5], figure{"virtual", 1, 3000, 15000}, figure{"platform", 1, 3000, 0}), 1400},
		{"a SUT without any figure stays out", append(full[:5:5], figure{"broken", 1, 100, 0}, figure{"broken", 1, 1000, 0}), 1400},
	}
	for _, test := range tests {
		if got := equalRateOf(test.measured); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestEqualRateTurns(t *testing.T) {
	plan := func(forks int, want *bool) *Plan {
		p := &Plan{SUTs: []PlannedSUT{{SUT: record.SUT{Name: "a"}}, {SUT: record.SUT{Name: "b"}}}}
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
			if turn.equalRate {
				ends++
			}
		}
		if again := len(p.turnsAgain()); ends != test.ends || again != test.again {
			t.Errorf("%s: %d turns end at the equal rate and %d start again, want %d and %d", test.name, ends, again, test.ends, test.again)
		}
	}
}
