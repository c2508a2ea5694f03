package claim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"loomlab/lab/record"
	"loomlab/probes"
)

func TestParseClaimMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"throughput('a', 1) >":                   "not an expression: unexpected token EOF at character 20",
		"throughput('a', 1)":                     "a claim is true or false; this is a number",
		"throughput('a', 1) && true":             "&& takes what is true or false",
		"throughput('a', 1) > (1 < 2)":           "> takes what is a number",
		"!throughput('a', 1) > 2":                "! takes what is true or false",
		"throughput('a', 1) ** 2 > 1":            "** is no operator of a claim",
		"throughput('a', 1) in [1]":              "in is no operator of a claim",
		"throughputt('a', 1) > 1":                "throughputt is no figure; did you mean throughput?; known are throughput, ",
		"len('a') > 1":                           "len is no figure",
		"abs(1, 2) > 1":                          "abs takes numbers",
		"throughput('a') > 1":                    "throughput takes a SUT's name and a rung, such as throughput('platform', 1000)",
		"throughput('a', 'b') > 1":               "throughput takes a SUT's name and a rung",
		"throughput('a', 10 + 1) > 1":            "throughput takes a SUT's name and a rung",
		"ready_s('a', 10) > 1":                   "ready_s takes a SUT's name, such as ready_s('platform')",
		"throughput('a', 1) > 1 ? 1 < 2 : 2 < 1": "is nothing that a claim is made of",
		"let x = throughput('a', 1); x > 1":      "is nothing that a claim is made of",
		"x > 1":                                  "x is nothing that a claim is made of",
		"lab.throughput('a', 1) > 1":             "is no figure",
		"'a' > 1":                                "is nothing that a claim is made of",
		strings.Repeat("(", 5) + "1 < 2":         "not an expression",
		"throughput('a', 1) > 1 && p50_mss('a', 1) < 2 && throughput('a') > 1": "p50_mss is no figure; did you mean p50_ms?",
	} {
		c, err := Parse(text)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		default:
			got = strings.Join(c.Mistakes, "\n")
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// spans of the figures that the tests of arithmetic speak of.
var testSpans = map[string]span{
	"throughput('a', 10)": {100, 120}, "throughput('b', 10)": {300, 330}, "throughput('c', 10)": {110, 400},
	"errors('a', 10)": {0, 0}, "errors('b', 10)": {0, 2}, "rss_mb('a', 10)": {-5, 5},
}

func TestEvaluate(t *testing.T) {
	for _, tc := range []struct {
		expr string
		want truth
		text string
	}{
		{"throughput('a', 10) < throughput('b', 10)", yes, "100 … 120 < 300 … 330"},
		{"throughput('a', 10) >= throughput('b', 10)", no, "100 … 120 >= 300 … 330"},
		{"throughput('b', 10) >= 2 * throughput('a', 10)", yes, "300 … 330 >= 2 * (100 … 120) = 200 … 240"},
		{"throughput('b', 10) >= 3 * throughput('a', 10)", open, "300 … 330 >= 3 * (100 … 120) = 300 … 360"},
		{"throughput('c', 10) > throughput('a', 10)", open, "110 … 400 > 100 … 120"},
		{"throughput('a', 10) <= 2000 * 1.02", yes, "100 … 120 <= 2000 * 1.02 = 2040"},
		{"throughput('a', 10) <= 120", yes, "100 … 120 <= 120"},
		{"throughput('a', 10) < 120", open, "100 … 120 < 120"},
		{"throughput('a', 10) > 120", no, "100 … 120 > 120"},
		{"throughput('a', 10) >= 100", yes, "100 … 120 >= 100"},
		{"throughput('a', 10) < 100", no, "100 … 120 < 100"},
		{"errors('a', 10) == 0", yes, "0 == 0"},
		{"errors('b', 10) == 0", open, "0 … 2 == 0"},
		{"errors('b', 10) == 3", no, "0 … 2 == 3"},
		{"errors('b', 10) != 3", yes, "0 … 2 != 3"},
		{"errors('a', 10) != 0", no, "0 != 0"},
		{"throughput('b', 10) / throughput('a', 10) > 2.4", yes, "300 … 330 / 100 … 120"},
		{"1 / rss_mb('a', 10) > 0", open, ""},
		{"abs(rss_mb('a', 10)) <= 5", yes, "abs(-5 … 5) = 0 … 5 <= 5"},
		{"-rss_mb('a', 10) <= 5", yes, ""},
		{"max(throughput('a', 10), throughput('b', 10)) >= 300", yes, "max(100 … 120, 300 … 330) = 300 … 330 >= 300"},
		{"min(throughput('a', 10), throughput('b', 10)) < 121", yes, ""},
		{"throughput('a', 10) < 200 && throughput('b', 10) > 200", yes, "100 … 120 < 200 && 300 … 330 > 200"},
		{"throughput('a', 10) < 200 and throughput('c', 10) > 200", open, ""},
		{"throughput('a', 10) > 200 && throughput('c', 10) > 200", no, ""},
		{"throughput('a', 10) < 200 || throughput('c', 10) > 200", yes, ""},
		{"not (throughput('a', 10) < 200)", no, ""},
		{"(throughput('a', 10) + 5) * 2 < 251", yes, "((100 … 120) + 5) * 2 = 210 … 250 < 251"},
		// What is not there decides nothing, unless the other side does.
		{"p50_ms('a', 10) < 1", open, "n/a < 1"},
		{"p50_ms('a', 10) < 1 && throughput('a', 10) > 200", no, ""},
		{"p50_ms('a', 10) < 1 || throughput('a', 10) < 200", yes, ""},
	} {
		c, err := Parse(tc.expr)
		if err != nil || len(c.Mistakes) > 0 {
			t.Errorf("%s: %v %v", tc.expr, err, c)
			continue
		}
		e := evaluation{expr: c, spans: testSpans}
		if got := e.truth(c.root); got != tc.want {
			t.Errorf("%s is %v, want %v", tc.expr, got, tc.want)
		}
		if got := e.text(c.root); tc.text != "" && !strings.HasPrefix(strings.NewReplacer("(", "", ")", "").Replace(got), strings.NewReplacer("(", "", ")", "").Replace(tc.text)) {
			t.Errorf("%s reads %s, want %s", tc.expr, got, tc.text)
		}
	}
}

// TestIntervalsAgreeWithExpr picks values from the spans and lets expr-lang
// evaluate the claim with them: whatever the intervals decide must come out.
func TestIntervalsAgreeWithExpr(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"throughput('a', 10)", "throughput('b', 10)", "throughput('c', 10)", "rss_mb('a', 10)", "errors('b', 10)", "2", "0.5", "110"}
	var number func(depth int) string
	number = func(depth int) string {
		if depth == 0 {
			return pieces[random.IntN(len(pieces))]
		}
		switch random.IntN(6) {
		case 0:
			return "abs(" + number(depth-1) + ")"
		case 1:
			return "min(" + number(depth-1) + ", " + number(depth-1) + ")"
		case 2:
			return "-(" + number(depth-1) + ")"
		}
		return "(" + number(depth-1) + " " + []string{"+", "-", "*", "/"}[random.IntN(4)] + " " + number(depth-1) + ")"
	}
	decided := 0
	for range 300 {
		text := number(random.IntN(3)) + " " + []string{"<", "<=", ">", ">=", "==", "!="}[random.IntN(6)] + " " + number(random.IntN(3))
		if random.IntN(2) == 0 {
			text += []string{" && ", " || "}[random.IntN(2)] + "not (" + number(1) + " < " + number(1) + ")"
		}
		c, err := Parse(text)
		if err != nil || len(c.Mistakes) > 0 {
			t.Fatalf("%s: %v %v", text, err, c.Mistakes)
		}
		got := evaluation{expr: c, spans: testSpans}.truth(c.root)
		if got == open {
			continue
		}
		decided++
		for range 20 {
			values := map[string]float64{}
			for name, s := range testSpans {
				values[name] = s.low + random.Float64()*(s.high-s.low)
			}
			if holds := evalWith(t, text, values); holds != (got == yes) {
				t.Fatalf("%s is decided as %v; with %v it is %v", text, got == yes, values, holds)
			}
		}
	}
	if decided < 50 {
		t.Errorf("only %d claims were decided", decided)
	}
}

