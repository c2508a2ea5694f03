package main

import (
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// TestRunKeepsItsEvidence follows a whole run of two stand-ins: calibration,
// ladder, and a window at equal rate in a process of its own.
func TestRunKeepsItsEvidence(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run takes 20 s")
	}
	t.Parallel()
	p := startRun(t, "--connections", "2", "--equal-rate", "--memory", "--jfr", "--sut", standinSUT("a", ""), "--sut", standinSUT("b", "--pool 1"))
	if status := p.end(2 * time.Minute); status != 0 {
		t.Fatalf("exit status %d", status)
	}
	doc := p.document()
	if c := doc.Run.Calibration; len(c) != 1 || c[0].SUT != record.Calibration || c[0].Status != "ok" || c[0].Probes[record.TierDownstream] == nil {
		t.Errorf("calibration %+v, want one good cell", c)
	}
	if len(doc.Run.Doubts) == 0 || len(doc.Run.Starts) != 2 {
		t.Errorf("run doubts %v, starts %v; want too-few-forks, and each SUT once", doc.Run.Doubts, doc.Run.Starts)
	}
	if len(doc.Cells) != 4 || statuses(doc.Cells) != "ok ok ok ok" {
		t.Fatalf("cells %q, want two closed and two open ones", statuses(doc.Cells))
	}
	// b has one connection to a downstream of 10 ms: below 100/s, of which 70 % is the rate.
	rate := doc.Cells[2].Rate
	if rate <= 0 || rate > 70 {
		t.Errorf("the equal rate is %v, want 70 %% of what b can do", rate)
	}
	for i, c := range doc.Cells {
		open := i >= 2
		if c.Load.Mode == "open" != open || open && (c.Rate != rate || c.Connections != 0) {
			t.Errorf("cell %d: %s at %d connections and %v/s", i, c.Load.Mode, c.Connections, c.Rate)
		}
		if c.Machine == nil || c.Machine.Seconds <= 0 || c.Settle == nil {
			t.Errorf("cell %d lacks evidence: machine %+v, settle %+v", i, c.Machine, c.Settle)
		}
	}
	// What only a JVM has is n/a, with the reason, and costs nothing.
	for i, c := range doc.Cells {
		if c.Memory != nil || c.Unavailable["memory"] != probes.NoJVM || c.Pauses != nil || c.Unavailable["pauses"] == "" {
			t.Errorf("cell %d: memory %+v, pauses %+v, unavailable %v", i, c.Memory, c.Pauses, c.Unavailable)
		}
	}
	if r := doc.Run.Recordings; len(r) != 2 || r[0].SUT != "a" || r[0].Cell != nil || !strings.Contains(r[0].Failed, probes.NoJVM) {
		t.Errorf("recordings %+v, want two without a JVM", r)
	}
	if got := doc.Run.Limits["b"]["client pool"]; got != "1" {
		t.Errorf("limits %v, want the client pool of b", doc.Run.Limits)
	}
}
