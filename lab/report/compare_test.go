package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"loomlab/lab/record"
)

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 19)) }

func compare(t *testing.T, old, new *record.Saved, ignore ...string) *Comparison {
	t.Helper()
	c, err := Compare(side(old, "base"), side(new, "new"), ignore)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Comparison) row(t *testing.T, connections int, metric string) ComparedRow {
	t.Helper()
	for _, cell := range c.Cells {
		for _, r := range cell.Rows {
			if cell.Connections == connections && r.Name == metric {
				return r
			}
		}
	}
	t.Fatalf("no %s at %d", metric, connections)
	return ComparedRow{}
}

// found are the rows with a verdict that says that something differs.
func (c *Comparison) found(primary bool) []string {
	var list []string
	for _, cell := range c.Cells {
		for _, r := range cell.Rows {
			if r.Primary == primary && (r.Verdict == Better || r.Verdict == Worse || r.Verdict == Differs) {
				list = append(list, fmt.Sprintf("%s at %d is %s", r.Name, cell.Connections, r.Verdict))
			}
		}
	}
	return list
}

// TestAlikeSidesDoNotDiffer draws 1000 comparisons of six forks with six others
// from one stock of forks. A false alarm is a comparison that finds anything.
func TestAlikeSidesDoNotDiffer(t *testing.T) {
	random := newRandom(1)
	stock := drawn(random, "virtual", 40, theArticle)
	perFork := len(theArticle)
	pick := func(forks []int) *record.Saved {
		side := &record.Saved{Run: stock.Run}
		for i, from := range forks {
			for _, c := range stock.Cells[from*perFork : (from+1)*perFork] {
				c.Fork = i + 1
				side.Cells = append(side.Cells, c)
			}
		}
		return side
	}
	const trials = 1000
	primaries, others := 0, 0
	for range trials {
		forks := random.Perm(40)
		c := compare(t, pick(forks[:6]), pick(forks[6:12]))
		if len(c.found(true)) > 0 {
			primaries++
		}
		if len(c.found(false)) > 0 {
			others++
		}
	}
	t.Logf("of %d comparisons of alike sides %d found a primary metric, %d another one", trials, primaries, others)
	if primaries > trials*5/100 || others > trials*5/100 {
		t.Errorf("false alarms in %d and %d of %d comparisons, want at most 5 %%", primaries, others, trials)
	}
}

// TestPlantedDifferencesAreFound makes 10 % more CPU per request, which costs as
// much throughput where the CPU is the limit.
func TestPlantedDifferencesAreFound(t *testing.T) {
	missed := 0
	const trials = 100
	for seed := range uint64(trials) {
		random := newRandom(seed)
		slower := changed(theArticle, func(l *lot) {
			l.cpuUS *= 1.1
			if l.verdict == record.VerdictCPU {
				l.perS /= 1.1
			}
		})
		c := compare(t, drawn(random, "virtual", 6, theArticle), drawn(random, "virtual", 6, slower))
		for _, want := range []struct {
			connections int
			metric      string
		}{{100, sutCPU}, {1000, sutCPU}, {3000, record.Throughput}} {
			if r := c.row(t, want.connections, want.metric); r.Verdict != Worse || !r.Primary {
				missed++
			}
		}
		if r := c.row(t, 100, record.Throughput); r.Verdict != NoPower {
			t.Errorf("throughput at 100: %s", r.Verdict)
		}
	}
	t.Logf("%d of %d planted differences missed", missed, 3*trials)
	if missed > 3*trials*5/100 {
		t.Errorf("%d of %d planted differences missed", missed, 3*trials)
	}
}

// apart are two runs of n forks whose primary metrics do not overlap at all.
func apart(n, m int) (old, new *record.Saved) {
	random := newRandom(7)
	return drawn(random, "virtual", n, theArticle[:1]), drawn(random, "virtual", m, changed(theArticle[:1], func(l *lot) { l.cpuUS *= 2; l.rssMB *= 2 }))
}