// evalWith evaluates by expr-lang, every figure having one value.
func evalWith(t *testing.T, text string, values map[string]float64) bool {
	t.Helper()
	env := map[string]any{}
	for _, name := range []string{"throughput", "errors", "rss_mb"} {
		env[name] = func(sut string, rung int) float64 { return values[fmt.Sprintf("%s('%s', %d)", name, sut, rung)] }
	}
	result, err := expr.Eval(text, env)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return result.(bool)
}

// claimRun is a run of two SUTs on two rungs whose throughputs, by SUT and rung,
// are those of its rounds.
func claimRun(forks int, claims []string, throughputs map[string][]float64) *record.Saved {
	e := record.Experiment{Name: "x", Forks: forks, Load: record.Load{Connections: []int{10, 100}, Rounds: 2},
		SUTs: []record.SUT{{Name: "a"}, {Name: "b"}}, Source: &record.Source{Cores: 10}}
	for _, c := range claims {
		e.Claims = append(e.Claims, record.Claim{Text: c, Expr: c})
	}
	saved := &record.Saved{Run: record.Run{Experiment: e, Status: "ok", Machine: record.Machine{Cores: 2}}}
	for fork := 1; fork <= forks; fork++ {
		for i, sut := range []string{"a", "b"} {
			saved.Run.Starts = append(saved.Run.Starts, record.Start{SUT: sut, Fork: fork, Kind: record.KindApp, ReadyS: new(float64(i + 1))})
			for _, connections := range []int{10, 100} {
				for round, v := range throughputs[fmt.Sprint(sut, connections)] {
					c := record.Cell{SUT: sut, Fork: fork, Connections: connections, Round: round + 1, Status: "ok",
						Load: &record.LoadResult{Mode: "closed", Seconds: 1, ThroughputPerS: new(v + float64(fork)/100)}}
					c.Load.Requests.OK = int64(v)
					saved.Cells = append(saved.Cells, c)
				}
			}
		}
	}
	return saved
}

