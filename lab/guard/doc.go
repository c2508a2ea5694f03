// Package guard stands around each tier's processes and leaves none behind, whatever
// way the tier, the orchestrator or the guard itself ends.
//
// The usual steps: the orchestrator calls [BecomeSubreaper], starts this program
// again as a guard ([Start]) with a lifeline and a pipe for [Status] lines, and after
// waiting for it calls [Ended], and [EndOrphans] if somebody had killed it; in the
// guard's process, [Run] is all there is.
//
// Limits: without Linux there is no subreaper, and a descendant that made a process
// group of its own escapes.
package guard
