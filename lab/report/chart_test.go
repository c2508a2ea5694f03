package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
	"loomlab/loadgen"
	"loomlab/probes"
)

func TestValuesInJSON(t *testing.T) {
	got, err := json.Marshal(values{1, math.NaN(), 16317.4567, 0.000123456, math.Inf(1), 1234567, 0})
	if want := "[1,null,16317,0.00012346,null,1234600,0]"; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestLadderIsTheTable(t *testing.T) {
	saved := openSaved(t)
	for i := range saved.Cells {
		c := &saved.Cells[i]
		c.Ceilings = []record.Ceiling{{Kind: "connections", PerS: float64(c.Connections) * 9.97, Arithmetic: "x ÷ 0.1003 s = y/s"}}
		if c.SUT == "platform" {
			c.Ceilings = append(c.Ceilings, record.Ceiling{Kind: "workers", PerS: 1994, Arithmetic: "200 worker threads ÷ 0.1003 s = 1994/s"})
		} else {
			c.Ceilings = append(c.Ceilings, record.Ceiling{Kind: "client_pool", PerS: 199_000, Arithmetic: "20000 pooled ÷ 0.1003 s = 199000/s"})
		}
	}
	l := newLadder(saved, Build(saved))
	if !slices.Equal(l.X, []int{100, 1000, 3000}) || len(l.Series) != 3 {
		t.Fatalf("%+v", l)
	}
	webflux := l.Series[2]
	if webflux.Name != "webflux" || webflux.Y[1] != (8034.6+8109.4)/2 || webflux.Low[1] != 8034.6 || webflux.High[1] != 8109.4 {
		t.Errorf("webflux at 1000: %v, %v…%v", webflux.Y[1], webflux.Low[1], webflux.High[1])
	}
	if webflux.Published[2] != (19622.0+12919)/2 {
		t.Errorf("published %v", webflux.Published[2])
	}
	var labels []string
	for _, c := range l.Ceilings {
		labels = append(labels, c.Label)
	}
	if got := strings.Join(labels, "|"); got != "connections ÷ delay|platform: 200 worker threads" {
		t.Errorf("ceilings %q: one for all connections, none of a pool far above", got)
	}
	if l.Most < 16270 || l.Most > 19622 {
		t.Errorf("the scale ends at %v", l.Most)
	}
}

func TestLatencyCurvesEndWithTheirData(t *testing.T) {
	saved := openSaved(t)
	c := newLatencyCharts(saved, Build(saved))
	if len(c.Rungs) != 3 || len(c.Rungs[1].Series) != 3 {
		t.Fatalf("%d rungs", len(c.Rungs))
	}
	s := c.Rungs[1].Series[0]
	last := c.X[len(s.MS)-1]
	if last > float64(s.Count) || len(s.MS) == len(c.X) && last*math.Pow(10, 1.0/pointsPerNine) < float64(s.Count) {
		t.Errorf("the curve of %d answers ends at 1 of %v", s.Count, last)
	}
	if !slices.IsSorted(s.MS) {
		t.Error("a percentile curve that falls")
	}
	if got := s.Quantiles(); len(got) != len(latencyQuantiles) || got[0] != "508.9" && got[0] != "509.4" && got[0] != "509.2" {
		t.Logf("quantiles %v", got)
		if math.Abs(s.quantiles[0]-509) > 3 {
			t.Errorf("p50 %v, want about 509", s.quantiles[0])
		}
	}
}

func TestTimeChartsOfASeries(t *testing.T) {
	saved := withSeries(t)
	c := newTimeCharts(saved, Build(saved))
	if len(c.Processes) != 3 || c.Processes[0].SUT != "platform" || c.Processes[0].Step != 1 {
		t.Fatalf("%d processes", len(c.Processes))
	}
	p := c.Processes[0]
	if len(p.Windows) != 6 || p.Windows[2].Rung != "1000" || p.Windows[2].Round != 1 || p.Windows[2].To-p.Windows[2].From != 7 {
		t.Errorf("windows %+v", p.Windows)
	}
	at := p.Windows[3].From + 2
	for name, want := range map[string]float64{"ok": 9000, "p99": 130, "cpu_sut": 0.7, "rss": 400, "gc": 4, "platform": 18} {
		if got := p.Lines[name][at]; math.Abs(got-want) > 0.01*want {
			t.Errorf("%s = %v in the window, want %v", name, got, want)
		}
	}
	if _, ok := p.Lines["flight"]; ok {
		t.Error("a line without a figure is kept")
	}
	for _, panel := range c.Panels {
		if strings.HasPrefix(panel.Title, "In flight") {
			t.Error("a panel without a line is kept")
		}
	}
}

func TestLongSeriesAreThinned(t *testing.T) {
	trace := &trace{}
	const seconds = 3 * seriesPoints
	for i := range seconds {
		trace.add(&record.Point{Tier: record.TierSUT, Sample: &probes.Sample{At: 50 + float64(i), RSSBytes: ptr(int64(i) << 20)}})
		trace.add(&record.Point{Tier: record.TierLoad, At: 50.1 + float64(i), Phase: "window", Connections: 10, Round: 1,
			Load: &loadgen.Sample{Seconds: 1, OK: int64(i % 3), LatencyMS: &record.Latency{P50: float64(i % 3), P99: float64(10 + i%3)}}})
	}
	p := trace.chart()
	if p.Step != 3 || len(p.Lines["ok"]) != seriesPoints {
		t.Fatalf("%d points of %d s", len(p.Lines["ok"]), p.Step)
	}
	if ok, p50, p99, rss := p.Lines["ok"][7], p.Lines["p50"][7], p.Lines["p99"][7], p.Lines["rss"][7]; ok != 1 || p50 != 2 || p99 != 12 || rss != 23 {
		t.Errorf("rate %v, p50 %v, p99 %v, RSS %v: want the mean, the pair of the worst second, the highest", ok, p50, p99, rss)
	}
}

// Records of before have no time of their own in points of load.
func TestPointsOfLoadWithoutTime(t *testing.T) {
	trace := &trace{}
	for i := range 3 {
		trace.add(&record.Point{Tier: record.TierLoad, Load: &loadgen.Sample{Seconds: 1, OK: 7}})
		trace.add(&record.Point{Tier: record.TierSUT, Sample: &probes.Sample{At: 50 + float64(i), CPUS: ptr(float64(i))}})
	}
	p := trace.chart()
	if got := p.Lines["ok"]; !math.IsNaN(got[2]) || got[0] != 7 || got[1] != 7 {
		t.Errorf("answers %v", got)
	}
	if got := p.Lines["cpu_sut"]; got[1] != 1 || got[2] != 1 || !math.IsNaN(got[0]) {
		t.Errorf("CPU %v", got)
	}
}

func TestCounterRates(t *testing.T) {
	var c counter
	check := func(at, value, want float64) {
		t.Helper()
		got := c.rate(at, value)
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	check(1, 10, math.NaN())
	check(2, 11, 1)
	check(2.1, 11.3, math.NaN()) // too near to say
	check(3, 13, 2)              // since 2, not since 2.1
	check(4, 1, math.NaN())      // another process
	check(5, 2, 1)
}

func TestHeadlines(t *testing.T) {
	saved := openSaved(t)
	headline := func(change func(s *record.Saved)) string {
		s := *saved
		s.Run = saved.Run
		s.Cells = slices.Clone(saved.Cells)
		change(&s)
		return newFinding(&s, Build(&s)).Headline
	}
	only := func(rung int, suts ...string) func(*record.Saved) {
		return func(s *record.Saved) {
			s.Run.Experiment.SUTs, s.Run.Starts, s.Run.Claims = nil, nil, nil
			s.Cells = slices.DeleteFunc(s.Cells, func(c record.Cell) bool { return c.Connections != rung || !slices.Contains(suts, c.SUT) })
		}
	}
	for _, c := range []struct {
		change func(*record.Saved)
		want   string
	}{
		{func(*record.Saved) {}, "At 3000 connections webflux answers 8257 requests/s, 4.23 times as many as platform (1950), where worker threads are the limit."},
		{only(100, "platform", "webflux"), "At 100 connections both SUTs answer about 987 requests/s, which is what the load allows: webflux takes 314 µs of CPU for each, platform 458 µs."},
		{only(1000, "webflux"), "At 1000 connections webflux answers 8072 requests/s: CPU is the limit."},
		{only(7), "Nothing was measured."},
		{func(s *record.Saved) {
			s.Cells = []record.Cell{{SUT: "a", Status: "failed", Reason: "it ended\nboom"}}
		}, "Nothing was measured: it ended | boom."},
	} {
		if got := headline(c.change); got != c.want {
			t.Errorf("headline %q\n    want %q", got, c.want)
		}
	}
}

// A page is passed on; passwords of records from before they were masked are not
// for its readers.
func TestSecretsStayHome(t *testing.T) {
	saved := openSaved(t)
	const secret = "hunter2"
	saved.Run.Args = []string{"loomlab", "run", "--postgres", "postgres://lab:" + secret + "@db/lab"}
	saved.Run.Starts[0].Argv = []string{"java", "--spring.datasource.password=" + secret, "--password", secret}
	saved.Run.Starts[0].Env = map[string]string{"PGPASSWORD": secret}
	saved.Run.Machine.Env = map[string]string{"API_TOKEN": secret}
	page := string(render(t, "html", saved, TextOptions{}))
	if before, _, found := strings.Cut(page, secret); found {
		t.Errorf("a secret on the page: …%s", before[len(before)-100:])
	}
	for _, kept := range []string{"PGPASSWORD=" + record.Mask, "--spring.datasource.password=" + record.Mask} {
		if !strings.Contains(html.UnescapeString(page), kept) {
			t.Errorf("no %q on the page", kept)
		}
	}
}

// comparedSides are two SUTs of the run that LOOMLAB_RUN names, or drawn ones.
func comparedSides(t *testing.T) *Comparison {
	t.Helper()
	if path := os.Getenv("LOOMLAB_RUN"); path != "" {
		saved, err := record.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		suts := Build(saved).Columns
		c, err := Compare(Side{Saved: saved, SUT: suts[0], Name: "last:" + suts[0]}, Side{Saved: saved, SUT: suts[len(suts)-1], Name: "last:" + suts[len(suts)-1]}, ConditionNames())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	random := newRandom(5)
	old := drawn(random, "virtual", 6, theArticle)
	new := drawn(random, "virtual", 6, changed(theArticle, func(l *lot) { l.cpuUS *= 1.12; l.perS *= 0.95 }))
	for _, saved := range []*record.Saved{old, new} {
		for i := range saved.Cells {
			l := saved.Cells[i].Load
			l.Histogram, _ = latencies(t, 2000, l.LatencyMS.P50, l.LatencyMS.P99)
		}
	}
	return compare(t, old, new)
}

func TestComparisonAsAPage(t *testing.T) {
	var out bytes.Buffer
	if err := WriteComparison(&out, "html", comparedSides(t), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	checkPage(t, page)
	if !strings.Contains(page, `class="whisker"`) || !strings.Contains(page, ">worse<") && !strings.Contains(page, "worse</td>") {
		t.Error("no interval, or no verdict, on the page")
	}
	var block struct {
		Ladder  ladderChart
		Latency latencyCharts
	}
	if err := json.Unmarshal([]byte(dataBlock(t, page)), &block); err != nil {
		t.Fatal(err)
	}
	if s := block.Ladder.Series; len(s) != 2 || s[0].Side != "old" || s[1].Side != "new" || len(block.Latency.Rungs) != 3 {
		t.Errorf("overlaid: %+v", s)
	}
}

// A limit that several SUTs share is drawn and named once; another one is not mixed with it.
func TestSharedCeilingsAreOne(t *testing.T) {
	list := oneOfEach([]ladderCeiling{
		{Label: "a: x: 200 worker threads", Color: 0, Y: values{2000, 2000}}, {Label: "b: 200 worker threads", Color: 1, Y: values{1990, 2010}},
		{Label: "c: 50 worker threads", Color: 2, Y: values{500, 500}}, {Label: "d: 200 worker threads", Color: 3, Y: values{4000, 4000}},
	})
	var got []string
	for _, c := range list {
		got = append(got, fmt.Sprint(c.Label, " ", c.Color))
	}
	if want := "2 SUTs: 200 worker threads -1, c: 50 worker threads 2, d: 200 worker threads 3"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}
