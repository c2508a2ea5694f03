package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// timeCharts are the series of the SUT processes, a second a point or thinned.
type timeCharts struct {
	Panels    []timePanel   `json:"panels"`
	Processes []timeProcess `json:"processes"`
	Note      string        `json:"-"` // what is not shown, and why
}

// timePanel is one strip of charts over the same time; its lines are those of a
// process with these names.
type timePanel struct {
	Title string     `json:"title"`
	Unit  string     `json:"unit"`
	Lines []timeLine `json:"lines"`
}

type timeLine struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// timePanels are what is drawn, from the top down.
var timePanels = []timePanel{
	{"Throughput", "req/s", []timeLine{{"ok", "answers"}, {"bad", "errors and non-2xx"}}},
	{"Latency", "ms", []timeLine{{"p99", "p99"}, {"p50", "p50"}}},
	{"CPU by tier", "cores", []timeLine{{"cpu_sut", "SUT"}, {"cpu_load", "load engine"}, {"cpu_downstream", "downstream"}}},
	{"Memory of the SUT", "MB", []timeLine{{"rss", "RSS"}, {"heap", "heap committed"}, {"live", "heap after GC"}}},
	{"Threads of the SUT", "threads", []timeLine{{"threads", "OS threads"}, {"platform", "platform threads"}}},
	{"Garbage collection", "ms of pause per s", []timeLine{{"gc", "pauses"}}},
	{"In flight in the downstream", "requests", []timeLine{{"flight", "peak of each second"}}},
}

// timeProcess is one fork of a SUT.
type timeProcess struct {
	SUT     string            `json:"sut"`
	Color   int               `json:"color"`
	Fork    int               `json:"fork"`
	Step    int               `json:"step"` // seconds a point
	Lines   map[string]values `json:"lines"`
	Windows []timeSpan        `json:"windows"` // the measured parts
	Pauses  []timePause       `json:"pauses"`  // of the collector, in the windows; the longest ones
}

// timePause is a garbage collection that stopped the process.
type timePause struct {
	At   float64 `json:"at"` // seconds since the process's first sample
	MS   float64 `json:"ms"`
	What string  `json:"what"`
}

// chartPauses is how many pauses of a process a picture shows at most.
const chartPauses = 300

// timeSpan is a window in seconds since the process's first sample.
type timeSpan struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Rung  string `json:"rung"` // "1000", or "equal rate"
	Round int    `json:"round"`
}

const (
	// seriesPoints is how many points of a series a page holds at most.
	seriesPoints = 600
	// pagePoints bounds them over all processes, to keep the page below 2 MB.
	pagePoints = 12_000
)

// newTimeCharts shows the first fork of each SUT first, and further forks as far
// as the page may grow.
func newTimeCharts(saved *record.Saved, t *Table) timeCharts {
	traces := map[processKey]*trace{}
	err := saved.Series(func(p *record.Point) {
		key := processKey{p.SUT, p.Fork}
		if traces[key] == nil {
			traces[key] = &trace{}
		}
		traces[key].add(p)
	})
	charts := timeCharts{Processes: []timeProcess{}}
	if err != nil {
		charts.Note = "the series could not be read: " + escape(err.Error())
	}
	var keys []processKey
	for key := range traces {
		if slices.Contains(t.Columns, key.sut) && len(traces[key].seconds) > 1 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b processKey) int {
		if a.fork != b.fork {
			return a.fork - b.fork
		}
		return slices.Index(t.Columns, a.sut) - slices.Index(t.Columns, b.sut)
	})
	room, left := pagePoints, 0
	for _, key := range keys {
		process := traces[key].chart()
		points := len(process.Lines["ok"])
		if points > room {
			left++
			continue
		}
		room -= points
		process.Pauses = chartedPauses(saved, key, traces[key].begin)
		process.SUT, process.Fork, process.Color = escape(key.sut), key.fork, slices.Index(t.Columns, key.sut)
		charts.Processes = append(charts.Processes, process)
	}
	if left > 0 {
		charts.Note = fmt.Sprintf("%s more in series.jsonl are left out to keep this page small", phrase.Count(left, "process"))
	}
	charts.panels()
	return charts
}

