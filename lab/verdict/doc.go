// Package verdict says of a measured cell what held it back ([Of]), why its figures
// may not be believed ([Doubts], [RunDoubts]), and what throughput the known limits
// allow at all ([Ceilings]).
//
// The usual steps: collect the [Evidence] and the [Circumstances] that are not in
// the cell itself, such as how many CPUs a tier may use; ask; keep the answers in the
// cell. The rules are small and pure, one thing each, in an order that matters.
//
// Limits: it knows figures, not causes. It says unknown rather than guess, and is
// sure only where the evidence leaves nothing else.
package verdict
