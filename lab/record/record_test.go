package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loomlab/loadgen"
	"loomlab/probes"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// histogram holds n times the value us, for each pair.
func histogram(t *testing.T, pairs ...int64) string {
	t.Helper()
	h := hdr.New(1, 3_600_000_000, 3)
	for i := 0; i < len(pairs); i += 2 {
		if err := h.RecordValues(pairs[i+1], pairs[i]); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := h.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// sampleCell has ok answers of us microseconds each in ten seconds.
func sampleCell(t *testing.T, sut string, fork, round int, ok, us int64) Cell {
	t.Helper()
	encoded := histogram(t, ok, us)
	h, err := DecodeHistogram(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return Cell{
		SUT: sut, Fork: fork, Connections: 100, Round: round, Status: "ok", Started: noon,
		Load: &loadgen.Result{
			Mode: "closed", Started: noon.Add(time.Duration(round) * 20 * time.Second), Seconds: 10,
			ThroughputPerS: ptr(float64(ok) / 10), LatencyMS: FromHistogram(h), Histogram: encoded,
			Requests: loadgen.Requests{OK: ok, Drained: loadgen.Drained{OK: 100}},
		},
		Probes: map[string]*probes.Window{TierSUT: {
			CPUS: ptr(2.0), Cores: ptr(0.2), CPUUSPerRequest: ptr(2e6 / float64(ok)),
			RSSBytes: &probes.Extent{Mean: 300 * mb, Max: 400 * mb, End: int64(350+round) * mb},
			Threads:  &probes.LivePeak{Live: 40, Peak: int64(40 + round)},
			Unavailable: map[string]string{
				"platform_threads": "not a JVM",
			},
		}},
	}
}

func create(t *testing.T, parent string) *Dir {
	t.Helper()
	d, err := Create(parent, "article", noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestARunReadsBackAsWritten(t *testing.T) {
	parent := t.TempDir()
	d := create(t, parent)
	if got, want := d.ID(), "20260102T120000Z-article"; got != want {
		t.Errorf("ID = %q, want %q", got, want)
	}
	if info, err := os.Stat(d.Path()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory mode = %v, %v; want 0700", info.Mode(), err)
	}
	run := Run{Status: "running", Experiment: Experiment{Name: "article", Load: Load{Duration: Duration(10 * time.Second)}}, Started: noon}
	if err := d.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	run.Status, run.Schema, run.ID = "ok", Schema, d.ID()
	if err := d.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	cells := []Cell{sampleCell(t, "a", 1, 1, 1000, 100_000), sampleCell(t, "b", 1, 1, 900, 110_000)}
	for _, c := range cells {
		if err := d.AppendCell(c); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{d.Path(), filepath.Join(d.Path(), "run.json"), filepath.Join(parent, "last")} {
		saved, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(saved.Run, run) {
			t.Errorf("%s: run = %+v\nwant %+v", path, saved.Run, run)
		}
		if !reflect.DeepEqual(saved.Cells, cells) || len(saved.Warnings) > 0 {
			t.Errorf("%s: cells differ, or warnings: %v", path, saved.Warnings)
		}
	}
}

func TestJSONDocumentReadsBack(t *testing.T) {
	saved := &Saved{Run: Run{Schema: Schema, ID: "x"}, Cells: []Cell{sampleCell(t, "a", 1, 1, 1000, 100_000)}}
	path := filepath.Join(t.TempDir(), "doc.json")
	var first bytes.Buffer
	if err := saved.WriteJSON(&first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if err := again.WriteJSON(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("a document that is read and written again differs")
	}
}

func TestRunsOfTheSameSecondDoNotCollide(t *testing.T) {
	parent := t.TempDir()
	var ids []string
	for range 3 {
		d := create(t, parent)
		if err := d.WriteRun(Run{}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID())
		last, err := os.Readlink(filepath.Join(parent, "last"))
		if err != nil || last != d.ID() {
			t.Errorf("last -> %q, %v; want %q", last, err, d.ID())
		}
	}
	if want := "20260102T120000Z-article 20260102T120000Z-article-2 20260102T120000Z-article-3"; strings.Join(ids, " ") != want {
		t.Errorf("ids = %v", ids)
	}
}

func TestFindTakesNamesAndPaths(t *testing.T) {
	parent := t.TempDir()
	if _, err := Find(parent, "last"); !errors.Is(err, ErrNoRun) {
		t.Errorf("no run yet: %v, want ErrNoRun", err)
	}
	d := create(t, parent)
	if err := d.WriteRun(Run{}); err != nil {
		t.Fatal(err)
	}
	find := func(name, want string) {
		t.Helper()
		got, err := Find(parent, name)
		if err != nil || got != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	last := filepath.Join(parent, "last")
	find("", last)
	find("last", last)
	find(d.ID(), d.Path())
	find(d.Path(), d.Path())
	find(filepath.Join(d.Path(), "run.json"), filepath.Join(d.Path(), "run.json"))
	if _, err := Find(parent, "nonsense"); !errors.Is(err, ErrNoRun) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Find(nonsense): %v", err)
	}
	// Without the link, the newest by name is the last.
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	find("last", d.Path())
}

func TestTornLastLineIsSkippedAndReported(t *testing.T) {
	whole, err := json.Marshal(sampleCell(t, "a", 1, 1, 1000, 100_000))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut += 97 {
		cells, warnings, err := parseCells(strings.NewReader(string(whole) + "\n" + string(whole[:cut])))
		if err != nil || len(cells) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "torn") {
			t.Fatalf("cut at %d: %d cells, warnings %q, %v", cut, len(cells), warnings, err)
		}
	}
	cells, warnings, err := parseCells(strings.NewReader("null\n\x00junk\n" + string(whole)))
	if err != nil || len(cells) != 1 || len(warnings) != 2 {
		t.Errorf("junk before a whole last line without newline: %d cells, %q, %v", len(cells), warnings, err)
	}
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	check := func(body, want string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", body, err, want)
		}
	}
	check(`{"schema": 2, "machine": "a new kind"}`, "written by a newer loomlab: its schema is 2, this version reads up to 1")
	check(`{}`, "no schema")
	check(`[]`, "not a run record")
	check(``, "not a run record")
}

func TestNonFiniteFiguresCostNoCell(t *testing.T) {
	d := create(t, t.TempDir())
	if err := d.WriteRun(Run{}); err != nil {
		t.Fatal(err)
	}
	c := sampleCell(t, "a", 1, 1, 1000, 100_000)
	c.Load.ThroughputPerS = ptr(math.NaN())
	c.Load.LatencyMS.Stddev = math.Inf(1)
	c.Probes[TierSUT].CPUS = ptr(math.NaN())
	if err := d.AppendCell(c); err != nil {
		t.Fatal(err)
	}
	saved, err := Open(d.Path())
	if err != nil || len(saved.Cells) != 1 {
		t.Fatalf("%d cells, %v", len(saved.Cells), err)
	}
	got := saved.Cells[0]
	if got.Load.ThroughputPerS != nil || !math.IsNaN(got.Load.LatencyMS.Stddev) || math.IsNaN(got.Load.LatencyMS.Mean) || got.Probes[TierSUT].CPUS != nil {
		t.Errorf("non-finite figures came back: %+v", got.Load)
	}
	if got.Load.Requests.OK != 1000 {
		t.Errorf("ok = %d, want 1000: finite figures must stay", got.Load.Requests.OK)
	}
	for _, field := range []string{"load.throughput_per_s", "load.latency_ms.stddev", "probes.sut.cpu_s"} {
		if got.Unavailable[field] == "" {
			t.Errorf("no reason for %s in %v", field, got.Unavailable)
		}
	}
}

func TestHlogIsReadByHdrHistogram(t *testing.T) {
	d := create(t, t.TempDir())
	for round, sut := range []string{"mvc, \"virtual\"\nx", "b"} {
		if err := d.AppendCell(sampleCell(t, sut, 1, round+1, 1000, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(filepath.Join(d.Path(), "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log := hdr.NewHistogramLogReader(file)
	for _, tag := range []string{`mvc__"virtual"_x/f1/c100/r1`, "b/f1/c100/r2"} {
		h, err := log.NextIntervalHistogram()
		if err != nil || h == nil {
			t.Fatalf("%s: %v, %v", tag, h, err)
		}
		if h.Tag() != tag || h.TotalCount() != 1000 || !h.ValuesAreEquivalent(h.Max(), 100_000) {
			t.Errorf("tag %q count %d max %d, want %q 1000 100000", h.Tag(), h.TotalCount(), h.Max(), tag)
		}
	}
}

func TestAppendingFromManyGoroutines(t *testing.T) {
	d := create(t, t.TempDir())
	cell := sampleCell(t, "a", 1, 1, 10, 100_000)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				c := cell
				c.Fork, c.Round = i, j
				if err := errors.Join(d.AppendCell(c), d.AppendPoint(Point{SUT: "a", Fork: i, Round: j})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(d.WriteRun(Run{}), d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	saved, err := Open(d.Path())
	if err != nil || len(saved.Cells) != 80 || len(saved.Warnings) > 0 {
		t.Errorf("%d cells, %v, %v", len(saved.Cells), saved.Warnings, err)
	}
	series, err := os.ReadFile(filepath.Join(d.Path(), "series.jsonl"))
	if got := bytes.Count(series, []byte("\n")); err != nil || got != 80 {
		t.Errorf("%d points, %v, want 80", got, err)
	}
	if err := d.AppendPoint(Point{}); err == nil {
		t.Error("a closed directory took a point")
	}
}

func TestPoolMergesHistogramsAndWeighsCosts(t *testing.T) {
	// A fast round of 9000 answers and a slow one of 1000: p50 is the fast one's,
	// and the throughput is all answers over all seconds.
	fast, slow := sampleCell(t, "a", 1, 1, 9000, 100_000), sampleCell(t, "a", 1, 2, 1000, 900_000)
	slow.Load.Seconds, slow.Probes[TierSUT].Cores = 30, ptr(0.04)
	pooled := Pool([]*Cell{&fast, &slow})
	check := func(name string, want float64) {
		t.Helper()
		m, ok := MetricNamed(name)
		if !ok {
			t.Fatalf("no metric %s", name)
		}
		if got := m.Of(pooled); got == nil || math.Abs(*got-want) > want*0.001 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	check("throughput", 250)                   // 10 000 ÷ 40 s, not the mean of 900 and 33
	check("throughput_with_drain", 10200./40.) // 100 came late in each
	check("p50_ms", 100)
	check("p99_ms", 900)
	check("sut_cpu_us", 400)     // 4 s ÷ 10 000
	check("sut_cpu_cores", 0.08) // 0.2 for 10 s and 0.04 for 30 s
	check("rss_mb", 352)         // the last round's
	check("os_threads_peak", 42) // the highest
	if fast.Load.Requests.OK != 9000 {
		t.Error("pooling changed a round")
	}
	slow.Load.Histogram = "torn"
	if p50, _ := MetricNamed("p50_ms"); p50.Of(Pool([]*Cell{&fast, &slow})) != nil {
		t.Error("a percentile was made up without one of the histograms")
	}
}

func TestSummariseTakesTheMedianOverForks(t *testing.T) {
	var cells []*Cell
	for fork, ok := range []int64{1000, 3000, 2000} {
		for round := range 2 {
			c := sampleCell(t, "a", fork+1, round+1, ok, 100_000)
			cells = append(cells, &c)
		}
	}
	failed := sampleCell(t, "a", 4, 1, 9000, 100_000)
	failed.Status = "failed"
	cells = append(cells, &failed)
	throughput, _ := MetricNamed(Throughput)
	got := Summarise(cells, throughput)
	want := &Summary{Values: []float64{100, 300, 200}, Forks: []int{1, 2, 3}, Median: 200, Min: 100, Max: 300, CV: ptr(0.5)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if Summarise([]*Cell{&failed}, throughput) != nil {
		t.Error("a failed cell was summarised")
	}
	if got := Over([]float64{4, 1, 2, 3}); got.Median != 2.5 {
		t.Errorf("median of 4 values = %v, want 2.5", got.Median)
	}
}

func TestMetricsOfNothing(t *testing.T) {
	empty := []*Cell{nil, {}, {Load: &loadgen.Result{}}, {Status: "ok", Load: &loadgen.Result{}, Probes: map[string]*probes.Window{TierSUT: nil, TierLoad: {}}}}
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] {
			t.Errorf("two metrics are called %s", m.Name)
		}
		seen[m.Name] = true
		for i, c := range empty {
			if v := m.Of(c); v != nil && *v != 0 {
				t.Errorf("%s of empty cell %d = %v", m.Name, i, *v)
			}
			if c != nil && m.Why(c) == "" {
				t.Errorf("%s gives no reason", m.Name)
			}
		}
	}
	if Pool(nil) != nil || Over(nil) != nil {
		t.Error("something was made of nothing")
	}
}

func TestWhyFindsTheReason(t *testing.T) {
	c := sampleCell(t, "a", 1, 1, 1000, 100_000)
	c.Unavailable = map[string]string{"exceptions": "the SUT has no /lab/exceptions", "probes.load": "gone", "probes.sut.gc": "perf data off"}
	check := func(name, want string) {
		t.Helper()
		m, _ := MetricNamed(name)
		if got := m.Why(&c); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	check("platform_threads_peak", "not a JVM")
	check("exceptions", "the SUT has no /lab/exceptions")
	check("load_cpu_us", "gone")
	check("gc_ms", "perf data off")
	check("heap_after_gc_mb", "not measured")
}

func TestAtKeepsTheLaterAttempt(t *testing.T) {
	saved := &Saved{}
	for i, ok := range []int64{100, 200, 300} {
		saved.Cells = append(saved.Cells, sampleCell(t, "a", 1, 1+i%2, ok, 100_000))
	}
	cells := saved.At("a", Rung{Connections: 100})
	if got := fmt.Sprint(len(cells), cells[0].Load.Requests.OK, cells[1].Load.Requests.OK); got != "2 300 200" {
		t.Errorf("got %s, want 2 300 200", got)
	}
}
