package lab

import "loomlab/lab/record"

// spent is what engine and downstream cost per request in one window.
type spent struct {
	sut  string
	fork int
	rung record.Rung
	us   float64
}

// costsBefore are those of a SUT's other forks on a rung.
func (l *lab) costsBefore(j job) []float64 {
	var costs []float64
	for _, c := range l.costs {
		if c.sut == j.SUT && c.fork != j.Fork && c.rung == j.Rung() {
			costs = append(costs, c.us)
		}
	}
	return costs
}
