package lab

import (
	"testing"
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
