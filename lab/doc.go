// Package lab turns an experiment into a run: it starts the tiers of a request
// as processes of their own, climbs the ladder, and says of each cell what held it
// back.
//
// The usual steps: [Load] an experiment, or [Parse] one; [NewPlan] with the
// caller's [Options] and the [Facts] of the machine; [Plan.Preflight] to see what
// will not fit; [BuildApps] where the plan needs jars; [Run] into a directory of
// package record, with an [Observer] who is told of everything as it happens.
//
// Limits: the load engine and the downstream are never called here, but started,
// as the binary that runs ([Guard] stands around each). A claim, a doubt and a
// verdict are computed from the record alone, so they can be made again later
// ([Claims]). Nothing is shown here: that is package report's.
package lab
