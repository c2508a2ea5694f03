package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
)

// find returns a cell of a table by rung, metric and SUT.
func find(t *testing.T, table *Table, connections int, metric, sut string) Cell {
	t.Helper()
	for _, block := range table.Rungs {
		for _, row := range block.Rows {
			if block.Rung.Connections == connections && row.Metric.Name == metric {
				return row.Cells[slices.Index(table.Columns, sut)]
			}
		}
	}
	t.Fatalf("no %s at %d", metric, connections)
	return Cell{}
}

func notesOf(table *Table, numbers []int) string {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, table.Notes[n-1].String())
	}
	return strings.Join(texts, "\n")
}

func TestRungsAreTheUnionOfAllSUTs(t *testing.T) {
	ok := func(sut string, n int) record.Cell {
		c := openSaved(t).Cells[0]
		c.SUT, c.Connections = sut, n
		return c
	}
	failed := record.Cell{SUT: "b", Connections: 500, Fork: 1, Round: 1, Status: "failed", Reason: "exit status 3"}
	saved := &record.Saved{Cells: []record.Cell{ok("a", 100), ok("a", 500), ok("a", 1000), ok("b", 100), failed, ok("b", 1000), ok("b", 2000)}}
	saved.Run.Experiment.Load.Connections = []int{100, 500, 1000}
	table := Build(saved)
	if len(table.Rungs) != 4 {
		t.Fatalf("%d rungs, want 4", len(table.Rungs))
	}
	for _, block := range table.Rungs {
		for _, row := range block.Rows {
			if len(row.Cells) != 2 {
				t.Errorf("%s, %s: %d cells, want 2", block.Title, row.Label(), len(row.Cells))
			}
		}
	}
	missed, lost := find(t, table, 500, "throughput", "b"), find(t, table, 2000, "throughput", "a")
	if got := missed.tokens(record.Metric{}); got[0] != "–" || !strings.Contains(notesOf(table, missed.Notes), "failed: exit status 3") {
		t.Errorf("failed cell shows %q, notes %q", got, notesOf(table, missed.Notes))
	}
	if got := lost.tokens(record.Metric{}); got[0] != "–" || !strings.Contains(notesOf(table, lost.Notes), "not measured") {
		t.Errorf("missing cell shows %q, notes %q", got, notesOf(table, lost.Notes))
	}
	for _, n := range []int{500, 2000} {
		if r := find(t, table, n, "throughput_ratio", "b"); r.Points[0].Value != nil {
			t.Errorf("a ratio at %d without both sides", n)
		}
	}
}

func TestPublishedIsComparedTheWayItWasCounted(t *testing.T) {
	saved := openSaved(t)
	table := Build(saved)
	own, drain := find(t, table, 1000, "throughput", "platform"), find(t, table, 1000, "throughput_with_drain", "platform")
	if own.hasPublished() || fmt.Sprint(drain.Published) != "[1997 1946]" {
		t.Errorf("published %v beside our figure, %v beside the one with drain", own.Published, drain.Published)
	}
	saved.Run.Experiment.Source.Counting = "window"
	table = Build(saved)
	if got := find(t, table, 1000, "throughput", "platform").Published; fmt.Sprint(got) != "[1997 1946]" {
		t.Errorf("counted inside the window: published %v beside our figure", got)
	}
	for _, row := range table.Rungs[0].Rows {
		if row.Metric.Name == record.ThroughputWithDrain && !row.Hidden {
			t.Error("a row with drain that nothing is compared with")
		}
	}
}

