// Package claim says what a run shows of an author's claims: confirmed, refuted, or
// not to be decided here, and why.
//
// The usual steps: [Parse] the expression of a claim when an experiment is read, and
// say of every mistake in it; [Decide] all claims of a saved run, at its end or years
// later.
//
// Limits: a claim compares figures of package record with numbers and one another.
// It is evaluated by interval arithmetic over the rounds, or over the forks where
// there are enough, which can only err towards undecided.
package claim