func TestClaims(t *testing.T) {
	figures := map[string][]float64{"a10": {100, 102}, "b10": {300, 310}, "a100": {200, 400}, "b100": {300, 305}}
	const (
		holds  = "throughput('b', 10) > 2 * throughput('a', 10)"
		fails  = "throughput('b', 10) < throughput('a', 10)"
		across = "throughput('a', 100) > throughput('b', 100)"
	)
	for _, tc := range []struct {
		name, claim string
		harm        func(*record.Saved)
		outcome     string
		reason      string
	}{
		{"holds", holds, nil, record.Confirmed, ""},
		{"fails", fails, nil, record.Refuted, ""},
		{"rounds on both sides", across, nil, record.Undecided, "the rounds lie on both sides; 6 forks would give an interval"},
		{"of a start", "ready_s('a') < ready_s('b')", nil, record.Confirmed, ""},
		{"not measured", holds, func(s *record.Saved) { s.Cells = s.Cells[:1] }, record.Undecided, "throughput('b', 10): 0 of 2 windows measured; throughput('a', 10): 1 of 2 windows measured"},
		{"failed", holds, func(s *record.Saved) { s.Cells[1].Status, s.Cells[1].Reason = "failed", "the SUT died\nlast words" }, record.Undecided, "throughput('a', 10): failed in round 2: the SUT died"},
		{"skipped", holds, func(s *record.Saved) {
			s.Cells[1].Status, s.Cells[1].Reason, s.Cells[1].Load = "skipped", "10 × 1 MiB are more than there is", nil
		}, record.Undecided, "throughput('a', 10): skipped in round 2: 10 × 1 MiB are more than there is"},
		{"no start", holds, func(s *record.Saved) { s.Run.Starts[0].Error = "it died"; s.Cells = s.Cells[4:] }, record.Undecided, "throughput('a', 10): the SUT did not start: it died"},
		{"another ladder", holds, func(s *record.Saved) { s.Run.Experiment.Load.Connections = []int{100}; s.Cells = nil }, record.Undecided, "10 is no rung of this run"},
		{"other SUTs", holds, func(s *record.Saved) { s.Run.Experiment.SUTs = nil; s.Cells = nil; s.Run.Starts = nil }, record.Undecided, "a did not run"},
		{"figure not available", "rss_mb('a', 10) < 1", nil, record.Undecided, "rss_mb('a', 10): not measured"},
		{"stand-ins", fails, func(s *record.Saved) { s.Run.Starts[1].Kind = record.KindStandin }, record.Undecided, "stand-ins ran in place of b; by the figures as they are it would be refuted"},
		{"quick", holds, func(s *record.Saved) { s.Run.Experiment.Quick = true }, record.Undecided, "the run was shortened by --quick; by the figures as they are it would be confirmed"},
		{"impossible", holds, func(s *record.Saved) {
			s.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtImpossible, Evidence: "5 > 4"}}
		}, record.Undecided, "throughput('a', 10) cannot be trusted: impossible (5 > 4); by the figures as they are it would be confirmed"},
		{"busy in half of the windows", holds, func(s *record.Saved) {
			s.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtMachineBusy, Evidence: "1.5 cores"}}
		}, record.Undecided, "throughput('a', 10) cannot be trusted: in 1 of 2 windows machine-busy (1.5 cores); by the figures as they are it would be confirmed"},
		{"memory on a busy machine", "ready_s('a') > 0 && non_2xx('a', 10) == 0", func(s *record.Saved) {
			s.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtMachineBusy}}
		}, record.Confirmed, ""},
		{"a doubt that spoils nothing", holds, func(s *record.Saved) { s.Cells[0].Doubts = []record.Doubt{{Kind: "waits-for-cpu"}} }, record.Confirmed, ""},
		{"a doubt about another figure", holds, func(s *record.Saved) {
			s.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtImpossible, Metric: record.P99}}
		}, record.Confirmed, ""},
		{"the load engine", holds, func(s *record.Saved) { s.Cells[0].Verdict = &record.Verdict{Kind: record.VerdictLoadEngine} }, record.Undecided, "the load engine is the limit there"},
		{"the load engine, of which it speaks", holds, func(s *record.Saved) {
			s.Cells[0].Verdict, s.Run.Experiment.Claims[0].Of = &record.Verdict{Kind: record.VerdictLoadEngine}, record.OfInstrument
			s.Cells[1].Doubts = []record.Doubt{{Kind: record.DoubtDownstreamRejected}}
		}, record.Confirmed, ""},
		{"a busy machine, of which it does not", holds, func(s *record.Saved) {
			s.Run.Experiment.Claims[0].Of = record.OfInstrument
			s.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtMachineBusy, Evidence: "1.5 cores"}}
		}, record.Undecided, "in 1 of 2 windows machine-busy"},
		{"fewer cores do not confirm less", holds, func(s *record.Saved) { s.Cells[0].Verdict = &record.Verdict{Kind: record.VerdictCPU} }, record.Confirmed, ""},
		{"fewer cores do not refute", fails, func(s *record.Saved) { s.Cells[0].Verdict = &record.Verdict{Kind: record.VerdictCPU} }, record.Undecided,
			"limited by the 2 cores of this machine, where the author had 10: throughput('a', 10); by the figures as they are it would be refuted"},
		{"fewer cores where more would only refute more", fails, func(s *record.Saved) { s.Cells[4].Verdict = &record.Verdict{Kind: record.VerdictCPU} }, record.Refuted, ""},
		{"no CPU time left, whatever the verdict", fails, func(s *record.Saved) {
			s.Cells[1].Verdict, s.Cells[1].Machine = &record.Verdict{Kind: record.VerdictMemory}, &probes.MachineWindow{Seconds: 10, BusyS: new(19.5)}
		}, record.Undecided, "limited by the 2 cores of this machine, where the author had 10: throughput('a', 10)"},
		{"as many cores do", fails, func(s *record.Saved) {
			s.Cells[0].Verdict, s.Run.Machine.Cores = &record.Verdict{Kind: record.VerdictCPU}, 10
		}, record.Refuted, ""},
		{"of another version", "latency('a', 10) < 1", nil, record.Undecided, "latency is no figure"},
	} {
		saved := claimRun(1, []string{tc.claim}, figures)
		if tc.harm != nil {
			tc.harm(saved)
		}
		got := Decide(saved)[0]
		if got.Outcome != tc.outcome || !strings.Contains(got.Reason, tc.reason) || (got.Reason == "") != (tc.outcome != record.Undecided) {
			t.Errorf("%s: %s (%s), want %s (%s)", tc.name, got.Outcome, got.Reason, tc.outcome, tc.reason)
		}
	}
}

