package record

import (
	"math"
	"slices"
)

// Outlier is a fork that stands apart from the others.
type Outlier struct {
	Fork  int     `json:"fork"`
	Value float64 `json:"value"`
	Score float64 `json:"score"` // modified z-score, see [outliers]
}

// What makes an outlier: a modified z-score beyond 3.5, and a distance from the
// median that matters, since forks that agree to the last digit have a spread of
// next to nothing.
const (
	outlierScore    = 3.5
	outlierDistance = 0.01 // of the median
	outlierForks    = 5    // with fewer nobody can tell which one is out
)

// outliers names the values with a modified z-score 0.6745 × (x - median) ÷ MAD
// beyond ±3.5, MAD being the median of the distances from the median. Unlike a
// z-score by mean and deviation it is not moved by the outlier itself (B. Iglewicz
// and D. Hoaglin, 1993, "How to detect and handle outliers"; NIST/SEMATECH
// e-Handbook, 1.3.5.17). Where more than half of the values are equal the mean
// distance takes the MAD's place, with its own factor.
func outliers(values []float64, forks []int) []Outlier {
	if len(values) < outlierForks {
		return nil
	}
	middle := median(values)
	distances := make([]float64, len(values))
	sum := 0.0
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
		sum += distances[i]
	}
	unit := median(distances) / 0.6745
	if unit == 0 {
		unit = sum / float64(len(values)) * 1.2533
	}
	var found []Outlier
	for i, v := range values {
		if score := (v - middle) / unit; distances[i] > outlierDistance*math.Abs(middle) && math.Abs(score) > outlierScore {
			found = append(found, Outlier{Fork: forks[i], Value: v, Score: score})
		}
	}
	return found
}

// median is the middle value, or the middle of the two middle ones.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low)/2
}

// variation is the coefficient of variation, with n-1 in the deviation; nil
// where there is none.
func variation(values []float64) *float64 {
	n := float64(len(values))
	if n < 2 {
		return nil
	}
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if mean <= 0 {
		return nil
	}
	return quotient(math.Sqrt(squares/(n-1)), mean)
}
