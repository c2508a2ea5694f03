package report

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func explain(t *testing.T, saved *record.Saved, width int) string {
	t.Helper()
	var out bytes.Buffer
	if err := Explain(&out, saved, TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExplainSavedRun(t *testing.T) {
	text := explain(t, openSaved(t), 100)
	golden(t, "explain-100.txt", []byte(text))
	for _, line := range strings.Split(text, "\n") {
		if width(line) > 100 {
			t.Errorf("%d wide: %s", width(line), line)
		}
	}
}

// Windows of one rung with different verdicts are told apart, and a kind is only
// certain when all its windows are.
func TestExplainTellsWindowsApart(t *testing.T) {
	ceiling := record.Ceiling{Kind: "workers", PerS: 2000, Arithmetic: "200 worker threads ÷ 0.1 s = 2000/s"}
	cell := func(round int, kind string, sure bool, doubts ...record.Doubt) record.Cell {
		perS := 1920.0
		return record.Cell{SUT: "platform", Fork: 1, Connections: 1000, Round: round, Status: "ok", Doubts: doubts, Ceilings: []record.Ceiling{ceiling},
			Load:    &record.LoadResult{Seconds: 10, ThroughputPerS: &perS},
			Verdict: &record.Verdict{Kind: kind, Sure: sure, Text: "platform at 1000: it is \x1b[31mred: very.", Evidence: "mean 192"}}
	}
	late := record.Doubt{Kind: "engine-late", Evidence: "lag p99 34 ms", Threshold: "lag p99 ≤ 5 ms", Remedy: "more cores"}
	saved := &record.Saved{
		Run: record.Run{ID: "x", Status: "ok", Experiment: record.Experiment{Name: "e", SUTs: []record.SUT{{Name: "platform"}, {Name: "virtual"}},
			Load: record.Load{Connections: []int{1000}, Rounds: 3}, Forks: 1},
			Limits: map[string]map[string]string{"platform": {"worker threads": "200"}}},
		Cells: []record.Cell{cell(1, record.VerdictUnknown, false, late), cell(2, record.VerdictWorkerThreads, true, late), cell(3, record.VerdictWorkerThreads, false)},
	}
	text := explain(t, saved, 0)
	for _, want := range []string{
		"▸ platform: worker-threads (not certain) · 2 of 3 windows, in the words of fork 1, round 2\n",
		"▸ platform: unknown · 1 of 3 windows, in the words of fork 1, round 1\n",
		"\n  it is \\x1b[31mred: very.\n", "\n  seen: mean 192\n",
		"\n  ceiling: 200 worker threads ÷ 0.1 s = 2000/s, reached to 96 %\n",
		"\n  doubt in 1 of 2: engine-late: lag p99 34 ms\n",
		"\nvirtual: not measured\n",
		"\n  platform: worker threads 200\n",
		"\n  engine-late: wanted lag p99 ≤ 5 ms. Remedy: more cores\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("an escape sequence of a run's text went to the terminal")
	}
}

// Every kind of verdict that exists has its explanation.
func TestEveryVerdictIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../record/verdict.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Verdict") {
			return true
		}
		kinds++
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || explanations[kind] == "" {
			t.Errorf("%s is not explained", spec.Names[0].Name)
		}
		return true
	})
	if kinds != len(explanations) {
		t.Errorf("%d kinds, %d explanations", kinds, len(explanations))
	}
}
