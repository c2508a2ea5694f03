package report

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func memoryOf(rss, committed int64, parts ...record.MemoryPart) *record.MemoryMap {
	m := &record.MemoryMap{RSSBytes: rss << 20, HeapCommittedBytes: committed << 20}
	for _, p := range parts {
		m.Parts = append(m.Parts, record.MemoryPart{Name: p.Name, Bytes: p.Bytes << 20})
	}
	return m
}

func TestMemorySentence(t *testing.T) {
	part := func(name string, mb int64) record.MemoryPart { return record.MemoryPart{Name: name, Bytes: mb} }
	idle := memoryOf(371, 256, part(record.MemoryHeap, 180), part(record.MemoryDirect, 8), part(record.MemoryStacks, 2), part(record.MemoryCode, 20), part(record.MemoryRest, 161))
	for want, after := range map[string]*record.CellMemory{
		"of +318 MB since idle (371 → 689), 210 is heap that G1 committed, 64 direct buffers, 24 malloc and rest, 20 thread stacks": {
			Before: idle, After: memoryOf(689, 512, part(record.MemoryHeap, 390), part(record.MemoryDirect, 72), part(record.MemoryStacks, 22), part(record.MemoryCode, 20), part(record.MemoryRest, 185))},
		"of +70 MB since idle (371 → 441), 76 is heap that was committed from the start and is in use now, 2 all else, while it gave back 8 direct buffers; at its peak it held 500": {
			Before: idle, After: memoryOf(441, 256, part(record.MemoryHeap, 256), part(record.MemoryStacks, 3), part(record.MemoryCode, 21), part(record.MemoryRest, 161)), PeakBytes: ptr(int64(500) << 20)},
		"its memory is as it was idle, 375 MB": {
			Before: idle, After: memoryOf(375, 256, part(record.MemoryHeap, 184), part(record.MemoryRest, 191))},
	} {
		c := &record.Cell{SUT: "virtual", Fork: 1, Connections: 1000, Round: 1, Status: "ok", Memory: after}
		saved := &record.Saved{Run: record.Run{Starts: []record.Start{
			{SUT: "virtual", Fork: 1, Connections: 100, Memory: memoryOf(1, 1)}, // of another rung
			{SUT: "virtual", Fork: 1, Connections: 1000, Memory: idle, JVM: &record.StartJVM{Collector: "G1"}},
		}}}
		if got := memorySentence(saved, c); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// insideRun is a run of one SUT on two JDKs that was looked into.
func insideRun(t *testing.T) *record.Saved {
	saved := openSaved(t)
	saved.Run.Experiment.Memory = true
	suts := saved.Run.Experiment.SUTs
	suts[0].Name, suts[0].Of, suts[1].Name, suts[1].Of = "virtual-jdk21", "virtual", "virtual-jdk25", "virtual"
	for i, old := range []string{"platform", "virtual"} {
		for j := range saved.Cells {
			c := &saved.Cells[j]
			if c.SUT != old {
				continue
			}
			c.SUT = suts[i].Name
			c.Memory = &record.CellMemory{Before: memoryOf(300, 256, record.MemoryPart{Name: record.MemoryHeap, Bytes: 100}), After: memoryOf(400, 300, record.MemoryPart{Name: record.MemoryHeap, Bytes: 180})}
			c.Pauses = record.NewPauses("gc.log", [2]float64{100, 110}, []record.Pause{{At: 101, MS: 2.5, Kind: "Young", Cause: "Normal"}, {At: 103.4, MS: 26.1, Kind: "Full", Cause: "\x1b[31mred"}})
		}
		saved.Run.Starts[i].SUT = suts[i].Name
	}
	saved.Run.Limits = map[string]map[string]string{
		"virtual-jdk21": {record.LimitJDK: "21.0.8", record.LimitCollector: "G1", record.LimitAllocator: "PooledByteBufAllocator"},
		"virtual-jdk25": {record.LimitJDK: "25.0.3", record.LimitCollector: "G1", record.LimitAllocator: "AdaptiveByteBufAllocator"},
	}
	saved.Run.Recordings = []record.Recording{
		{SUT: "virtual-jdk21", Fork: 1, Connections: 1000, File: "virtual-jdk21-1000.jfr", FlameGraph: "virtual-jdk21-1000-cpu.svg", CPUStacks: "virtual-jdk21-1000-cpu.folded", Samples: 1234,
			Without: &record.RecordingCost{ThroughputPerS: ptr(4937.0), CPUUSPerRequest: ptr(210.0)}, With: &record.RecordingCost{ThroughputPerS: ptr(4890.0), CPUUSPerRequest: ptr(224.0)},
			CPU:     []record.HotMethod{{Method: "sun.nio.ch.EPoll.wait", Weight: 100, Share: 0.081}},
			Pinned:  &record.PinnedThreads{Count: 12, TotalMS: 1200, LongestMS: 105, Stacks: []record.PinnedStack{{Frames: []string{"java.lang.Thread.sleep:509", "app.Pinned.in:38"}, Count: 12, TotalMS: 1200}}},
			Sockets: []record.SocketWait{{Peer: "127.0.0.1:8081", Count: 10, TotalMS: 1000, LongestMS: 130}}, GC: &record.RecordedPauses{Count: 2, TotalMS: 8, LongestMS: 5},
			Threads: &record.RecordedThreads{Active: 31, Peak: 33}, Unsure: []string{"3 stacks are cut"}},
		{SUT: "virtual-jdk25", Fork: 1, Connections: 1000, Failed: "no flight recorder: no jcmd in /jre: it is a JRE"},
	}
	return saved
}

func TestTableLooksInside(t *testing.T) {
	var out strings.Builder
	if err := Text(&out, Build(insideRun(t)), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"virtual-jdk21 | virtual-jdk25 differ in: allocator PooledByteBufAllocator | AdaptiveByteBufAllocator; JDK 21.0.8 | 25.0.3",
		"virtual-jdk21 at 1000: of +100 MB since idle (300 → 400), 80 is heap that G1 committed, 20 all else",
		"virtual-jdk21 at 1000 with the flight recorder: throughput 4937 → 4890 (-1.0 %), CPU/request 210 → 224 (+6.7 %); virtual threads pinned 12 times, 1200.0 ms in all; busiest in sun.nio.ch.EPoll.wait (8.1 % of 1234 samples)",
		"virtual-jdk25 at 1000 with the flight recorder: n/a (no flight recorder: no jcmd in /jre: it is a JRE)",
		"longest GC pause, ms",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestExplainLooksInside(t *testing.T) {
	text := explain(t, insideRun(t), 0)
	for _, want := range []string{
		"GC: 4 pauses in 2 windows, 57.2 ms in all (0.3 % of the time); half took at most 2.5 ms, 99 % at most 26.1; the longest 26.1 ms, 3.4 s after its window opened (Full: \\x1b[31mred)",
		"GC pauses by length: ≤ 5 ms: 2, ≤ 50 ms: 2",
		"memory: of +100 MB since idle",
		"    heap                100.0    180.0    +80.0  ████████████████████████\n",
		"    RSS                 300.0    400.0   +100.0\n",
		"▸ virtual-jdk21 at 1000 connections\n",
		"· 12 times, 1200.0 ms: java.lang.Thread.sleep:509 ← app.Pinned.in:38",
		"socket waits of 10 ms or more: 127.0.0.1:8081 10 times, 100.0 ms on average, 130.0 at most",
		"platform threads: 31 at most in the window, 33 since the JVM started",
		"note: 3 stacks are cut",
		"n/a (no flight recorder: no jcmd in /jre: it is a JRE)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The page has a section on what was seen inside the JVMs, with the flame graph
// that lies in the run directory, and says why another is not there.
func TestPageLooksInside(t *testing.T) {
	saved := insideRun(t)
	saved.Path = t.TempDir()
	if err := os.WriteFile(filepath.Join(saved.Path, "virtual-jdk21-1000-cpu.folded"), []byte(flameStacks), 0o644); err != nil {
		t.Fatal(err)
	}
	saved.Run.Recordings[0].AllocationStacks = "virtual-jdk21-1000-alloc.folded" // which nobody wrote
	for i := range saved.Cells {
		if c := &saved.Cells[i]; c.SUT == "virtual-jdk25" && c.Connections == 3000 {
			c.Exceptions = map[string]int64{"Reset <- <b>IOException</b>": 3, "Timeout": 40}
		}
	}
	page := string(render(t, "html", saved, TextOptions{}))
	checkPage(t, page)
	text := html.UnescapeString(page)
	for _, want := range []string{
		`<section id="inside"`, "Of +100 MB since idle (300 → 400), 80 is heap that G1 committed, 20 all else.", "window's end", "+80.0",
		"GC pauses by length", "≤ 50 ms", "the longest 26.1 ms, 3.4 s after its window opened",
		"12 times, 1200.0 ms in all, longest 105.0 ms", "java.lang.Thread.sleep:509 ← app.Pinned.in:38", "EPoll.wait", `data-flames="0"`, "org.apache.tomcat.Poller.run",
		"The flame graph is not shown: virtual-jdk21-1000-alloc.folded: no such file or directory", "n/a: no flight recorder: no jcmd in /jre: it is a JRE",
		"virtual-jdk21 | virtual-jdk25 differ in: allocator",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<b>IOException") {
		t.Error("an exception's text is markup")
	}
	in := newInside(saved, Build(saved))
	if len(in.Exceptions) != 3 || in.Exceptions[2].Name != "webflux" || in.Exceptions[0].Cause != "Timeout" || !in.Exceptions[0].First || in.Exceptions[1].First || in.Exceptions[0].Counts[2] == "" || in.Exceptions[0].Counts[0] != "" {
		t.Errorf("exceptions %+v", in.Exceptions)
	}
}

// The bars of a waterfall join: each begins where the one before ended.
func TestMemoryStepsJoin(t *testing.T) {
	part := func(name string, mb int64) record.MemoryPart { return record.MemoryPart{Name: name, Bytes: mb} }
	from := memoryOf(300, 256, part(record.MemoryHeap, 200), part(record.MemoryDirect, 60), part(record.MemoryRest, 40))
	to := memoryOf(380, 256, part(record.MemoryHeap, 300), part(record.MemoryDirect, 40), part(record.MemoryRest, 40))
	fall := waterfall{Changes: record.MemoryGrowth(from, to), RSS: record.MemoryChange{From: from.RSSBytes, To: to.RSSBytes}, Peak: 400 << 20}
	rung := memoryRung(Block{Memory: []waterfall{fall}}, func(i int) htmlColumn { return htmlColumn{"s", i} })
	var got []string
	for _, s := range rung.Falls[0].Steps {
		got = append(got, fmt.Sprintf("%s %s %s %g+%g", s.Kind, s.Name, s.Figure, s.Left, s.Width))
	}
	want := []string{"idle idle 300.0 0+75", "up heap +100.0 75+25", "down direct buffers -20.0 95+5", "now window's end 380.0 0+95", "peak peak 400.0 0+100"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Pauses a hundred times shorter than the longest share a step.
func TestPauseStepsAreFew(t *testing.T) {
	var list []record.Pause
	for _, ms := range []float64{0.04, 0.3, 0.9, 60, 90} {
		list = append(list, record.Pause{MS: ms})
	}
	rung := pauseRung(Block{Pauses: []pauseStory{{Count: 5, Buckets: record.NewPauses("", [2]float64{}, list).Histogram}, {Column: 1, Text: "no pause"}}}, func(i int) htmlColumn { return htmlColumn{"s", i} })
	var got []string
	for _, b := range rung.GC[0].Bars {
		got = append(got, fmt.Sprintf("%s: %d", b.Label, b.Count))
	}
	if want := "≤ 1 ms: 3, ≤ 2 ms: 0, ≤ 5 ms: 0, ≤ 10 ms: 0, ≤ 20 ms: 0, ≤ 50 ms: 0, ≤ 100 ms: 2"; strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
	if !rung.GC[1].Quiet || rung.GC[1].Bars != nil {
		t.Errorf("%+v", rung.GC[1])
	}
}

// Text and Markdown show the calibration, short, as a table of its own.
func TestCalibrationInText(t *testing.T) {
	saved := openSaved(t)
	p50 := record.Latency{P50: 100.4, P99: 103.9}
	for _, n := range []int{100, 1000} {
		saved.Run.Calibration = append(saved.Run.Calibration, record.Cell{SUT: record.Calibration, Connections: n, Status: "ok",
			Load: &record.LoadResult{ThroughputPerS: ptr(float64(n) * 9.9), LatencyMS: &p50}})
	}
	for format, want := range map[string]string{"table": "│ 100 connections │ 1000 connections", "markdown": "| calibration, no SUT | 100 connections | 1000 connections |"} {
		out := string(render(t, format, saved, TextOptions{Width: 100}))
		if !strings.Contains(out, want) || !strings.Contains(out, "9900") || !strings.Contains(out, "103.9") {
			t.Errorf("%s has no calibration:\n%s", format, out)
		}
	}
	var brief strings.Builder
	if err := Text(&brief, Build(saved), TextOptions{Brief: true}); err != nil || strings.Contains(brief.String(), "calibration") {
		t.Errorf("the live table has a calibration: %v", err)
	}
}
