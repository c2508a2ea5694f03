package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loomlab/lab/record"
)

// resume goes on with the newest run under out and returns its exit status,
// standard output and standard error.
func resume(t *testing.T, out string, flags ...string) (status int, stdout, stderr string) {
	t.Helper()
	p := startRunIn(t, out, append([]string{"run", "--resume", "last", "--out", out}, flags...)...)
	status = p.end(time.Minute)
	return status, p.stdout.String(), p.stderr.String()
}

// resumable is quick, for it has nothing to calibrate against.
const resumable = `
name: resumable
title: one way to say hello
downstream: none
load: {path: /hello, connections: [2, 3, 4], rounds: 1, duration: 300ms, warmup: none}
suts: [{name: a, command: [loomlab, standin, --listen, "127.0.0.1:{{port}}"]}]
`

// TestResume interrupts a run twice in different ways, tears its last line, and
// lets it go on: what was measured stands, what was interrupted is measured again.
func TestResume(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	file := filepath.Join(out, "resumable.yaml")
	if err := os.WriteFile(file, []byte(resumable), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startRunIn(t, out, "run", file, "--json", "--out", out)
	p.awaitIn("cells.jsonl", "\n")
	time.Sleep(time.Second) // the second cell settles, leads in, or has its window
	p.signal(syscall.SIGINT)
	if status := p.end(15 * time.Second); status != 130 {
		t.Fatalf("exit status %d", status)
	}
	if status, _, stderr := resume(t, out, "--connections", "5"); status != exitUsage || !strings.Contains(stderr, "--connections cannot stand beside it") {
		t.Errorf("with a setting: status %d, %s", status, stderr)
	}

	again := startRunIn(t, out, "run", "--json", "--resume", "last", "--out", out)
	again.awaitIn("cells.jsonl", `"attempt":2`)
	again.signal(syscall.SIGKILL)
	<-again.ended
	appendTo(t, filepath.Join(out, "last", "cells.jsonl"), `{"sut":"a","fork":1,"conn`)

	status, stdout, stderr := resume(t, out, "--json")
	if status != exitOK || !strings.Contains(stderr, "cells.jsonl:4: the last line is torn") || !strings.Contains(stderr, ": 2 of 3 cells are there") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	var doc record.Saved
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if got := statuses(doc.Cells); got != "ok ok ok" || doc.Run.Status != "ok" || len(doc.Run.Resumed) != 2 {
		t.Fatalf("cells %q, run %s, resumed %v", got, doc.Run.Status, doc.Run.Resumed)
	}
	var resumedStarts int
	for _, s := range doc.Run.Starts {
		if s.Resumed {
			resumedStarts++
		}
	}
	second := doc.Cells[1]
	if second.Connections != 3 || second.Attempt != 2 || resumedStarts != 2 || !hasDoubt(second, "resumed") || hasDoubt(doc.Cells[0], "resumed") {
		t.Errorf("attempt %d at %d, %d resumed starts, doubts %v", second.Attempt, second.Connections, resumedStarts, second.Doubts)
	}
	hlog, err := os.ReadFile(filepath.Join(out, "last", "latency.hlog"))
	if err != nil || strings.Count(string(hlog), "[StartTime:") != 1 || !strings.Contains(string(hlog), "\nTag=a/f1/c4/r1,") {
		t.Errorf("hlog: %v\n%.300s", err, hlog)
	}
	if status, _, stderr := resume(t, out); status != exitUsage || !strings.Contains(stderr, "the run is complete") {
		t.Errorf("once more: status %d, %s", status, stderr)
	}
}

// TestResumeElsewhere: cells of another machine would not be comparable.
func TestResumeElsewhere(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	plant := func(change func(*record.Run)) {
		t.Helper()
		dir, err := record.Create(out, "x", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		exp := record.Experiment{Name: "x", Forks: 1, Load: record.Load{Path: "/", Connections: []int{1}, Rounds: 1, Duration: record.Duration(time.Second)},
			SUTs: []record.SUT{{Name: "a", Command: []string{"srv", "{{port}}"}, Env: map[string]string{}}}}
		r := record.Run{Version: version, Experiment: exp, Machine: machine(), Status: "interrupted"}
		change(&r)
		if err := dir.WriteRun(r); err != nil {
			t.Fatal(err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for want, change := range map[string]func(*record.Run){
		"the machine's kernel is ":                         func(r *record.Run) { r.Machine.Kernel = "2.4.0" },
		"the machine's cores is ":                          func(r *record.Run) { r.Machine.Cores = 77 },
		"loomlab's version is ":                            func(r *record.Run) { r.Version = "0.0.1" },
		"_JAVA_OPTIONS is not set, was -Xmx7m":             func(r *record.Run) { r.Machine.Env = map[string]string{"_JAVA_OPTIONS": "-Xmx7m"} },
		"the command of a is srv, was old":                 func(r *record.Run) { r.Starts = []record.Start{{SUT: "a", Fork: 1, Argv: []string{"old", "20001"}}} },
		"keeps no secrets and suts[0].env.PASSWORD is one": func(r *record.Run) { r.Experiment.SUTs[0].Env["PASSWORD"] = "hunter2" },
	} {
		plant(change)
		if status, _, stderr := resume(t, out); status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", want, status, stderr)
		}
	}
}

func TestResumeWhileRunning(t *testing.T) {
	t.Parallel()
	p := startRun(t, "--connections", "2", "--duration", "60s", "--sut", standinSUT("a", ""))
	p.awaitIn("series.jsonl", `"phase":"window"`)
	if status, _, stderr := resume(t, p.out); status != exitUsage || !strings.Contains(stderr, "another loomlab is still writing it") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func hasDoubt(c record.Cell, kind string) bool {
	for _, d := range c.Doubts {
		if d.Kind == kind {
			return true
		}
	}
	return false
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
