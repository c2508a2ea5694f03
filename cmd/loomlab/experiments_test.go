package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"loomlab/lab/experiment"
)

// TestEveryExperimentCanBePlanned dry-runs all that are in the binary, at full
// length and quick, as a user of this machine would.
func TestEveryExperimentCanBePlanned(t *testing.T) {
	for _, name := range experiment.Builtins() {
		for _, flags := range [][]string{nil, {"--quick"}} {
			var stdout, stderr bytes.Buffer
			status := run(context.Background(), append([]string{"run", name, "--dry-run"}, flags...), strings.NewReader(""), &stdout, &stderr)
			plan := stdout.String()
			switch {
			case status == exitUsage && strings.Contains(stderr.String(), "nothing to run: no JDK") && os.Getenv("LOOMLAB_REQUIRE_JDK") != "1":
				t.Logf("SKIPPED: %s has no stand-ins and needs a JDK: %s", name, stderr.String())
			case status != exitOK:
				t.Errorf("%s %v: exit status %d: %s", name, flags, status, stderr.String())
			case !strings.Contains(plan, "Command lines") || !strings.Contains(plan, "\ntime: "):
				t.Errorf("%s %v: no plan in\n%s", name, flags, plan)
			case strings.Contains(plan, "{{port}}") || strings.Contains(plan, "{{downstream}}") || strings.Contains(plan, "{{grpc}}"):
				t.Errorf("%s %v: a placeholder without a value in\n%s", name, flags, plan)
			}
		}
	}
}
