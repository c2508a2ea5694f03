package lab

import (
	"fmt"
	"strconv"

	"loomlab/lab/jvm"
	"loomlab/probes"
)

// joinPauses reads the pauses of the window from the SUT's GC log.
func (w *window) joinPauses() {
	f := w.f
	if f.tree == nil || f.bare || w.opened == 0 || w.closed == 0 {
		return
	}
	reason := f.followGCLog(w)
	if reason == "" {
		pauses, err := f.gcLog.Window(w.opened, w.closed)
		if err == nil {
			w.cell.Pauses = pauses
			return
		}
		reason = fmt.Sprintf("the GC log cannot be read: %v", err)
	}
	w.cell.Unavailable["pauses"] = reason
}

// followGCLog opens the log, and of one on another machine fetches what is new; it
// says why there is none.
func (f *fork) followGCLog(w *window) (reason string) {
	const none = "the SUT writes no GC log"
	switch tree := f.tree.(type) {
	case *probes.Tree:
		if f.gcLog == nil {
			f.gcLog = jvm.OpenGCLog(f.lab.dir.Path(), f.sut.Name, tree.PIDs())
		}
	case awayTree:
		if tree.site.scratch == "" {
			return none
		}
		if tree.site.facts.OS != "linux" {
			return "the clock of a GC log on " + tree.site.facts.OS + " cannot be compared with this one"
		}
		if f.awayPID == 0 {
			sut, reason := f.insides(w.ctx)
			if reason != "" {
				return reason
			}
			f.awayPID = sut.pid()
		}
		if err := tree.site.fetch(w.ctx, jvm.GCLogName(f.sut.Name, strconv.Itoa(f.awayPID)), f.lab.dir.Path()); err != nil {
			return fmt.Sprintf("the GC log cannot be fetched: %v", err)
		}
		if f.gcLog == nil {
			f.gcLog = jvm.OpenGCLog(f.lab.dir.Path(), f.sut.Name, []int{f.awayPID})
		}
		if f.gcLog != nil {
			f.gcLog.Ahead = tree.site.clock.best().offset.Seconds()
		}
	}
	if f.gcLog == nil {
		return none
	}
	return ""
}
