//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChaos is the short form of `make chaos`: the faults that tell most, one
// round each.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: chaos takes some 15 s")
	}
	dir := t.TempDir()
	for _, name := range []string{"chaos", "cmd/loomlab"} {
		build := exec.Command("go", "build", "-o", dir+"/", "./"+name)
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(filepath.Join(dir, "chaos"), "--binary", filepath.Join(dir, "loomlab"), "--rounds", "5", "--parallel", "5",
		"--only", "^(kill -9 of the (orchestrator|SUT|SUT's guard)|Ctrl-C twice|disk full)$")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s\n%s", err, stdout.Bytes(), stderr.Bytes())
	}
	if !bytes.Contains(stdout.Bytes(), []byte("| **all** | 5 |")) && !bytes.Contains(stderr.Bytes(), []byte("left out")) {
		t.Errorf("no table of five rounds:\n%s", stdout.Bytes())
	}
}

func TestRole(t *testing.T) {
	for want, argv := range map[string][]string{
		orchestrator:     {"/x/loomlab", "run", "a.yaml"},
		load:             {"/x/loomlab", "load", "http://127.0.0.1:1/"},
		down + guard:     {"/x/loomlab", "guard", "--grace", "5s", "--", "/x/loomlab", "downstream", "--json"},
		sut + guard:      {"/x/loomlab", "guard", "--grace", "5s", "--", "sh", "-c", "true"},
		sut:              {"/jdk/bin/java", "-jar", "x.jar"},
		shell:            {"sh", "-c", "true"},
		database:         {"/x/bin/postgres", "-D", "/y/data", "-p", "5432"},
		server:           {"postgres: checkpointer "},
		database + guard: {"/x/loomlab", "guard", "--grace", "5s", "--", "/x/bin/postgres", "-D", "/y/data"},
		"":               {"sleep", "1"},
	} {
		pid := 7
		if want == orchestrator {
			pid = 1
		}
		if got := (process{pid, argv}).role(1); got != want {
			t.Errorf("%q: %q, want %q", argv, got, want)
		}
	}
}
