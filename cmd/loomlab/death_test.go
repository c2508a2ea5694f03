package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
