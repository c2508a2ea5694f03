package lab

import (
	"fmt"

	"loomlab/lab/jvm"
)

// joinPauses reads the pauses of the window from the SUT's GC log.
func (w *window) joinPauses() {
	f := w.f
	if f.appTree == nil || f.bare || w.opened == 0 || w.closed == 0 {
		return
	}
	if f.gcLog == nil {
		f.gcLog = jvm.OpenGCLog(f.lab.dir.Path(), f.sut.Name, f.appTree.PIDs())
	}
	if f.gcLog == nil {
		w.cell.Unavailable["pauses"] = "the SUT writes no GC log"
		return
	}
	pauses, err := f.gcLog.Window(w.opened, w.closed)
	if err != nil {
		w.cell.Unavailable["pauses"] = fmt.Sprintf("the GC log cannot be read: %v", err)
		return
	}
	w.cell.Pauses = pauses
}
