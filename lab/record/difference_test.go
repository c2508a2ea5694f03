package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestIntervalOfTheMedianNeedsSixForks(t *testing.T) {
	if s := Over([]float64{1, 2, 3, 4, 5}); s.Low != nil || s.High != nil {
		t.Errorf("five values have an interval: %v…%v", s.Low, s.High)
	}
	s := Over([]float64{6, 2, 3, 4, 5, -10})
	if s.Median != 3.5 || *s.Low != -10 || *s.High != 6 {
		t.Errorf("six values: %v, %v…%v; want 3.5, -10…6", s.Median, *s.Low, *s.High)
	}
	if !slices.Equal(s.Values, []float64{6, 2, 3, 4, 5, -10}) {
		t.Errorf("the order of forks was lost: %v", s.Values)
	}
	nine := Over([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	if *nine.Low != 2 || *nine.High != 8 { // P(1 or fewer of 9 below) = 10/512 a side
		t.Errorf("nine values: %v…%v, want 2…8", *nine.Low, *nine.High)
	}
}

func TestSpread(t *testing.T) {
	if one := Over([]float64{5}); one.CV != nil {
		t.Errorf("one value varies by %v", *one.CV)
	}
	if zero := Over([]float64{0, 0}); zero.CV != nil {
		t.Errorf("zeros vary by %v", *zero.CV)
	}
	if cv := Over([]float64{90, 110}).CV; math.Abs(*cv-math.Sqrt(200)/100) > 1e-12 {
		t.Errorf("CV = %v", *cv)
	}
}

func TestOutliersAreNamed(t *testing.T) {
	check := func(want string, values ...float64) {
		t.Helper()
		var got []string
		for _, o := range Over(values).Outliers {
			got = append(got, fmt.Sprintf("fork %d = %v", o.Fork, o.Value))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%v: %q, want %q", values, strings.Join(got, ", "), want)
		}
	}
	check("fork 3 = 1204", 1980, 1985, 1204, 1990, 1978, 1983)
	check("", 1980, 1985, 1990, 1978, 1983, 1970)
	check("", 1204, 1980, 1985, 1990)                              // of four nobody can tell
	check("", 100, 100.01, 100.02, 99.99, 100, 100.4)              // far in spreads, near in percent
	check("fork 6 = 3", 0, 0, 0, 0, 0, 3)                          // counts: the median distance is 0
	check("fork 1 = 50, fork 2 = 150", 50, 150, 100, 101, 99, 100) // two do not hide one another
}

func TestCompareIsTheExactUTest(t *testing.T) {
	check := func(old, new []float64, wantP string, low, high string) {
		t.Helper()
		d := Compare(Over(old), Over(new))
		show := func(v *float64) string {
			if v == nil {
				return "-"
			}
			return fmt.Sprintf("%.4f", *v)
		}
		if got := show(d.P) + " " + show(d.Low) + " " + show(d.High); got != wantP+" "+low+" "+high {
			t.Errorf("%v against %v: %s, want %s %s %s", old, new, got, wantP, low, high)
		}
	}
	check([]float64{1}, []float64{2}, "-", "-", "-")
	check([]float64{1, 2, 3}, []float64{4, 5, 6}, "-", "-", "-") // p would be 0.1
	check([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, "0.0286", "-", "-")
	check([]float64{1, 2, 3, 4}, []float64{5, 6, 7}, "-", "-", "-")
	check([]float64{100, 100, 100, 100, 100, 100}, []float64{110, 110, 110, 110, 110, 110}, "0.0022", "0.1000", "0.1000")
	check([]float64{5, 5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5, 5}, "1.0000", "0.0000", "0.0000")
	check([]float64{0, 0, 0, 0, 0, 0}, []float64{1, 2, 3, 4, 5, 6}, "0.0022", "-", "-")
	// A tie that a division broke in its last digits is one: p is 0.135, not 0.151.
	check([]float64{729.537367, 622.775801, 640.569395, 587.188612, 477.876106}, []float64{592.459605, 746.003552, 765.124555, 658.3629893238432, 658.3629893238436}, "0.1349", "-", "-")
	// The sixth lowest quotient is 16 ÷ 14, the sixth highest 18 ÷ 10.
	check([]float64{10, 11, 12, 13, 14, 17}, []float64{15, 16, 18, 19, 20, 21}, "0.0087", "0.1429", "0.8000")
}

// TestTailOfU checks against the tables of the Mann-Whitney test (two-sided 5 %).
func TestTailOfU(t *testing.T) {
	for _, tc := range []struct{ n, m, critical int }{{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {6, 8, 8}, {8, 8, 13}, {10, 10, 23}, {3, 3, -1}} {
		if got := tail(tc.n, tc.m); got != tc.critical+1 {
			t.Errorf("tail(%d, %d) = %d, want %d", tc.n, tc.m, got, tc.critical+1)
		}
	}
	if w := arrangements(6, 6); w[0] != 1 || w[18] != 58 || len(w) != 37 {
		t.Errorf("arrangements of 6 and 6: %v", w)
	}
}

// TestIntervalCoversTheTruth plants a change of 10 % among forks of 5 % spread.
func TestIntervalCoversTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered, agree := 0, 0
	const trials = 2000
	for range trials {
		var old, new []float64
		for range 6 {
			old, new = append(old, 100*math.Exp(0.05*random.NormFloat64())), append(new, 110*math.Exp(0.05*random.NormFloat64()))
		}
		d := Compare(Over(old), Over(new))
		if *d.Low <= 0.1 && 0.1 <= *d.High {
			covered++
		}
		if (*d.P <= Alpha) == (*d.Low > 0 || *d.High < 0) {
			agree++
		}
	}
	if covered < trials*94/100 || agree != trials {
		t.Errorf("of %d intervals %d cover the truth and %d agree with the test", trials, covered, agree)
	}
}

func TestAdjust(t *testing.T) {
	// The worked example of Benjamini and Hochberg (1995): of 15 tests, four are found.
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000}
	found := 0
	for _, q := range Adjust(p) {
		if q <= 0.05 {
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d found, want 4: %v", found, Adjust(p))
	}
	if got := fmt.Sprint(Adjust([]float64{0.03, 0.01, 0.02})); got != "[0.03 0.03 0.03]" {
		t.Errorf("order is not kept: %s", got)
	}
	if len(Adjust(nil)) != 0 {
		t.Error("something of nothing")
	}
}

func TestSummariesReachTheDocument(t *testing.T) {
	saved := &Saved{Run: Run{Schema: Schema}}
	for fork := 1; fork <= 6; fork++ {
		saved.Cells = append(saved.Cells, sampleCell(t, "a", fork, 1, int64(1000+fork), 100_000))
	}
	var out bytes.Buffer
	if err := saved.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var document Saved
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(document.Summaries, func(s CellSummary) bool { return s.Metric == Throughput })
	if at < 0 {
		t.Fatalf("no summary of the throughput in %d", len(document.Summaries))
	}
	if s := document.Summaries[at]; s.SUT != "a" || s.Connections != 100 || s.Median != 100.35 || *s.Low != 100.1 || *s.High != 100.6 || len(s.Values) != 6 {
		t.Errorf("summary %+v", s)
	}
	saved.Cells = saved.Cells[:1]
	if saved.Summarise() != nil {
		t.Error("one fork is summarised")
	}
}
