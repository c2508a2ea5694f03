package lab

import (
	"strings"
	"testing"

	"loomlab/lab/record"
)

// A tier that dies between two windows is in no window's figures: the first one
// that is missing fails for it, the others are skipped.
func TestDeathBetweenWindows(t *testing.T) {
	dead := func() *tier {
		done := make(chan struct{})
		close(done)
		return &tier{done: done, tail: &tail{}, exit: guardStatus{Signal: "SIGSEGV"}}
	}
	at := job{CellKey: CellKey{SUT: "a", Connections: 2}}
	for who, f := range map[string]*fork{
		"the SUT": {app: dead()}, "the downstream": {down: dead()}, "PostgreSQL": {db: &database{tier: dead()}},
	} {
		f.notice(record.Cell{Status: "ok"}, at.where())
		first, second := f.skipped(at), f.skipped(at)
		if first.Status != "failed" || !strings.HasPrefix(first.Reason, who+" died of SIGSEGV between two windows") {
			t.Errorf("the first: %s, %s", first.Status, first.Reason)
		}
		if second.Status != "skipped" || second.Reason != who+" had died at 2 connections" {
			t.Errorf("the second: %s, %s", second.Status, second.Reason)
		}
		f.broken = ""
		f.notice(record.Cell{Status: "failed"}, at.where()) // a window saw it
		if c := f.skipped(at); c.Status != "skipped" {
			t.Errorf("after a window that failed: %s, %s", c.Status, c.Reason)
		}
	}
}
