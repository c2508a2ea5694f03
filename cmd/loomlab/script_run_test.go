package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"loomlab/lab/record"
)

// scriptMark is the variable by which the processes of a script are known.
const scriptMark = "LOOMLAB_SCRIPT"

// scriptAccounted checks that a file is one document {run, cells} with N cells,
// and that the accounting identity holds in each that was measured.
func scriptAccounted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: accounted FILE N")
	}
	var doc struct {
		Run   *record.Run   `json:"run"`
		Cells []record.Cell `json:"cells"`
	}
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil || doc.Run == nil {
		ts.Fatalf("%s is no document {run, cells}: %v", args[0], err)
	}
	if strconv.Itoa(len(doc.Cells)) != args[1] {
		ts.Fatalf("%d cells, want %s", len(doc.Cells), args[1])
	}
	for _, c := range doc.Cells {
		if c.Load == nil {
			if c.Status == "ok" || c.Reason == "" {
				ts.Fatalf("%s at %d: %s for reason %q, without a load", c.SUT, c.Connections, c.Status, c.Reason)
			}
			continue
		}
		r := c.Load.Requests
		if r.CarriedIn+r.Sent != r.OK+r.Non2xx+r.Errors.Total()+r.InFlight {
			ts.Fatalf("%s at %d: %+v does not add up", c.SUT, c.Connections, r)
		}
	}
}

// scriptNothingLeft finds the processes of a script by a variable in their
// environment, wherever they were adopted. It knows Linux alone.
func scriptNothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: nothing-left")
	}
	mark := "\x00" + scriptMark + "=" + ts.Getenv(scriptMark) + "\x00"
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // fails for a malformed pattern only
	for _, path := range environs {
		env, _ := os.ReadFile(path) // a process that ended, or another user's
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if !strings.Contains("\x00"+string(env), mark) {
			continue
		}
		if line, running := commandOf(pid); running {
			ts.Fatalf("left behind: %d %s", pid, line)
		}
	}
}
