package record

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// TestForks is how many forks a side a comparison needs to say anything: at 4
// against 4 the smallest p of the U test is 0.029, at 3 against 3 it is 0.1.
const TestForks = 4

// Alpha is the level of every test: how often a difference is shown where there is none.
const Alpha = 1 - confidence

// Difference is a metric of one side against the other, over their forks. What
// the forks are too few for is null, never a guess.
type Difference struct {
	Old      *Summary `json:"old"`
	New      *Summary `json:"new"`
	Absolute *float64 `json:"absolute"` // of the medians, new - old
	Relative *float64 `json:"relative"` // absolute ÷ old median; null where that is not positive
	// Low and High are the interval that covers the relative change in 95 % of
	// cases; null with fewer than [IntervalForks] forks a side, and where a value
	// is not positive.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	P    *float64 `json:"p"` // of the exact U test; null with fewer than [TestForks] a side
}

// Compare tests old against new with the exact Mann-Whitney U test, which assumes
// nothing about how forks are spread, and estimates the change.
func Compare(old, new *Summary) Difference {
	d := Difference{Old: old, New: new}
	if old == nil || new == nil {
		return d
	}
	change := new.Median - old.Median
	d.Absolute = &change
	if old.Median > 0 {
		d.Relative = quotient(change, old.Median)
	}
	if d.Forks() >= TestForks {
		test := benchmath.AssumeNothing.Compare(sample(old), sample(new))
		d.P = &test.P
	}
	if d.Forks() >= IntervalForks {
		d.Low, d.High = shift(old.Values, new.Values)
	}
	return d
}

// sample copies the values, since benchmath sorts in place, to nine digits:
// figures made of the same ticks of a clock are ties, whatever a division did to
// their last bit.
func sample(s *Summary) *benchmath.Sample {
	values := slices.Clone(s.Values)
	for i, v := range values {
		if v != 0 {
			unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-8)
			values[i] = math.Round(v/unit) * unit
		}
	}
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}

// Forks is how many forks the side with fewer has.
func (d Difference) Forks() int {
	if d.Old == nil || d.New == nil {
		return 0
	}
	return min(len(d.Old.Values), len(d.New.Values))
}

// shift returns the interval for the relative change that the U test goes with:
// of all quotients new ÷ old the k-th lowest to the k-th highest, where k is the
// largest number that keeps each tail of the test's distribution at half of
// [Alpha] (J. Hodges and E. Lehmann, 1963, "Estimates of location based on rank
// tests", on the logarithms). It excludes 0 where the test shows a difference.
func shift(old, new []float64) (low, high *float64) {
	var quotients []float64
	for _, a := range old {
		for _, b := range new {
			if a <= 0 || b <= 0 {
				return nil, nil
			}
			quotients = append(quotients, b/a-1)
		}
	}
	slices.Sort(quotients)
	k := tail(len(old), len(new))
	if k < 1 {
		return nil, nil
	}
	l, h := quotients[k-1], quotients[len(quotients)-k]
	if !isFinite(l) || !isFinite(h) {
		return nil, nil
	}
	return &l, &h
}

// tail is the largest k for which U < k happens in at most half of [Alpha] of
// the cases where both sides are alike.
func tail(n, m int) int {
	ways := arrangements(n, m)
	total, below := 0.0, 0.0
	for _, w := range ways {
		total += w
	}
	for k, w := range ways {
		if below += w; below/total > Alpha/2 {
			return k
		}
	}
	return len(ways)
}

// arrangements counts, for each value of the U statistic, the ways to order n
// and m values that give it (H. Mann and D. Whitney, 1947).
func arrangements(n, m int) []float64 {
	rows := make([][]float64, n+1) // by n, for the m reached so far
	for i := range rows {
		rows[i] = make([]float64, n*m+1)
		rows[i][0] = 1
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			next := make([]float64, n*m+1)
			for u := range next {
				next[u] = rows[i][u] // the greatest value is of m
				if u >= j {
					next[u] += rows[i-1][u-j] // or of n, above all j of m
				}
			}
			rows[i] = next
		}
	}
	return rows[n]
}

// Adjust returns the p-values of a family of tests after Benjamini and Hochberg:
// of those at or below [Alpha], that share is expected to be false (1995,
// "Controlling the false discovery rate"). Where nothing differs at all, any is
// found in at most that share of families.
func Adjust(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	lowest := 1.0
	for rank := len(order); rank >= 1; rank-- {
		i := order[rank-1]
		lowest = math.Min(lowest, p[i]*float64(len(p))/float64(rank))
		adjusted[i] = lowest
	}
	return adjusted
}