// TestClaimShowsItsArithmetic: the record holds what the outcome rests on.
func TestClaimShowsItsArithmetic(t *testing.T) {
	saved := claimRun(1, []string{"throughput('b', 10) > 2 * throughput('a', 10)"}, map[string][]float64{"a10": {100, 102}, "b10": {300, 310}})
	saved.Cells[1].Doubts = []record.Doubt{{Kind: "jit-busy"}, {Kind: "thin-p99", Metric: record.P99}}
	got := Decide(saved)[0]
	if want := "300 … 310 > 2 * (100 … 102) = 200 … 204"; got.Arithmetic != want {
		t.Errorf("arithmetic %q, want %q", got.Arithmetic, want)
	}
	if len(got.Figures) != 2 || got.Figures[0].Figure != "throughput('b', 10)" || len(got.Figures[0].Values) != 2 || got.Figures[0].Basis != "2 rounds" ||
		*got.Figures[1].Low != 100.01 || *got.Figures[1].High != 102.01 || got.Figures[1].Metric != record.Throughput || strings.Join(got.Figures[1].Doubts, " ") != "jit-busy" {
		t.Errorf("figures %+v", got.Figures)
	}
}

// TestClaimGoesByIntervals: with enough forks one wild one does not matter.
func TestClaimGoesByIntervals(t *testing.T) {
	claim := []string{"throughput('a', 10) < throughput('b', 10)"}
	figures := map[string][]float64{"a10": {100, 102}, "b10": {300, 310}}
	wild := func(forks int) *record.Saved {
		saved := claimRun(forks, claim, figures)
		for i := range 2 {
			l := saved.Cells[i].Load
			l.Requests.OK, l.ThroughputPerS = 1000, new(1000.0)
		}
		return saved
	}
	if got := Decide(wild(5))[0]; got.Outcome != record.Undecided || got.Figures[0].Basis != "10 rounds of 5 forks" {
		t.Errorf("5 forks: %+v", got)
	}
	if got := Decide(wild(6))[0]; got.Outcome != record.Undecided || got.Reason != "the intervals lie on both sides" {
		t.Errorf("6 forks: %+v", got)
	}
	if got := Decide(wild(9))[0]; got.Outcome != record.Confirmed || got.Figures[0].Basis != "95 % interval of 9 forks" || len(got.Figures[0].Values) != 18 {
		t.Errorf("9 forks: %+v", got)
	}
}