// chartedPauses are the longest of a process, in order of time.
func chartedPauses(saved *record.Saved, key processKey, begin float64) []timePause {
	pauses := []timePause{}
	for i := range saved.Cells {
		c := &saved.Cells[i]
		if c.SUT != key.sut || c.Fork != key.fork || c.Pauses == nil {
			continue
		}
		for _, p := range c.Pauses.List {
			if at := p.At - begin; at >= 0 {
				pauses = append(pauses, timePause{math.Round(1000*at) / 1000, math.Round(1000*p.MS) / 1000, pauseKind(p)})
			}
		}
	}
	slices.SortFunc(pauses, func(a, b timePause) int { return cmp.Compare(b.MS, a.MS) })
	pauses = pauses[:min(len(pauses), chartPauses)]
	slices.SortFunc(pauses, func(a, b timePause) int { return cmp.Compare(a.At, b.At) })
	return pauses
}

// panels keeps those in which any process has a line.
func (c *timeCharts) panels() {
	c.Panels = []timePanel{}
	for _, panel := range timePanels {
		lines := slices.DeleteFunc(slices.Clone(panel.Lines), func(l timeLine) bool {
			return !slices.ContainsFunc(c.Processes, func(p timeProcess) bool { return p.Lines[l.Name].any() })
		})
		if len(lines) > 0 {
			c.Panels = append(c.Panels, timePanel{panel.Title, panel.Unit, lines})
		}
	}
	for i := range c.Processes {
		for name, v := range c.Processes[i].Lines {
			if !v.any() {
				delete(c.Processes[i].Lines, name)
			}
		}
	}
}

type processKey struct {
	sut  string
	fork int
}

// trace gathers the points of one process by the second.
type trace struct {
	begin   float64 // clock of the first sample
	last    float64 // of the newest
	seconds []second
	cpu     map[string]counter // by tier
	gc      counter
}

// second is what was seen in one second; what was not is NaN.
type second struct {
	figures map[string]float64
	rung    string // of the window it belongs to, "" outside
	round   int
}

// counter is a cumulative figure as it was last.
type counter struct {
	at, value float64
	known     bool
}

// counterSpan is the least time over which a rate is taken: CPU time is counted in
// ticks of 10 ms, and a window's edges are sampled beside the second's own samples.
const counterSpan = 0.5

// rate is what the counter grew by a second, NaN where that cannot be said.
func (c *counter) rate(at, value float64) float64 {
	before := *c
	if before.known && at-before.at < counterSpan && value >= before.value {
		return math.NaN()
	}
	*c = counter{at, value, true}
	if !before.known || value < before.value {
		return math.NaN() // a process that started anew
	}
	return (value - before.value) / (at - before.at)
}

func (t *trace) add(p *record.Point) {
	at := p.At
	switch {
	case p.Sample != nil:
		at = p.Sample.At
		if t.begin == 0 {
			t.begin = at
		}
		t.last = max(t.last, at)
	case at == 0:
		at = t.last
	}
	if t.begin == 0 || at < t.begin {
		return // before the first sample nothing says when
	}
	s := t.second(int(at - t.begin))
	if p.Phase == "window" {
		s.rung, s.round = windowRung(p), p.Round
	}
	t.load(s, p)
	t.process(s, p)
	if p.InFlightMax != nil {
		s.figures["flight"] = float64(*p.InFlightMax)
	}
}

func windowRung(p *record.Point) string {
	if p.Connections == 0 { // an open loop, which the points do not tell the rate of
		return "equal rate"
	}
	return strconv.Itoa(p.Connections)
}

// mostSeconds is a day: a clock that jumped must not fill the memory.
const mostSeconds = 86_400

