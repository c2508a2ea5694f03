package report

import (
	"regexp"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestClaimsSection(t *testing.T) {
	table := Build(openSaved(t))
	if table.Claims == nil || table.Claims.Summary != "1 of 3 claims reproduced, 1 refuted, 1 not decidable here" {
		t.Fatalf("claims %+v", table.Claims)
	}
	first := table.Claims.Items[0]
	if first.Mark() != "✓" || first.Figures[0] != "throughput('platform', 1000) = 1962, 1958 req/s (2 rounds)" || first.Reason != "" {
		t.Errorf("first %+v", first)
	}
	if last := table.Claims.Items[2]; last.Mark() != "✗" || strings.Join(last.Doubts, " ") != "engine-late" {
		t.Errorf("last %+v", last)
	}
	text := string(render(t, "table", openSaved(t), TextOptions{Width: 60}))
	if _, end, found := strings.Cut(text, "1 of 3 claims reproduced"); !found || strings.Contains(end, "│") {
		t.Error("the table does not end with the claims")
	}
	saved := openSaved(t)
	for i := range 2 { // as if the last SUT of these had not been asked for
		saved.Run.Claims[i].Figures = append(saved.Run.Claims[i].Figures, record.ClaimFigure{SUT: "absent"})
	}
	if got := Build(saved).Claims; got == nil || len(got.Items) != 1 || got.Summary != "0 of 1 claim reproduced, 1 refuted; 2 more about SUTs that did not run: absent" {
		t.Errorf("claims about absent SUTs: %+v", got)
	}
	saved.Run.Claims = nil
	if text := string(render(t, "table", saved, TextOptions{Width: 60})); strings.Contains(text, "claim") || Build(saved).Claims != nil {
		t.Error("claims where there are none")
	}
}

func TestClaimFigures(t *testing.T) {
	for _, tc := range []struct {
		f    record.ClaimFigure
		want string
	}{
		{record.ClaimFigure{Figure: "errors('a', 1)", Values: []float64{0, 3}, Low: ptr(0.0), High: ptr(3.0), Basis: "2 rounds"}, "errors('a', 1) = 0, 3 (2 rounds)"},
		{record.ClaimFigure{Figure: "p50_ms('a', 1)", Unit: "ms", Values: []float64{1, 2, 3, 4, 5, 6, 7, 8}, Low: ptr(2.0), High: ptr(7.0), Basis: "95 % interval of 8 forks"},
			"p50_ms('a', 1) = 1.00, 2.00, …, 7.00, 8.00 ms (95 % interval of 8 forks: 2.00 … 7.00)"},
		{record.ClaimFigure{Figure: "rss_mb('a', 1)", Unit: "MB", Missing: "not measured"}, "rss_mb('a', 1): n/a (not measured)"},
	} {
		if got := claimFigure(tc.f); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestClaimedMetricsHaveRows: a figure that nobody speaks of has none.
func TestClaimedMetricsHaveRows(t *testing.T) {
	shown := func(saved *record.Saved, metric string) bool {
		t.Helper()
		for _, row := range Build(saved).Rungs[0].Rows {
			if row.Metric.Name == metric {
				return !row.Hidden
			}
		}
		t.Fatalf("no row %s", metric)
		return false
	}
	saved := openSaved(t)
	if shown(saved, "p90_ms") || shown(saved, "total_s") {
		t.Error("rows that nobody asked for")
	}
	saved.Run.Claims = []record.ClaimResult{{Figures: []record.ClaimFigure{{Metric: "p90_ms"}}}}
	saved.Run.Experiment.Published[0].MaxMS = []float64{500}
	if !shown(saved, "p90_ms") || !shown(saved, "max_ms") || shown(saved, "p75_ms") {
		t.Error("a claimed or a published figure has no row")
	}
	saved.Run.Experiment.Load.Requests = 5000
	for i := range saved.Cells {
		if l := saved.Cells[i].Load; l != nil {
			l.RequestedS = nil
		}
	}
	if !shown(saved, "total_s") {
		t.Error("no total time of a number of requests")
	}
}

func TestRatioToPublished(t *testing.T) {
	saved := openSaved(t)
	saved.Run.Experiment.Source.Counting = "window"
	table := Build(saved)
	c := find(t, table, 1000, record.Throughput, "platform") // 1962.4, 1957.8 beside 1997, 1946
	if c.Ratio == nil || *c.Ratio < 0.99 || *c.Ratio > 1 {
		t.Errorf("ratio %v", c.Ratio)
	}
	if c := find(t, table, 1000, "errors", "platform"); c.Ratio != nil {
		t.Errorf("a ratio to 0: %v", *c.Ratio)
	}
	for width, want := range map[int]string{200: `\(1997 1946 ×0\.99\)`, 100: `published +│ +1997 +1946 ×0\.99 `, 80: `published +│ +1997 +1946 +│`} {
		if text := string(render(t, "table", saved, TextOptions{Width: width})); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("width %d: no %q in\n%s", width, want, text)
		}
	}
	if text := string(render(t, "csv", saved, TextOptions{})); !strings.Contains(text, ",1962.4,1997,,,,,,,,0.98267") {
		t.Error("no ratio in the CSV")
	}
}

// TestLaddersOfTheirOwn: a rung that is not on a SUT's ladder stays visible, and
// is no window that is missing.
func TestLaddersOfTheirOwn(t *testing.T) {
	saved := openSaved(t)
	e := &saved.Run.Experiment
	e.SUTs[0].Load = &record.Load{Connections: []int{100}, Rounds: 2, Duration: e.Load.Duration}
	e.SUTs[1].Load = &record.Load{Rate: []float64{500}, Rounds: 1, Duration: e.Load.Duration}
	var cells []record.Cell
	for _, c := range saved.Cells {
		if c.SUT == "platform" && c.Connections > 100 || c.SUT == "virtual" {
			continue
		}
		cells = append(cells, c)
	}
	open := cells[0]
	open.SUT, open.Connections, open.Rate = "virtual", 0, 500
	saved.Cells = append(cells, open)
	table := Build(saved)
	var titles []string
	for _, block := range table.Rungs {
		titles = append(titles, block.Title)
	}
	if got := strings.Join(titles, ", "); got != "100 connections, 1000 connections, 3000 connections, 500/s offered" {
		t.Errorf("rungs %s", got)
	}
	c := find(t, table, 1000, record.Throughput, "platform")
	if len(c.Points) != 1 || c.tokens(record.Metric{})[0] != "–" || !strings.Contains(notesOf(table, c.Notes), "no rung of this SUT's ladder") {
		t.Errorf("%+v, %s", c, notesOf(table, c.Notes))
	}
	last := table.Rungs[3].Rows[0]
	if v := last.Cells[1].Points; len(v) != 1 || v[0].Value == nil {
		t.Errorf("offered rate: %+v", v)
	}
	if v := last.Cells[2].Points; len(v) != 1 || v[0].Value != nil {
		t.Errorf("offered rate, of a closed loop: %+v", v)
	}
	if !strings.Contains(strings.Join(table.About, "\n"), "2 rounds of 10s or 1 round of 10s") {
		t.Errorf("about %q", table.About)
	}
}

func TestTargetsHaveANote(t *testing.T) {
	saved := openSaved(t)
	for i := range 2 {
		saved.Cells[i].Load.Targets = []record.LoadTarget{
			{Target: "/light", Weight: 0.5, OK: 500, LatencyMS: &record.Latency{P50: 9, P99: 20 + float64(i)}},
			{Target: "/heavy", Weight: 0.5, OK: 480, Errors: 10},
		}
	}
	table := Build(saved)
	c := find(t, table, 100, record.Throughput, "platform")
	if got := notesOf(table, c.Notes); !strings.Contains(got, "by target: /light 50/s, p50 9.00 ms, p99 20.0 … 21.0 ms; /heavy 48/s, 20 failed") {
		t.Errorf("notes %s", got)
	}
}

// TestScaleIsNeverCompared, as --quick: what was scaled is another experiment.
func TestScaleIsNeverCompared(t *testing.T) {
	full, scaled := openSaved(t), openSaved(t)
	scaled.Run.Experiment.Scale = 0.02
	_, err := Compare(Side{Saved: full, Name: "full"}, Side{Saved: scaled, Name: "scaled"}, nil)
	if err == nil || !strings.Contains(err.Error(), "scale no → 0.02") {
		t.Errorf("%v", err)
	}
	scaled.Run.Experiment.Scale, scaled.Run.Experiment.Quick = 0, true
	if _, err = Compare(Side{Saved: full}, Side{Saved: scaled}, nil); err == nil || !strings.Contains(err.Error(), "quick no → yes") {
		t.Errorf("%v", err)
	}
	full.Run.Experiment.Quick = true
	c, err := Compare(Side{Saved: full}, Side{Saved: scaled}, nil)
	if err != nil || !strings.Contains(c.About[0]+c.About[1], "shortened by --quick") {
		t.Errorf("two quick runs: %v, %+v", err, c)
	}
	full.Run.Experiment.SUTs[0].Load = &record.Load{Connections: []int{100}, Rounds: 2, Command: []string{"wrk"}}
	if _, err = Compare(Side{Saved: full}, Side{Saved: scaled}, nil); err == nil || !strings.Contains(err.Error(), "load of platform") {
		t.Errorf("another load: %v", err)
	}
}