func TestPublishedAboveACeilingIsExplained(t *testing.T) {
	explained := func(p record.Published, sut record.SUT, want string) {
		t.Helper()
		saved := openSaved(t)
		sut.Name, p.SUT = "x", "x"
		saved.Run.Experiment.SUTs = []record.SUT{sut}
		saved.Run.Experiment.Published = []record.Published{p}
		saved.Run.Experiment.Load.Connections = []int{p.Connections}
		saved.Cells = nil
		table := Build(saved)
		if got := notesOf(table, find(t, table, p.Connections, "throughput_with_drain", "x").PublishedNotes); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	workers := record.SUT{Limits: record.Limits{Workers: 200}}
	explained(record.Published{Connections: 3000, Throughput: []float64{2270, 2312}}, workers,
		"published 2270 and 2312/s, above the ceiling of 200 worker threads ÷ 0.1 s = 2000/s: about 3000 answers that came after the 10 s window were counted too, 3000 ÷ 10 s = 300/s too many")
	explained(record.Published{Connections: 1000, Throughput: []float64{1997, 1946}}, workers, "")
	explained(record.Published{Connections: 200, Throughput: []float64{16000}}, record.SUT{},
		"published 16000/s, above the ceiling of 200 connections ÷ 0.1 s = 2000/s: answers counted after the 10 s window explain about 200 ÷ 10 s = 20/s of it, not the rest")
	explained(record.Published{Connections: 200, Throughput: []float64{16000}}, record.SUT{Calls: ptr(0.0)}, "")
}

func TestDoubtsReachTheTable(t *testing.T) {
	table := Build(openSaved(t))
	check := func(connections int, metric, sut string, want ...string) {
		t.Helper()
		notes := notesOf(table, find(t, table, connections, metric, sut).Notes)
		for _, text := range want {
			if !strings.Contains(notes, text) {
				t.Errorf("%s of %s at %d: notes %q lack %q", metric, sut, connections, notes, text)
			}
		}
	}
	check(1000, "throughput", "virtual", "engine-late", "lag p99 6.1 ms / lag p99 5.8 ms", "a core of its own")
	check(3000, "p99_ms", "virtual", "p99-few-cycles", "22 cycles")
	check(3000, "exceptions", "webflux", "Connection reset = 39")
	check(100, "heap_after_gc_mb", "virtual", "n/a: no collection yet")
}

// withForks repeats the saved run in n forks, fork k with k times the answers.
func withForks(t *testing.T, n int) *record.Saved {
	t.Helper()
	saved := openSaved(t)
	saved.Run.Experiment.Forks = n
	once := slices.Clone(saved.Cells)
	for fork := 2; fork <= n; fork++ {
		for _, c := range once {
			if c.Load != nil {
				load := *c.Load
				load.Requests.OK *= int64(fork)
				c.Load = &load
			}
			c.Fork = fork
			saved.Cells = append(saved.Cells, c)
		}
	}
	return saved
}

func TestFiguresOfSeveralForksAreMedians(t *testing.T) {
	check := func(forks int, throughput, count, spread, legend string) {
		t.Helper()
		table := Build(withForks(t, forks))
		m, _ := record.MetricNamed(record.Throughput)
		if got := strings.Join(find(t, table, 1000, "throughput", "platform").tokens(m), " "); got != throughput {
			t.Errorf("%d forks show %q, want %q", forks, got, throughput)
		}
		c := find(t, table, 1000, "forks", "platform")
		if got := orElse(c.Text, c.Points[0].token(record.Metric{})); got != count {
			t.Errorf("%d forks are called %q, want %q", forks, got, count)
		}
		if got := find(t, table, 1000, "throughput_cv", "platform").Points[0].token(record.Metric{Unit: "%"}); got != spread {
			t.Errorf("%d forks vary by %s %%, want %s", forks, got, spread)
		}
		if got := strings.Join(table.Legend, "\n"); !strings.Contains(got, legend) {
			t.Errorf("%d forks: legend %s", forks, got)
		}
	}
	check(3, "3920 1960…5880", "3, interval needs 6", "50.0", "median of 3 forks with pooled rounds, then their lowest…highest; a 95 % interval needs 6 forks")
	check(6, "6860 1960…11761", "6", "53.5", "median of 6 forks with pooled rounds, then its 95 % interval")
	check(9, "9800 3920…15681", "9", "54.8", "median of 9 forks")
}

func TestSummariesAreLinesOfTheCSV(t *testing.T) {
	lines := func(forks int) []map[string]string {
		records, err := csv.NewReader(bytes.NewReader(render(t, "csv", withForks(t, forks), TextOptions{}))).ReadAll()
		if err != nil {
			t.Fatal(err) // a line with another number of fields is an error too
		}
		var list []map[string]string
		for _, r := range records[1:] {
			line := map[string]string{}
			for i, key := range records[0] {
				line[key] = r[i]
			}
			if line["status"] == "summary" && line["metric"] == "throughput" && line["sut"] == "platform" && line["connections"] == "1000" {
				list = append(list, line)
			}
		}
		return list
	}
	if one := lines(1); len(one) != 0 {
		t.Errorf("one fork is summarised: %v", one)
	}
	three, six := lines(3), lines(6)
	if len(three) != 1 || three[0]["interval_low"] != "" || three[0]["reason"] != "an interval needs 6 forks" || three[0]["forks"] != "3" {
		t.Errorf("three forks: %v", three)
	}
	if len(six) != 1 || six[0]["interval_low"] != "1960.1" || six[0]["interval_high"] != "11760.6" || six[0]["value"] != "6860.35" {
		t.Errorf("six forks: %v", six)
	}
}

func TestOutliersHaveAFootnote(t *testing.T) {
	saved := openSaved(t)
	saved.Run.Experiment.Forks = 6
	once := slices.Clone(saved.Cells)
	for fork := 2; fork <= 6; fork++ {
		for _, c := range once {
			if c.Load != nil && fork == 4 && c.SUT == "platform" {
				load := *c.Load
				load.Requests.OK /= 2
				c.Load = &load
			}
			c.Fork = fork
			saved.Cells = append(saved.Cells, c)
		}
	}
	table := Build(saved)
	if notes := notesOf(table, find(t, table, 1000, "throughput", "platform").Notes); !strings.Contains(notes, "outlier: fork 4 has 980, the median is 1960") {
		t.Errorf("notes: %q", notes)
	}
	if notes := notesOf(table, find(t, table, 1000, "throughput", "webflux").Notes); strings.Contains(notes, "outlier") {
		t.Errorf("equal forks have an outlier: %q", notes)
	}
}

func TestZeroAndMissingStayApart(t *testing.T) {
	saved := openSaved(t)
	for i := range saved.Cells {
		c := &saved.Cells[i]
		c.Exceptions = nil
		c.Unavailable = map[string]string{"exceptions": "the SUT has no /lab/exceptions"}
		if p := c.Probes[record.TierSUT]; p != nil {
			p.PlatformThreads, p.GC, p.HeapAfterGCBytes, p.HeapCommittedBytes = nil, nil, nil, nil
			p.Unavailable = map[string]string{"gc": "not a JVM", "platform_threads": "not a JVM", "heap_committed_bytes": "not a JVM", "heap_after_gc_bytes": "not a JVM"}
		}
	}
	legend := strings.Join(Build(saved).Legend, "\n")
	for _, want := range []string{
		"zero in every cell: non-2xx answers, failed connects",
		"n/a in every cell: in-app exceptions (the SUT has no /lab/exceptions)",
		"n/a in every cell: RSS minus heap, heap committed, heap after GC, GC pauses, GC pause time, longest GC pause, platform threads live, platform threads peak (not a JVM)",
	} {
		if !strings.Contains(legend, want+"\n") && !strings.HasSuffix(legend, want) {
			t.Errorf("legend lacks %q:\n%s", want, legend)
		}
	}
}

func TestRatioNamesASharedCPU(t *testing.T) {
	table := Build(openSaved(t))
	if notes := notesOf(table, find(t, table, 1000, "throughput_ratio", "virtual").Notes); !strings.Contains(notes, "limited by CPU") {
		t.Errorf("notes: %q", notes)
	}
	if c := find(t, table, 100, "throughput_ratio", "virtual"); len(c.Notes) > 0 {
		t.Errorf("client-limited ratio has notes: %q", notesOf(table, c.Notes))
	}
}

func TestNumbersHaveSensibleDigits(t *testing.T) {
	check := func(v float64, unit, want string) {
		t.Helper()
		if got := number(v, record.Metric{Unit: unit}); got != want {
			t.Errorf("%v %s = %s, want %s", v, unit, got, want)
		}
	}
	check(9037.4, "req/s", "9037")
	check(14.26, "req/s", "14.3")
	check(1319.4, "ms", "1319")
	check(111.08, "ms", "111.1")
	check(0.456, "ms", "0.46")
	check(1.234, "cores", "1.23")
	check(214.6, "µs", "215")
	check(1e12, "", "1000000000000")
	check(0, "ms", "0")
}

func TestWhatIsStillToComeIsNoFailure(t *testing.T) {
	saved := openSaved(t)
	saved.Run.Status, saved.Run.Starts, saved.Cells = "running", saved.Run.Starts[:1], saved.Cells[:1]
	table := Build(saved)
	for _, metric := range []string{"throughput", "throughput_ratio", "p50_ms"} {
		c := find(t, table, 1000, metric, "webflux")
		if got := strings.Join(c.tokens(record.Metric{}), ""); strings.Trim(got, "·") != "" || len(c.Notes) > 0 {
			t.Errorf("%s shows %q with notes %q", metric, got, notesOf(table, c.Notes))
		}
	}
	if got := table.Starts.Rows[0].Cells[2].Text; got != "·" {
		t.Errorf("a SUT that has not started shows %q", got)
	}
}