func (t *trace) second(i int) *second {
	i = min(i, mostSeconds)
	for len(t.seconds) <= i {
		t.seconds = append(t.seconds, second{figures: map[string]float64{}})
	}
	return &t.seconds[i]
}

func (t *trace) load(s *second, p *record.Point) {
	l := p.Load
	if l == nil || l.Seconds <= 0 {
		return
	}
	s.figures["ok"] = float64(l.OK) / l.Seconds
	s.figures["bad"] = float64(l.Non2xx+l.Errors) / l.Seconds
	if l.LatencyMS != nil {
		s.figures["p50"], s.figures["p99"] = l.LatencyMS.P50, l.LatencyMS.P99
	}
}

func (t *trace) process(s *second, p *record.Point) {
	if p.Sample == nil {
		return
	}
	if t.cpu == nil {
		t.cpu = map[string]counter{}
	}
	if p.Sample.CPUS != nil {
		c := t.cpu[p.Tier]
		if rate := c.rate(p.Sample.At, *p.Sample.CPUS); !math.IsNaN(rate) {
			s.figures["cpu_"+p.Tier] = rate
		}
		t.cpu[p.Tier] = c
	}
	if p.Tier != record.TierSUT {
		return
	}
	gauge := func(name string, v *int64, unit float64) {
		if v != nil {
			s.figures[name] = float64(*v) / unit
		}
	}
	const mb = 1 << 20
	gauge("rss", p.Sample.RSSBytes, mb)
	gauge("threads", p.Sample.Threads, 1)
	j := p.Sample.JVM
	if j == nil {
		return
	}
	gauge("heap", j.HeapCommittedBytes, mb)
	gauge("live", j.HeapAfterGCBytes, mb)
	gauge("platform", j.ThreadsLive, 1)
	paused := 0.0
	for _, gc := range j.GC {
		if !gc.Concurrent {
			paused += gc.MS
		}
	}
	if rate := t.gc.rate(p.Sample.At, paused); len(j.GC) > 0 && !math.IsNaN(rate) {
		s.figures["gc"] = rate
	}
}

// chart thins the seconds to what a page holds.
func (t *trace) chart() timeProcess {
	step := (len(t.seconds) + seriesPoints - 1) / seriesPoints
	p := timeProcess{Step: step, Lines: map[string]values{}, Windows: t.windows()}
	n := (len(t.seconds) + step - 1) / step
	for _, panel := range timePanels {
		for _, line := range panel.Lines {
			p.Lines[line.Name] = gaps(n)
		}
	}
	for i := range n {
		group := t.seconds[i*step : min((i+1)*step, len(t.seconds))]
		for name := range p.Lines {
			p.Lines[name][i] = thin(name, group)
		}
	}
	return p
}

// thin joins the seconds of one point: rates by their mean, gauges by the highest,
// and percentiles, which no arithmetic can join, by those of the second with the
// highest p99.
func thin(name string, group []second) float64 {
	joined, n := math.NaN(), 0.0
	worst := -1.0
	for _, s := range group {
		v, ok := s.figures[name]
		if !ok {
			continue
		}
		switch name {
		case "p50", "p99":
			if s.figures["p99"] > worst {
				worst, joined = s.figures["p99"], v
			}
		case "ok", "bad", "gc", "cpu_sut", "cpu_load", "cpu_downstream":
			if n++; n == 1 {
				joined = 0
			}
			joined += (v - joined) / n
		default:
			if math.IsNaN(joined) || v > joined {
				joined = v
			}
		}
	}
	return joined
}

// windows are the runs of seconds of one window.
func (t *trace) windows() []timeSpan {
	spans := []timeSpan{}
	for i, s := range t.seconds {
		if s.rung == "" {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].Rung == s.rung && spans[n-1].Round == s.round && spans[n-1].To >= i-1 {
			spans[n-1].To = i
			continue
		}
		spans = append(spans, timeSpan{i, i, s.rung, s.round})
	}
	return spans
}
