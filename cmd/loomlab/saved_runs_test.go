package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
)

// machinePath is a path of the machine that a run was made on.
var machinePath = regexp.MustCompile(`"/(root|home|tmp|usr|work)/`)

// Every run that is kept can be read and rendered by this version, judges its
// claims as it did when it was made, and names no path of the machine it was made on.
func TestSavedRuns(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/runs/*")
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%d saved runs, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			before, err := record.Open(dir)
			if err != nil || len(before.Cells) == 0 || len(before.Warnings) > 0 {
				t.Fatalf("%v, %v", err, before)
			}
			for _, format := range []string{"table", "markdown", "csv", "bench", "html", "svg", "json"} {
				code, stdout, stderr := runReport(dir, "--format", format)
				if code != 0 || stderr != "" || len(stdout) < 1000 || strings.Contains(stdout, "NaN") {
					t.Errorf("%s: exit %d, stderr %q, %d bytes", format, code, stderr, len(stdout))
				}
				if format != "json" {
					continue
				}
				if at := machinePath.FindString(stdout); at != "" {
					t.Errorf("it holds a path %s…", at)
				}
				var now record.Saved
				if err := json.Unmarshal([]byte(stdout), &now); err != nil {
					t.Fatal(err)
				}
				got, want := outcomes(now.Run.Claims), outcomes(before.Run.Claims)
				if before.Run.Claims != nil && before.Run.Experiment.Claims != nil && !slices.Equal(got, want) { // older ones were not judged, or kept without the expressions
					t.Errorf("claims\n%s\nwere\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

func outcomes(claims []record.ClaimResult) []string {
	var list []string
	for _, c := range claims {
		list = append(list, c.Text+": "+c.Outcome)
	}
	return list
}
