package plan

import (
	"math/rand/v2"
	"slices"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// forkOrders returns the names of the SUTs in the order of each fork. What warms
// or drifts on the machine then falls on every SUT alike, and so does what one
// SUT leaves behind for the next.
func forkOrders(e *record.Experiment) [][]string {
	names := e.SUTNames()
	sequences := williams(len(names))
	list := make([][]string, e.Forks)
	for fork := range list {
		switch e.Order {
		case experiment.OrderWilliams:
			list[fork] = pick(names, sequences[fork%len(sequences)])
		case experiment.OrderRandom:
			list[fork] = pick(names, rand.New(rand.NewPCG(e.Seed, uint64(fork))).Perm(len(names)))
		default:
			list[fork] = names
		}
	}
	return list
}

func pick(names []string, sequence []int) []string {
	picked := make([]string, len(sequence))
	for i, at := range sequence {
		picked[i] = names[at]
	}
	return picked
}

// williams returns a Latin square of n treatments that is balanced for first
// order carry-over: over all sequences each treatment stands equally often in
// each place, and equally often right after each other one. It takes n sequences
// for an even n, 2n for an odd one (E. J. Williams, 1949, "Experimental designs
// balanced for the estimation of residual effects of treatments"). A sequence is
// followed by its mirror, so that after every second fork a linear drift cancels.
// The first one is 0, 1, n-1, 2, n-2, …, which for up to three is as listed.
func williams(n int) [][]int {
	first := make([]int, n)
	for i := range first {
		if i%2 == 1 {
			first[i] = (i + 1) / 2
		} else {
			first[i] = (n - i/2) % max(n, 1)
		}
	}
	pairs := n // the mirrors of an odd square are n other sequences
	if n%2 == 0 {
		pairs = n / 2 // those of an even one are its second half
	}
	var sequences [][]int
	for shift := range pairs {
		sequence := make([]int, n)
		for i, treatment := range first {
			sequence[i] = (treatment + shift) % n
		}
		sequences = append(sequences, sequence)
		if n > 1 {
			mirror := slices.Clone(sequence)
			slices.Reverse(mirror)
			sequences = append(sequences, mirror)
		}
	}
	return sequences
}
