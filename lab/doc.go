// Package lab turns an experiment into a run: it starts the tiers of a request
// as processes of their own, climbs the ladder, and says of each cell what held it
// back.
//
// The usual steps: [NewPlan] for an experiment (of package experiment), with the
// caller's [Options] and the [Facts] of the machine; [Plan.Preflight] to see what
// will not fit; [Run] into a directory of package record, with an [Observer] who is
// told of everything as it happens.
//
// What only reads or computes stands in rooms of its own, which do not know this one:
// experiment files, claims, verdicts and doubts, JDKs and the apps, what a JVM says of
// itself, guards, network namespaces, PostgreSQL's programs and tables.
//
// Limits: the load engine and the downstream are never called here, but started,
// as the binary that runs, with a guard around each. Nothing is shown here: that is
// package report's.
package lab
