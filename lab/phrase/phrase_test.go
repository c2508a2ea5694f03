package phrase

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		value       float64
		four, three string
	}{
		{0, "0", "0"}, {0.10051, "0.1005", "0.101"}, {9.996, "9.996", "10"}, {99.95, "99.95", "100"}, {999.96, "1000", "1000"},
		{1234.5, "1234", "1234"}, {1.5e9, "1500000000", "1500000000"}, {1e-7, "0.0000001", "0.0000001"}, {-2.5, "-2.5", "-2.5"},
		{math.NaN(), "NaN", "NaN"}, {math.Inf(1), "+Inf", "+Inf"},
	} {
		if got := Number(tc.value); got != tc.four {
			t.Errorf("Number(%v) = %s, want %s", tc.value, got, tc.four)
		}
		if got := Number3(tc.value); got != tc.three {
			t.Errorf("Number3(%v) = %s, want %s", tc.value, got, tc.three)
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(1, "fork"): "1 fork", Count(0, "fork"): "0 forks", Cores(1): "1 core", Cores(1.5): "1.5 cores",
		Millis(0.1234): "123 ms", Percent(0.954): "95 %", MiB(3<<20 + 5): "3 MiB", Ints([]int{1, 20}): "1, 20",
		FirstLine("\n one \ntwo"): "one ", Printable("a\x1b[31mb\tc\u009bd"): "a\uFFFD[31mb\tc\uFFFDd",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"throughput", "p99_ms", "rss_mb"}
	for word, want := range map[string]string{
		"troughput": "; did you mean throughput?", "p99ms": "; did you mean p99_ms?", "latency": "", "": "",
	} {
		if got := DidYouMean(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
