package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const savedRun = "../../testdata/runs/article-small"

// runReport runs `loomlab report` and returns its status and output.
func runReport(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), append([]string{"report"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestReportFormats(t *testing.T) {
	for format, want := range map[string]string{
		"table":    "throughput, req/s",
		"markdown": "| throughput, req/s |",
		"csv":      "run,sut,fork,connections,rate,round,status,metric,unit,value,published,reason,doubts",
		"json":     `"experiment": {`,
		"bench":    "BenchmarkLoomlab/sut=platform/mode=closed/conns=1000 ",
	} {
		code, stdout, stderr := runReport(savedRun, "--format", format) // flags may follow the run
		if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d, stderr %q, no %q in\n%.300s", format, code, stderr, want, stdout)
		}
	}
}

func TestReportTakesTheLastRunOfAFolder(t *testing.T) {
	parent := t.TempDir()
	if code, _, stderr := runReport("--dir", parent); code != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "no run found under "+parent) {
		t.Errorf("empty folder: exit %d, stderr %q", code, stderr)
	}
	copied := filepath.Join(parent, "20260102T120000Z-article")
	if err := os.CopyFS(copied, os.DirFS(savedRun)); err != nil {
		t.Fatal(err)
	}
	_, want, _ := runReport(savedRun)
	for _, name := range []string{"", "last", "20260102T120000Z-article", filepath.Join(copied, "run.json")} {
		args := []string{"--dir", parent}
		if name != "" {
			args = append(args, name)
		}
		if code, got, stderr := runReport(args...); code != 0 || got != want || stderr != "" {
			t.Errorf("%q: exit %d, stderr %q, or another table", name, code, stderr)
		}
	}
}

func TestReportWritesAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json.txt")
	code, stdout, stderr := runReport("--format", "json", "-o", file, savedRun)
	if code != 0 || stdout != "" || stderr != "" {
		t.Fatalf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	body, err := os.ReadFile(file)
	if err != nil || !json.Valid(body) {
		t.Fatalf("%v, valid JSON: %v", err, json.Valid(body))
	}
	// The document is a run of its own.
	_, want, _ := runReport(savedRun)
	if code, got, stderr := runReport(file); code != 0 || got != want {
		t.Errorf("exit %d, stderr %q, or another table from the document", code, stderr)
	}
	if code, _, stderr := runReport("-o", filepath.Join(file, "x"), savedRun); code != 1 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("no such folder: exit %d, stderr %q", code, stderr)
	}
	if code, _, stderr := runReport("-o", os.DevNull, savedRun); code != 0 {
		t.Errorf("%s: exit %d, stderr %q", os.DevNull, code, stderr)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s was replaced: %v, %v", os.DevNull, info, err)
	}
}

func TestReportRefuses(t *testing.T) {
	torn := t.TempDir()
	if err := os.WriteFile(filepath.Join(torn, "run.json"), []byte(`{"schema": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--format", "xml", savedRun}, `unknown format "xml"; there are table, markdown, csv, json, bench`},
		{[]string{"nonsense"}, `"nonsense" is neither a run directory nor the name of one under runs`},
		{[]string{"a", "b"}, "report takes one RUN, not 2"},
		{[]string{torn}, "written by a newer loomlab: its schema is 99, this version reads up to 1"},
	} {
		code, stdout, stderr := runReport(c.args...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, stdout %q, stderr %q, want %q", c.args, code, stdout, stderr, c.want)
		}
	}
}
