package probes

import "testing"

func TestParsePortRange(t *testing.T) {
	for text, want := range map[string]int{
		"32768\t60999\n": 28232, "40000 40050\n": 51, "40000 40000": 1, "": 0, "5": 0, "9 8": 0, "a b": 0,
	} {
		if got := parsePortRange([]byte(text)); got != want {
			t.Errorf("parsePortRange(%q) = %d, want %d", text, got, want)
		}
	}
}
