package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"loomlab/lab/record"
	"loomlab/loadgen"
	"loomlab/probes"
)

// golden compares got with testdata/name; the difference can be looked at in
// testdata/.got-name, and -update accepts it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		if err := os.WriteFile(filepath.Join("testdata", ".got-"+name), got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: output differs; see testdata/.got-%s, and run with -update to accept it", name, name)
	}
}

func render(t *testing.T, format string, saved *record.Saved, o TextOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, format, saved, o); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	saved := openSaved(t)
	golden(t, "table-120.txt", render(t, "table", saved, TextOptions{Width: 120}))
	golden(t, "table-80.txt", render(t, "table", saved, TextOptions{Width: 80}))
	golden(t, "table-60-color.txt", render(t, "table", saved, TextOptions{Width: 60, Color: true}))
	golden(t, "table-brief.txt", render(t, "table", saved, TextOptions{Width: 80, Brief: true}))
	golden(t, "report.md", render(t, "markdown", saved, TextOptions{}))
	golden(t, "report.csv", render(t, "csv", saved, TextOptions{}))
	golden(t, "report.bench", render(t, "bench", saved, TextOptions{}))
}

func TestTableFitsItsWidth(t *testing.T) {
	saved := openSaved(t)
	for columns := 60; columns <= 200; columns += 7 {
		for _, line := range strings.Split(string(render(t, "table", saved, TextOptions{Width: columns})), "\n") {
			if width(line) > columns {
				t.Errorf("width %d: line of %d cells: %s", columns, width(line), line)
			}
		}
	}
}

// An East Asian locale widens box-drawing characters in the table library; it
// must not reach our output.
func TestLocaleDoesNotChangeTheTable(t *testing.T) {
	saved := openSaved(t)
	want := render(t, "table", saved, TextOptions{Width: 80})
	twwidth.SetEastAsian(true)
	defer twwidth.SetEastAsian(false)
	if got := render(t, "table", saved, TextOptions{Width: 80}); !bytes.Equal(got, want) {
		t.Error("the table differs in an East Asian locale")
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	saved := openSaved(t)
	saved.Run.Experiment.Title = "red \x1b[31m title\r"
	for _, format := range Formats {
		if out := render(t, format, saved, TextOptions{Width: 80}); bytes.ContainsAny(out, "\x1b\r") {
			t.Errorf("%s holds an escape or a carriage return", format)
		}
	}
	colored := string(render(t, "table", saved, TextOptions{Width: 80, Color: true}))
	if !strings.Contains(colored, bold) || strings.Contains(colored, "\x1b[31m") {
		t.Error("no colour where asked, or a colour from outside")
	}
	stripped := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, "")
	if stripped != string(render(t, "table", saved, TextOptions{Width: 80})) {
		t.Error("colour changes the layout")
	}
}

// hostile names, as field reports have them.
var labels = []string{
	"虚拟线程", "Re\u0301actif", "a\tb", "👍", strings.Repeat("long name ", 8), "mvc, \"virtual\"\n=1+1", "=1+1", "a|b`c*d_e[f]<g>", "\x1b[31mred", "\xff\xfe", "\u202eabc", "My SUT (v1), 50%",
}

// labelled is the saved run with every SUT and reason renamed to label.
func labelled(t *testing.T, label string) *record.Saved {
	t.Helper()
	saved := openSaved(t)
	e := &saved.Run.Experiment
	for i := range e.SUTs {
		if e.SUTs[i].Name == "virtual" {
			e.SUTs[i].Name = label
		}
	}
	for i := range saved.Run.Starts {
		if saved.Run.Starts[i].SUT == "virtual" {
			saved.Run.Starts[i].SUT = label
			saved.Run.Starts[i].FirstRequest.Body = label
		}
	}
	for i := range e.Published {
		if e.Published[i].SUT == "virtual" {
			e.Published[i].SUT = label
		}
	}
	for i := range saved.Cells {
		if saved.Cells[i].SUT == "virtual" {
			saved.Cells[i].SUT = label
		}
		saved.Cells[i].Exceptions = map[string]int64{label: 3}
	}
	return saved
}

