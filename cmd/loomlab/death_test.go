package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loomlab/probes"
)

// TestSUTKilledInTheMiddle keeps the cell before, fails the one in the making
// without figures, and skips the rest.
func TestSUTKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	p := startRun(t, "--connections", "2,3,4", "--sut", "a=sh -c 'echo $$ > $0; exec loomlab standin --listen 127.0.0.1:{{port}} --downstream {{downstream}}' {{run_dir}}/pid")
	p.awaitIn("cells.jsonl", "\n")
	killPIDFile(t, p)
	if status := p.end(time.Minute); status != exitFailed {
		t.Errorf("exit status %d, want %d", status, exitFailed)
	}
	doc := p.document()
	if statuses(doc.Cells) != "ok failed skipped" {
		t.Fatalf("cells %q", statuses(doc.Cells))
	}
	if c := doc.Cells[1]; c.Load != nil || !strings.Contains(c.Reason, "the SUT was killed by SIGKILL") {
		t.Errorf("the failed cell: %q, load %v", c.Reason, c.Load)
	}
}

// killPIDFile ends the process that the file pid of the run directory names.
func killPIDFile(t *testing.T, p *runProcess) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.out, "last", "pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestGeneratorKilledInTheMiddle fails the cell in the making without figures: what
// the other generators counted is half a load. The next cell has new ones.
func TestGeneratorKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	p := startRun(t, "--connections", "4,5", "--duration", "2s", "--place", "load=local,local", "--sut", standinSUT("a", ""))
	var generator int
	p.await("the second generator of the second cell", func() bool {
		content, _ := os.ReadFile(filepath.Join(p.out, "last", "cells.jsonl")) // not there yet
		if !strings.Contains(string(content), "\n") {
			return false
		}
		for _, pid := range probes.NewFS("/").Descendants(p.cmd.Process.Pid) {
			line, running := commandOf(pid)
			if running && strings.Contains(line, "--part 2/2") && !strings.Contains(line, "guard") && strings.Contains(line, "-c 5") {
				generator = pid
				return true
			}
		}
		return false
	})
	below := probes.NewFS("/").Descendants(p.cmd.Process.Pid)
	if err := syscall.Kill(generator, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := p.end(time.Minute); status != exitFailed {
		t.Errorf("exit status %d, want %d", status, exitFailed)
	}
	assertGone(t, below, 5*time.Second)
	doc := p.document()
	if statuses(doc.Cells) != "ok failed" {
		t.Fatalf("cells %q: %s", statuses(doc.Cells), doc.Cells[0].Reason)
	}
	if c := doc.Cells[0]; len(c.Load.Generators) != 2 || c.Load.Identity() != 0 || !c.Load.Healthy() {
		t.Errorf("the first cell: %+v", c.Load)
	}
	if c := doc.Cells[1]; c.Load != nil || c.Verdict != nil || !strings.Contains(c.Reason, "generator 2 of 2 (local) was killed by SIGKILL") {
		t.Errorf("the failed cell: %q, load %v", c.Reason, c.Load)
	}
}
