//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"loomlab/lab/record"
)

// finishedCells are the whole lines of cells.jsonl that hold a finished cell, by
// what they are of.
func finishedCells(runDir string) map[string]string {
	body, _ := os.ReadFile(filepath.Join(runDir, "cells.jsonl")) // none yet
	cells := map[string]string{}
	for line := range bytes.Lines(body) {
		var c record.Cell
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &c) == nil && c.Status != "interrupted" {
			cells[cellName(&c)] = string(line)
		}
	}
	return cells
}

func cellName(c *record.Cell) string {
	return fmt.Sprintf("%s fork %d at %d, round %d", c.SUT, c.Fork, c.Connections, c.Round)
}

// status is the exit status, or died for the end by a signal.
func (r *round) status() int {
	if ws, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return died
	}
	return r.cmd.ProcessState.ExitCode()
}

// check compares exit status, record, output and figures.
func (r *round) check() {
	status := r.status()
	allowed := r.statuses
	if r.report.missed {
		allowed = append([]int{0}, allowed...)
	}
	said, _ := os.ReadFile(filepath.Join(r.dir, "stderr"))
	if !slices.Contains(allowed, status) {
		r.wrong("exit status %d, want one of %v: %s", status, allowed, lastLine(filepath.Join(r.dir, "stderr")))
	}
	if !r.orphaned && regexp.MustCompile(`(?m)^(goroutine \d|panic: |fatal error: )`).Match(said) {
		r.wrong("a stack trace of the orchestrator")
	}
	if _, err := os.Stat(filepath.Join(r.runDir(), "run.json")); err != nil {
		if status == 0 || len(r.finished) > 0 {
			r.wrong("no record: %v", err)
		}
		return
	}
	saved, err := record.Open(r.runDir())
	if err != nil {
		r.wrong("the record cannot be read: %v", err)
		return
	}
	r.checkCells(saved)
	if !r.orphaned {
		r.checkWords(saved, string(said), status)
	}
	if r.orphaned || r.rough {
		return
	}
	if len(saved.Warnings) > 0 {
		r.wrong("%s", saved.Warnings)
	}
	if want := map[string][]int{"ok": {0}, "failed": {1}, "interrupted": {129, 130, 143}}[saved.Run.Status]; !slices.Contains(want, status) {
		r.wrong("exit status %d of a run that is %q", status, saved.Run.Status)
	}
	stdout, _ := os.ReadFile(filepath.Join(r.dir, "stdout"))
	var doc record.Saved
	if err := json.Unmarshal(stdout, &doc); err != nil || len(doc.Cells) != len(saved.Cells) {
		r.wrong("stdout is not the document of the run: %v", err)
	}
	if took := time.Since(saved.Run.Started); saved.Run.Started.Location() != time.UTC || took < 0 || took > 10*time.Minute {
		r.wrong("started at %v", saved.Run.Started)
	}
}

// checkWords wants the reason of a failure said.
func (r *round) checkWords(saved *record.Saved, said string, status int) {
	if status != 1 || len(r.words) == 0 {
		return
	}
	for _, c := range saved.Cells {
		if c.Status == "failed" && c.Reason == "" {
			r.wrong("%s failed and does not say why", cellName(&c))
		}
		said += "\n" + c.Reason
	}
	if !slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(said, w) }) {
		r.wrong("nobody says %q: %s", r.words, lastLine(filepath.Join(r.dir, "stderr")))
	}
}

// checkCells wants every finished cell there as it was, complete accounts, and no
// figures from after a death.
func (r *round) checkCells(saved *record.Saved) {
	after := finishedCells(r.runDir())
	for name, line := range r.finished {
		if after[name] != line {
			r.report.lost = append(r.report.lost, name)
		}
	}
	for i := range saved.Cells {
		c := &saved.Cells[i]
		l := c.Load
		if l == nil {
			if c.Status == "ok" {
				r.wrong("%s is ok and has no figures", cellName(c))
			}
			continue
		}
		q := l.Requests
		if q.CarriedIn+q.Sent != q.OK+q.Non2xx+q.Errors.Total()+q.InFlight {
			r.wrong("%s does not add up: %+v", cellName(c), q)
		}
		if !r.kills || r.report.missed {
			continue
		}
		end := l.Started.Add(time.Duration(l.Seconds * float64(time.Second)))
		if l.Started.Before(r.struck) && end.After(r.struck.Add(20*time.Millisecond)) {
			r.wrong("%s (%s) has figures from after the death, which came %v before its window ended", cellName(c), c.Status, end.Sub(r.struck))
		}
	}
}

// checkResume lets the run go on and wants it complete.
func (r *round) checkResume(ctx context.Context) {
	if !r.resume || r.report.missed {
		return
	}
	if _, err := os.Stat(filepath.Join(r.runDir(), "run.json")); err != nil {
		return // it had not begun
	}
	_ = os.Remove(filepath.Join(r.out, "filler"))
	r.finished = finishedCells(r.runDir())
	if err := r.start("run", "--resume", "last", "--json", "--out", r.out); err != nil {
		r.wrong("cannot resume: %v", err)
		return
	}
	r.awaitEnd(ctx)
	complete := len(r.finished) == planned
	switch status := r.status(); {
	case complete && status == 2: // nothing was missing
	case complete || status != 0 && status != 1:
		r.wrong("resumed, exit status %d: %s", status, lastLine(filepath.Join(r.dir, "stderr")))
	}
	saved, err := record.Open(r.runDir())
	if err != nil {
		r.wrong("resumed, the record cannot be read: %v", err)
		return
	}
	r.checkCells(saved)
	if n := len(finishedCells(r.runDir())); n != planned {
		r.wrong("resumed, %d of %d cells are there", n, planned)
	}
	r.checkLeft()
}

func lastLine(path string) string {
	body, _ := os.ReadFile(path) // then there is none
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	return fmt.Sprintf("%.300q", lines[len(lines)-1])
}