func TestColumnsLineUpWhateverTheNames(t *testing.T) {
	for _, label := range labels {
		out := string(render(t, "table", labelled(t, label), TextOptions{}))
		want := 0
		for _, line := range strings.Split(out, "\n") {
			if !strings.Contains(line, "│") && !strings.Contains(line, "┼") {
				continue
			}
			if want == 0 {
				want = width(line)
			}
			if width(line) != want {
				t.Errorf("%q: a line of %d cells among those of %d:\n%s", label, width(line), want, line)
				break
			}
		}
		if want == 0 || strings.ContainsAny(out, "\t\x1b\u202e") {
			t.Errorf("%q: no table, or a raw control character", label)
		}
	}
}

func TestShortenCutsBetweenCharacters(t *testing.T) {
	check := func(s string, n int, want string) {
		t.Helper()
		if got := shorten(s, n); got != want || width(got) > n {
			t.Errorf("shorten(%q, %d) = %q (%d cells), want %q", s, n, got, width(got), want)
		}
	}
	check("abc", 3, "abc")
	check("abcd", 3, "ab…")
	check("虚拟线程", 8, "虚拟线程")
	check("虚拟线程", 7, "虚拟线…")
	check("虚拟线程", 6, "虚拟…")
	check("e\u0301e\u0301e\u0301", 2, "e\u0301…")
	check("abc", 1, "…")
}

func TestEscape(t *testing.T) {
	check := func(s, want string) {
		t.Helper()
		if got := escape(s); got != want {
			t.Errorf("escape(%q) = %q, want %q", s, got, want)
		}
	}
	check("a\tb", `a\tb`)
	check("a\nb", `a\nb`)
	check("\x1b[31m", `\x1b[31m`)
	check("\xff", `\xff`)
	check("\u202eabc", `\u202eabc`)
	check("虚拟 é 👍 'quoted'", "虚拟 é 👍 'quoted'")
}

func TestCSVSurvivesAnyLabel(t *testing.T) {
	for _, label := range labels {
		reader := csv.NewReader(bytes.NewReader(render(t, "csv", labelled(t, label), TextOptions{})))
		records, err := reader.ReadAll() // also checks that all records have as many fields
		if err != nil {
			t.Errorf("%q: %v", label, err)
			continue
		}
		found := false
		for _, r := range records[1:] {
			found = found || strings.TrimPrefix(r[1], "'") == label
			for i, field := range r {
				if field != "" && strings.ContainsRune("=+@\t\r", rune(field[0])) {
					t.Fatalf("%q: field %d would be a formula: %q", label, i, field)
				}
				if field == "NaN" || field == "+Inf" {
					t.Fatalf("%q: field %d is %s", label, i, field)
				}
			}
		}
		if !found {
			t.Errorf("%q does not come back", label)
		}
	}
}