func TestTooFewForksGetNoVerdict(t *testing.T) {
	check := func(n, m int, cpu, rss string) {
		t.Helper()
		old, new := apart(n, m)
		c := compare(t, old, new)
		if r := c.row(t, 100, sutCPU); r.verdictText() != cpu {
			t.Errorf("%d against %d: CPU per request is %q, want %q", n, m, r.verdictText(), cpu)
		}
		if r := c.row(t, 100, "rss_mb"); r.verdictText() != rss {
			t.Errorf("%d against %d: RSS is %q, want %q", n, m, r.verdictText(), rss)
		}
		if min(n, m) >= 4 {
			return
		}
		var out bytes.Buffer
		for _, format := range CompareFormats {
			if err := WriteComparison(&out, format, c, TextOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		said := strings.ReplaceAll(scripts.ReplaceAllString(out.String(), ""), "--fail-if-worse", "")
		for _, word := range []string{"faster", "slower", "better", "worse"} {
			if strings.Contains(said, word) {
				t.Errorf("%d against %d forks say %q", n, m, word)
			}
		}
	}
	check(1, 1, "insufficient, needs 4", "insufficient, needs 6")
	check(3, 3, "insufficient, needs 4", "insufficient, needs 6")
	check(9, 3, "insufficient, needs 4", "insufficient, needs 6")
	check(4, 4, "worse", "insufficient, needs 6")
	check(5, 4, "worse", "insufficient, needs 6")
	check(6, 6, "worse", "worse")
}

// TestNoiseIsNotFlagged compares forty cells of pure noise.
func TestNoiseIsNotFlagged(t *testing.T) {
	var lots []lot
	for i := range 40 {
		lots = append(lots, lot{connections: 100 + i, verdict: record.VerdictCPU, perS: 5000, p50: 200, cpuUS: 200, rssMB: 400, cv: 0.05, cpuCV: 0.05})
	}
	for seed := range uint64(20) {
		random := newRandom(seed)
		c := compare(t, drawn(random, "a", 6, lots), drawn(random, "a", 6, lots))
		if all := append(c.found(true), c.found(false)...); len(all) > 2 {
			t.Errorf("seed %d: %q", seed, all)
		}
	}
}

func TestRegimesChooseThePrimaryMetric(t *testing.T) {
	check := func(old, new, want string) {
		t.Helper()
		random := newRandom(3)
		run := func(verdict string) *record.Saved {
			return drawn(random, "a", 6, changed(theArticle[:1], func(l *lot) { l.verdict = verdict }))
		}
		var primaries []string
		for _, r := range compare(t, run(old), run(new)).Cells[0].Rows {
			if r.Primary {
				primaries = append(primaries, r.Name)
			}
		}
		if got := strings.Join(primaries, " "); got != want {
			t.Errorf("%s against %s: primary %q, want %q", old, new, got, want)
		}
	}
	check("client-limited", "client-limited", "sut_cpu_us p50_minus_delay_ms")
	check("worker-threads", "client-pool", "sut_cpu_us")
	check("cpu", "cpu", "throughput")
	check("hot-thread", "cpu", "throughput")
	check("worker-threads", "client-limited", "throughput") // one is at the timer, the other is not
	check("cpu", "client-limited", "throughput")
	check("load-engine", "cpu", "")
	check("downstream", "downstream", "")
}

func TestTailsAreRankedAtEqualRateOnly(t *testing.T) {
	random := newRandom(5)
	rate := func(saved *record.Saved, p99 float64) *record.Saved {
		for i := range saved.Cells {
			c := saved.Cells[i]
			if c.Connections != 100 {
				continue
			}
			load, latency := *c.Load, *c.Load.LatencyMS
			latency.P99 = p99 + random.Float64()
			load.LatencyMS, load.Mode = &latency, "open"
			c.Load, c.Connections, c.Rate = &load, 0, 700
			saved.Cells = append(saved.Cells, c)
		}
		return saved
	}
	c := compare(t, rate(drawn(random, "a", 6, theArticle), 120), rate(drawn(random, "a", 6, theArticle), 150))
	for _, cell := range c.Cells {
		for _, r := range cell.Rows {
			switch {
			case r.Name != record.P99:
			case cell.Rate != 0 && (r.Verdict != Worse || !r.Primary):
				t.Errorf("p99 at equal rate: %s, primary %v", r.Verdict, r.Primary)
			case cell.Rate == 0 && r.Verdict != NoPower:
				t.Errorf("p99 at %d connections: %s", cell.Connections, r.Verdict)
			}
		}
	}
}

// TestMissingRungsStayVisible: 100, 500, 1000 against 100, 500 (failed), 1000, 2000.
func TestMissingRungsStayVisible(t *testing.T) {
	random := newRandom(11)
	at := func(rungs ...int) []lot {
		var lots []lot
		for _, n := range rungs {
			lots = append(lots, lot{connections: n, verdict: record.VerdictCPU, perS: 5000, p50: 200, cpuUS: 200, rssMB: 400, cv: 0.03, cpuCV: 0.03})
		}
		return lots
	}
	old, new := drawn(random, "a", 6, at(100, 500, 1000)), drawn(random, "a", 6, at(100, 500, 1000, 2000))
	for i := range new.Cells {
		if c := &new.Cells[i]; c.Connections == 500 {
			c.Status, c.Reason, c.Load = "failed", "the SUT was killed, \"signal 9\"", nil
		}
	}
	c := compare(t, old, new)
	if len(c.Cells) != 4 {
		t.Fatalf("%d cells, want 4", len(c.Cells))
	}
	lost, extra := c.Cells[1], c.Cells[3]
	if lost.NewMissing != `failed: the SUT was killed, "signal 9"` || lost.OldMissing != "" || extra.OldMissing != "not a rung of this run" {
		t.Errorf("missing: %q and %q", lost.NewMissing, extra.OldMissing)
	}
	for _, cell := range []ComparedCell{lost, extra} {
		for _, r := range cell.Rows {
			if r.Verdict != Missing || r.Relative != nil || r.P != nil || r.Reason == "" {
				t.Errorf("%s at %d: %+v", r.Name, cell.Connections, r)
			}
		}
	}
	if m := c.Means[0]; m.Count != 2 || m.Of != 4 || m.Ratio == nil {
		t.Errorf("mean %+v, want over 2 of 4", m)
	}
	if r := c.row(t, 2000, "rss_mb"); r.Verdict != Missing {
		t.Errorf("RSS at 2000: %s", r.Verdict)
	}
	for _, format := range CompareFormats {
		var out bytes.Buffer
		if err := WriteComparison(&out, format, c, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if format == "csv" {
			if _, err := csv.NewReader(&out).ReadAll(); err != nil { // unequal numbers of fields are an error
				t.Error(err)
			}
			continue
		}
		for _, want := range []string{"signal 9", "not a rung of this run"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
	}
	if text := strings.Join(c.meanLines(), "\n"); !strings.Contains(text, "over 2 of 4 cells") {
		t.Errorf("means: %s", text)
	}
}

// TestZeroBaselines: errors 0 → 5, GC pauses 0 → 3, the heap on one side only.
func TestZeroBaselines(t *testing.T) {
	random := newRandom(13)
	old, new := drawn(random, "a", 6, theArticle[2:]), drawn(random, "a", 6, theArticle[2:])
	for i := range old.Cells {
		o, n := &old.Cells[i], &new.Cells[i]
		n.Load.Requests.Errors.Reset = 5
		*o.Probes[record.TierSUT].GC = probesGC(0)
		*n.Probes[record.TierSUT].GC = probesGC(3)
		o.Probes[record.TierSUT].HeapAfterGCBytes = nil
		o.Probes[record.TierSUT].Unavailable = map[string]string{"heap_after_gc_bytes": "no collection yet"}
	}
	c := compare(t, old, new)
	for _, metric := range []string{"errors", "gc_count"} {
		r := c.row(t, 3000, metric)
		if r.Relative != nil || r.Low != nil || r.Absolute == nil || *r.Absolute <= 0 || r.Verdict != Worse || !strings.HasPrefix(r.fields()[2], "+") {
			t.Errorf("%s: %+v, shown as %q", metric, r, r.fields())
		}
	}
	if r := c.row(t, 3000, record.HeapAfterGC); r.Verdict != Missing || r.Reason != "old: no collection yet" {
		t.Errorf("heap: %s, %s", r.Verdict, r.Reason)
	}
	for _, format := range CompareFormats {
		var out bytes.Buffer
		if err := WriteComparison(&out, format, c, TextOptions{}); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		for _, bad := range []string{"NaN", "Inf", "∞"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s has %s", format, bad)
			}
		}
	}
}

func TestFailIfWorseNeedsTheWholeInterval(t *testing.T) {
	check := func(forks int, factor float64, worse, undecided int) {
		t.Helper()
		random := newRandom(17)
		old := drawn(random, "a", forks, theArticle)
		new := drawn(random, "a", forks, changed(theArticle, func(l *lot) {
			l.cpuUS *= factor
			if l.verdict == record.VerdictCPU {
				l.perS /= factor
			}
		}))
		w, u := compare(t, old, new).FailIfWorse(0.05)
		if len(w) != worse || len(u) != undecided {
			t.Errorf("%d forks, factor %v: worse %q, undecided %q", forks, factor, w, u)
		}
		for _, line := range u {
			if !strings.Contains(line, "needs 6") {
				t.Errorf("undecided without a reason: %s", line)
			}
		}
	}
	check(6, 1.2, 3, 0)
	check(6, 1.06, 0, 0) // worse, but not surely by 5 %
	check(6, 0.8, 0, 0)  // better
	check(5, 2, 0, 3)
	check(1, 2, 0, 3)
}

// TestBenchLinesGiveTheSameP reads the benchmark lines of both sides back as
// benchstat does and tests those.
func TestBenchLinesGiveTheSameP(t *testing.T) {
	random := newRandom(23)
	old, new := drawn(random, "my SUT", 6, theArticle), drawn(random, "my SUT", 6, theArticle)
	c := compare(t, old, new)
	values := func(saved *record.Saved, unit string) map[string][]float64 {
		var out bytes.Buffer
		if err := Bench(&out, saved); err != nil {
			t.Fatal(err)
		}
		found := map[string][]float64{}
		for r := benchfmt.NewReader(&out, "bench"); r.Scan(); {
			switch result := r.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Error(result)
			case *benchfmt.Result:
				if v, ok := result.Value(unit); ok {
					found[string(result.Name)] = append(found[string(result.Name)], v)
				}
			}
		}
		return found
	}
	for unit, metric := range map[string]string{"req/s": record.Throughput, "sut-cpu-sec/op": sutCPU, "RSS-bytes": "rss_mb"} {
		a, b := values(old, unit), values(new, unit)
		for _, l := range theArticle {
			name := fmt.Sprintf("Loomlab/sut=my_SUT/mode=closed/conns=%d", l.connections)
			if len(a[name]) != 6 || len(b[name]) != 6 {
				t.Fatalf("%s: %d and %d values of %s", name, len(a[name]), len(b[name]), unit)
			}
			got := record.Compare(record.Over(a[name]), record.Over(b[name]))
			want := c.row(t, l.connections, metric)
			if math.Abs(*got.P-*want.P) > 1e-9 || math.Abs(*got.Relative-*want.Relative) > 1e-4 {
				t.Errorf("%s at %d: p %v and change %v by the lines, %v and %v by compare", metric, l.connections, *got.P, *got.Relative, *want.P, *want.Relative)
			}
		}
	}
}

func TestSUTsOfOneRunAreCompared(t *testing.T) {
	random := newRandom(29)
	both := drawn(random, "a", 6, theArticle[:1])
	other := drawn(random, "b", 6, changed(theArticle[:1], func(l *lot) { l.cpuUS *= 0.7 }))
	other.Run.Experiment.SUTs[0].Args = []string{"--spring.threads.virtual.enabled=true"}
	both.Run.Experiment.SUTs = append(both.Run.Experiment.SUTs, other.Run.Experiment.SUTs...)
	both.Run.Starts, both.Cells = append(both.Run.Starts, other.Run.Starts...), append(both.Cells, other.Cells...)
	c, err := Compare(Side{both, "a", "last:a"}, Side{both, "b", "last:b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.row(t, 100, sutCPU).Verdict; len(c.Cells) != 1 || got != Better || len(c.Conditions) != 1 || c.Conditions[0].Effect != Subject {
		t.Errorf("%d cells, CPU %s, conditions %v", len(c.Cells), got, c.Conditions)
	}
	if _, err := Compare(Side{both, "a", ""}, Side{both, "c", ""}, nil); err == nil || !strings.Contains(err.Error(), `no SUT "c"; it has a, b`) {
		t.Errorf("an unknown SUT: %v", err)
	}
	if c, err := Compare(Side{both, "a", ""}, Side{both, "", ""}, nil); err != nil || len(c.Cells) != 1 || len(c.found(true)) > 0 {
		t.Errorf("a SUT against itself: %v, %v", c, err)
	}
}

func TestCompareJSONReadsBack(t *testing.T) {
	random := newRandom(31)
	c := compare(t, drawn(random, "a", 6, theArticle), drawn(random, "a", 6, theArticle))
	var out bytes.Buffer
	if err := WriteComparison(&out, "json", c, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Cells) != 3 || *back.Cells[0].Rows[0].P != *c.Cells[0].Rows[0].P || back.Cells[0].Rows[0].Old.Median != c.Cells[0].Rows[0].Old.Median {
		t.Errorf("read back: %+v", back.Cells[0].Rows[0])
	}
}

func TestCompareGolden(t *testing.T) {
	random := newRandom(37)
	slower := changed(theArticle, func(l *lot) {
		l.cpuUS *= 1.1
		if l.verdict == record.VerdictCPU {
			l.perS /= 1.1
		}
	})
	old, new := drawn(random, "virtual", 6, theArticle), drawn(random, "virtual", 6, append(slower, lot{connections: 5000, verdict: record.VerdictCPU, perS: 5000, p50: 900, cpuUS: 250, rssMB: 1500, cv: 0.03, cpuCV: 0.03}))
	for i := range new.Run.Starts {
		new.Run.Starts[i].JVM.Version = "26.0.0"
	}
	new.Cells[2].Doubts = []record.Doubt{{Kind: "engine-late", Evidence: "lag p99 6.1 ms"}}
	new.Cells[0].Load.Requests.Errors.Reset = 3
	c := compare(t, old, new)
	for format, name := range map[string]string{"table": "compare.txt", "markdown": "compare.md", "csv": "compare.csv"} {
		var out bytes.Buffer
		if err := WriteComparison(&out, format, c, TextOptions{Width: 120}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
	}
}

// TestMemoryAfterOtherRungsIsNotJudged: RSS at 1000 after 100, and alone.
func TestMemoryAfterOtherRungsIsNotJudged(t *testing.T) {
	random := newRandom(47)
	c := compare(t, drawn(random, "a", 6, theArticle), drawn(random, "a", 6, theArticle[1:]))
	if r := c.row(t, 1000, "rss_mb"); r.Verdict != NotJudged || !strings.Contains(r.Reason, "does not come back") {
		t.Errorf("RSS: %s, %s", r.Verdict, r.Reason)
	}
	if r := c.row(t, 1000, sutCPU); r.Verdict == NotJudged {
		t.Errorf("CPU per request: %s, %s", r.Verdict, r.Reason)
	}
}
