package lab

import (
	"errors"
	"strings"
	"testing"

	"loomlab/lab/guard"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// A tier that dies between two windows is in no window's figures: the first one
// that is missing fails for it, the others are skipped.
func TestDeathBetweenWindows(t *testing.T) {
	dead := func() *tier {
		done := make(chan struct{})
		close(done)
		return &tier{done: done, tail: &tail{}, exit: guard.Status{Signal: "SIGSEGV"}}
	}
	at := job{CellKey: plan.CellKey{SUT: "a", Connections: 2}}
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

// A start that fails since another tier has died names that one.
func TestStartNamesTheDead(t *testing.T) {
	ended := func(s guard.Status) *tier {
		done := make(chan struct{})
		close(done)
		return &tier{done: done, tail: &tail{}, exit: s}
	}
	living := &tier{done: make(chan struct{}), tail: &tail{}}
	f := &fork{app: living, down: ended(guard.Status{Signal: "SIGSEGV"})}
	if got, want := f.withDeaths(errors.New("GET / answered 500")).Error(), "the downstream died of SIGSEGV; then GET / answered 500"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	f = &fork{app: ended(guard.Status{Code: 3}), down: living}
	if got, want := f.withDeaths(errors.New("the SUT ended with exit status 3 before it was ready")).Error(), "the SUT ended with exit status 3 before it was ready"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	f = &fork{app: living, db: &database{tier: ended(guard.Status{Code: 1})}}
	if got, want := f.withDeaths(errors.New("PostgreSQL: the server did not start: no sockets")).Error(), "PostgreSQL: the server did not start: no sockets"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