// TestEveryFigureCanBeClaimed: what the check accepts a run can answer.
func TestEveryFigureCanBeClaimed(t *testing.T) {
	for _, name := range record.FigureNames() {
		text := name + "('a', 10) >= 0"
		if f, ok := record.FigureNamed(name); !ok {
			t.Errorf("%s is listed and unknown", name)
		} else if f.AtStart.Name != "" {
			text = name + "('a') >= 0"
		}
		got := Decide(claimRun(1, []string{text}, map[string][]float64{"a10": {1, 2}}))[0]
		if strings.Contains(got.Reason, "no figure") || len(got.Figures) != 1 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestOneBusyWindowOfMany widens the span and spoils nothing else; a bug spoils
// all of it.
func TestOneBusyWindowOfMany(t *testing.T) {
	claim := []string{"throughput('a', 10) < throughput('b', 10)"}
	saved := claimRun(3, claim, map[string][]float64{"a10": {100, 102}, "b10": {300, 310}})
	saved.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtMachineBusy}, {Kind: record.DoubtEngineSaturated}}
	if got := Decide(saved)[0]; got.Outcome != record.Confirmed || strings.Join(got.Figures[0].Doubts, " ") != "machine-busy engine-saturated" {
		t.Errorf("one busy window: %+v", got)
	}
	saved.Cells[0].Doubts = []record.Doubt{{Kind: record.DoubtRestarted}}
	if got := Decide(saved)[0]; got.Outcome != record.Undecided {
		t.Errorf("one window of two processes: %+v", got)
	}
}