func TestCSVLeavesOutWhatDoesNotExist(t *testing.T) {
	records, err := csv.NewReader(bytes.NewReader(render(t, "csv", openSaved(t), TextOptions{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	check := func(sut, connections, round, metric, want string) {
		t.Helper()
		for _, r := range records {
			if r[1] == sut && r[3] == connections && r[5] == round && r[7] == metric {
				if got := strings.Join(r[6:7], "") + "|" + strings.Join(r[9:12], "|"); got != want {
					t.Errorf("%s %s %s %s: %s, want %s", sut, connections, round, metric, got, want)
				}
				return
			}
		}
		t.Errorf("%s %s %s %s: no such line", sut, connections, round, metric)
	}
	check("platform", "1000", "2", "throughput_with_drain", "ok|2057.8|1946|")
	check("webflux", "3000", "2", "throughput", "failed||| the SUT was killed by signal 9 in the middle of the cell, 6.2 s after it began"[:9]+"the SUT was killed by signal 9 in the middle of the cell, 6.2 s after it began")
	check("virtual", "3000", "2", "p99_ms", "missing||2642.9|not measured: the record has no such cell")
	check("virtual", "100", "1", "heap_after_gc_mb", "ok||25|no collection yet")
}

func TestMarkdownEscapesAndKeepsItsColumns(t *testing.T) {
	for _, label := range labels {
		out := string(render(t, "markdown", labelled(t, label), TextOptions{}))
		for _, line := range strings.Split(out, "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			bare := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, "")
			if n := strings.Count(bare, "|"); n != 5 {
				t.Errorf("%q: %d bars in %s", label, n, line)
			}
		}
		if strings.Contains(out, "<g>") {
			t.Errorf("%q: markup from outside", label)
		}
	}
}

func TestBenchLines(t *testing.T) {
	pattern := regexp.MustCompile(`^Benchmark[A-Z]\S*\s+\d+(\s+[-+.0-9e]+ \S+)+$`)
	template := openSaved(t).Cells[0]
	saved := &record.Saved{}
	saved.Run.Machine.CPU = "two\nlines"
	for fork := 1; fork <= 5; fork++ {
		for _, sut := range []string{"My SUT (v1), 50%", "My SUT (v1)/ 50%"} {
			c := template
			c.SUT, c.Fork = sut, fork
			saved.Cells = append(saved.Cells, c)
		}
	}
	names := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(render(t, "bench", saved, TextOptions{}))), "\n") {
		switch {
		case strings.HasPrefix(line, "Benchmark"):
			if !pattern.MatchString(line) || strings.Contains(line, "NaN") {
				t.Errorf("not a benchmark line: %s", line)
			}
			names[strings.Fields(line)[0]]++
		case line != "" && !strings.HasPrefix(line, "Unit ") && !regexp.MustCompile(`^[a-z][^\sA-Z]*: `).MatchString(line):
			t.Errorf("neither a benchmark, a unit nor a key: %s", line)
		}
	}
	want := map[string]int{
		"BenchmarkLoomlab/sut=My_SUT__v1___50_/mode=closed/conns=100":   5,
		"BenchmarkLoomlab/sut=My_SUT__v1___50_.2/mode=closed/conns=100": 5,
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("names %v, want %v", names, want)
	}
}

func TestJSONIsTheDocument(t *testing.T) {
	saved := openSaved(t)
	var document struct {
		Run   record.Run    `json:"run"`
		Cells []record.Cell `json:"cells"`
	}
	if err := json.Unmarshal(render(t, "json", saved, TextOptions{}), &document); err != nil {
		t.Fatal(err)
	}
	if document.Run.ID != saved.Run.ID || len(document.Cells) != len(saved.Cells) {
		t.Errorf("run %q with %d cells, want %q with %d", document.Run.ID, len(document.Cells), saved.Run.ID, len(saved.Cells))
	}
}

// Every renderer takes whatever a torn or early run leaves behind.
func TestRenderersSurviveNothing(t *testing.T) {
	nan := math.NaN()
	empty := map[string]*record.Saved{
		"nothing": {},
		"a SUT":   {Run: record.Run{Experiment: record.Experiment{SUTs: []record.SUT{{Name: "a"}}}}},
		"a rung":  {Run: record.Run{Experiment: record.Experiment{Load: record.Load{Connections: []int{1}}}}},
		"no cell": {Run: record.Run{Status: "interrupted", Experiment: record.Experiment{SUTs: []record.SUT{{Name: "a"}}, Load: record.Load{Connections: []int{1}},
			Published: []record.Published{{SUT: "a", Connections: 1, Text: "timeouts"}, {SUT: "gone"}}}}},
		"empty start": {Run: record.Run{Starts: []record.Start{{}, {SUT: "a", Error: "exit status 1"}}}},
		"empty cell":  {Cells: []record.Cell{{}, {SUT: "a", Status: "ok"}}},
		"empty load":  {Cells: []record.Cell{{SUT: "a", Status: "ok", Load: &loadgen.Result{}, Doubts: []record.Doubt{{}}, Verdict: &record.Verdict{}}}},
		"null probes": {Cells: []record.Cell{{SUT: "a", Status: "ok", Load: &loadgen.Result{}, Probes: map[string]*probes.Window{record.TierSUT: nil}}}},
		"not finite":  {Cells: []record.Cell{{SUT: "a", Status: "ok", Load: &loadgen.Result{ThroughputPerS: &nan, LatencyMS: &loadgen.Latency{P50: math.Inf(1)}}}}},
		"many rounds": {Cells: []record.Cell{{SUT: "a", Fork: 3, Round: 9, Status: "failed"}}},
	}
	for name, saved := range empty {
		for _, format := range Formats {
			if out := string(render(t, format, saved, TextOptions{Width: 80, Color: true})); strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
				t.Errorf("%s as %s: %s", name, format, out)
			}
		}
	}
}

func TestWriteRefusesUnknownFormats(t *testing.T) {
	err := Write(&bytes.Buffer{}, "xml", &record.Saved{}, TextOptions{})
	if err == nil || err.Error() != `unknown format "xml"; there are table, markdown, csv, json, bench, html, svg, hlog` {
		t.Error(err)
	}
}
