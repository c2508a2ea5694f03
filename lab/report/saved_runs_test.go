package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
)

// Every run under testdata/runs was measured (but the small one, which was made
// up) and is rendered in every format.
func TestRenderSavedRuns(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/runs/*/run.json")
	if err != nil || len(dirs) < 2 {
		t.Fatalf("%d saved runs: %v", len(dirs), err)
	}
	for _, run := range dirs {
		dir := filepath.Dir(run)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			saved, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(saved.Warnings) > 0 {
				t.Error(saved.Warnings)
			}
			for _, format := range Formats {
				var out bytes.Buffer
				if err := Write(&out, format, saved, TextOptions{Width: 120}); err != nil {
					t.Errorf("%s: %v", format, err)
				}
				least := 500
				if format == "hlog" && !slices.ContainsFunc(saved.Cells, func(c record.Cell) bool { return c.Load != nil && c.Load.Histogram != "" }) {
					least = 100 // its head: the run was kept without histograms
				}
				if text := out.String(); len(text) < least || format != "html" && (strings.Contains(text, "NaN") || strings.Contains(text, "+Inf")) {
					t.Errorf("%s: %d bytes, or a figure that is no number", format, len(text))
				}
			}
		})
	}
}

// The article over six forks, on a machine whose speed moved by a third in that
// hour: throughput repeats; CPU per request does in units of the instrument's.
func TestArticleOverForks(t *testing.T) {
	saved, err := record.Open("../../testdata/runs/article-forks")
	if err != nil {
		t.Fatal(err)
	}
	most := map[string]float64{record.Throughput: 0.04, record.SUTCPURelative: 0.05}
	checked := 0
	for _, s := range saved.Summarise() {
		limit, ok := most[s.Metric]
		if !ok || s.Connections != 1000 {
			continue
		}
		checked++
		if len(s.Forks) != 6 || s.Low == nil || s.High == nil || *s.Low > s.Median || *s.High < s.Median {
			t.Errorf("%s, %s: %d forks, median %v, interval %v to %v", s.SUT, s.Metric, len(s.Forks), s.Median, s.Low, s.High)
		}
		if s.CV == nil || *s.CV > limit {
			t.Errorf("%s, %s: CV %v, expected at most %v", s.SUT, s.Metric, s.CV, limit)
		}
	}
	if checked != 6 {
		t.Errorf("%d summaries, expected two of each SUT", checked)
	}
}

// The picture in README.md is the one that the tool makes of the run beside it.
func TestPictureOfREADME(t *testing.T) {
	const dir = "../../testdata/runs/article-forks"
	saved, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, "svg", saved, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(dir, "ladder.svg")
	if *update {
		if err := os.WriteFile(picture, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(picture); err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%s is not what `loomlab report --format svg` makes of its run (%v): run with -update to accept it", picture, err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil || !strings.Contains(string(readme), "(testdata/runs/article-forks/ladder.svg)") {
		t.Errorf("README.md does not show it: %v", err)
	}
}
