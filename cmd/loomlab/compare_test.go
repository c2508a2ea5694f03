package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// forkedRun writes the saved run as a document of n forks, each with its own
// little deviation, after a change, and returns the file.
func forkedRun(t *testing.T, n int, change func(*record.Saved)) string {
	t.Helper()
	once, err := record.Open("../../testdata/runs/article-small")
	if err != nil {
		t.Fatal(err)
	}
	saved := &record.Saved{Run: once.Run}
	saved.Run.Experiment.Forks = n
	for fork := 1; fork <= n; fork++ {
		for _, c := range once.Cells {
			c.Fork = fork
			if p := c.Probes[record.TierSUT]; p != nil {
				window, us := *p, *p.CPUUSPerRequest*(1+float64(fork)/1000)
				window.CPUUSPerRequest = &us
				c.Probes = map[string]*probes.Window{record.TierSUT: &window}
			}
			saved.Cells = append(saved.Cells, c)
		}
	}
	change(saved)
	file := filepath.Join(t.TempDir(), "run.json.doc")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := saved.WriteJSON(out); err != nil {
		t.Fatal(err)
	}
	return file
}

// dearer makes every request cost more CPU.
func dearer(factor float64) func(*record.Saved) {
	return func(saved *record.Saved) {
		for i := range saved.Cells {
			if p := saved.Cells[i].Probes[record.TierSUT]; p != nil {
				*p.CPUUSPerRequest *= factor
			}
		}
	}
}

func same(*record.Saved) {}

func TestCompareCommand(t *testing.T) {
	six, worse, one := forkedRun(t, 6, same), forkedRun(t, 6, dearer(1.2)), forkedRun(t, 1, same)
	slow := forkedRun(t, 6, func(s *record.Saved) { s.Run.Experiment.Load.Duration = record.Duration(time.Second) })
	check := func(status int, wantOut, wantErr string, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		got := run(context.Background(), append([]string{"compare"}, args...), nil, &stdout, &stderr)
		if got != status || !strings.Contains(stdout.String(), wantOut) || !strings.Contains(stderr.String(), wantErr) {
			t.Errorf("%q: status %d, want %d\nstdout %.300s\nstderr %s", args, got, status, stdout.String(), stderr.String())
		}
		return stdout.String()
	}
	check(0, "no power here", "", six, worse)
	check(3, "worse", "worse by more than 5 %: platform, 100 connections, SUT CPU/request: +20.0 %", six, worse, "--fail-if-worse", "5%")
	check(0, "worse", "", six, worse, "--fail-if-worse", "30%")
	check(0, "better", "", worse, six, "--fail-if-worse=0.05")
	check(0, "~", "", six, six, "--fail-if-worse", "5%")
	check(0, "insufficient", "1 fork a side, an interval needs 6", one, one, "--fail-if-worse", "5%")
	check(0, "platform → virtual", "", six+":platform", six+":virtual")
	check(2, "", "not comparable: duration 10s → 1s; --ignore duration compares", six, slow)
	check(0, "differs and is ignored: duration 10s → 1s", "", six, slow, "--ignore", "duration")
	check(2, "", `no SUT "vrtual"; it has platform, virtual, webflux`, six+":platform", six+":vrtual")
	check(2, "", "no run found", six, "nowhere")
	check(2, "", "compare takes BASE and NEW", six)
	check(2, "", "unknown format \"bench\"", six, six, "--format", "bench")
	check(2, "", "want a share such as 5%", six, six, "--fail-if-worse", "x")
	check(2, "", "5 would be 500 %", six, six, "--fail-if-worse", "5")

	var document struct {
		Cells []struct {
			Rows []struct {
				Metric, Verdict string
				P               *float64
			}
		}
	}
	if err := json.Unmarshal([]byte(check(0, "", "", six, worse, "--format", "json")), &document); err != nil {
		t.Fatal(err)
	}
	if row := document.Cells[0].Rows[0]; row.Metric != "sut_cpu_us" || row.Verdict != "worse" || row.P == nil {
		t.Errorf("first row %+v", row)
	}

	file := filepath.Join(t.TempDir(), "out.md")
	check(0, "", "", six, worse, "--format", "markdown", "-o", file)
	if body, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(body, []byte("## ")) {
		t.Errorf("%v, %.40s", err, body)
	}
}
