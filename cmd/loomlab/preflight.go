package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"loomlab/lab/plan"
	"loomlab/probes"
)

// preflight looks at what the machine has to give right before a run: it says
// what will suffer or be skipped, and fails where nothing could be measured.
func preflight(p *plan.Plan, out string, progress io.Writer) error {
	p.Facts = factsNow(p.Facts, out)
	if p.NothingFits() {
		worst := p.UnfitRungs()[0]
		return usagef("this machine cannot hold any cell of the run: %s: %s", worst.Reason, worst.Remedy)
	}
	for _, check := range p.Preflight() {
		switch {
		case check.Status == plan.CheckLacking && check.What == "disk":
			return usagef("%s: %s: %s", check.What, check.Text, check.Remedy)
		case check.Status == plan.CheckNote:
			fmt.Fprintf(progress, "note: %s: %s; %s\n", check.What, check.Text, check.Remedy)
		}
	}
	for _, u := range p.UnfitRungs() {
		fmt.Fprintf(progress, "note: skipped: %s\n", u)
	}
	return nil
}

// busySample is how long the machine's other load is watched.
const busySample = 300 * time.Millisecond

// factsNow adds to facts what changes from minute to minute.
func factsNow(facts plan.Facts, out string) plan.Facts {
	facts.DiskFree = probes.DiskFree(existing(out))
	fs := probes.NewFS("/")
	before, own := fs.SampleMachine(), ownCPU()
	time.Sleep(busySample)
	after := fs.SampleMachine()
	facts.BusyCPUs = -1
	if busy, ok := probes.BusyCPUs(before, after); ok {
		facts.BusyCPUs = max(0, busy-(ownCPU()-own).Seconds()/(after.At-before.At))
	}
	return facts
}

// ownCPU is what this process has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// existing is path or the nearest folder above it that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(path)
		if above == path {
			return path
		}
		path = above
	}
}
