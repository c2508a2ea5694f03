// Package plan makes of an experiment, of a caller's flags and of a machine what will
// run: the cells in their order, the command line of every tier, what all that needs,
// how long it takes, and what of it this machine cannot hold.
//
// The usual steps: [New] with [Options] and the [Facts] of the machine, or [Resume] for
// what is missing of a run; [Plan.Preflight] to see what will not fit;
// [Plan.WriteDryRun] to show all of it.
//
// Limits: nothing is started here. What the estimates rest on is rough and says so.
package plan
