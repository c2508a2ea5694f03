package jvm

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestParsePause(t *testing.T) {
	const head = "[1764518400500ms][12500000000ns] "
	tests := []struct {
		line string
		want *record.Pause // without its time; nil: no pause
	}{
		{"GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.412ms", &record.Pause{MS: 3.412, Kind: "Young", Cause: "Normal, G1 Evacuation Pause", BeforeBytes: 24 << 20, AfterBytes: 4 << 20}},
		{"GC(8) Pause Young (Concurrent Start) (Metadata GC Threshold) 30M->9M(256M) 6.101ms", &record.Pause{MS: 6.101, Kind: "Young", Cause: "Concurrent Start, Metadata GC Threshold", BeforeBytes: 30 << 20, AfterBytes: 9 << 20}},
		{"GC(9) Pause Remark 50M->50M(256M) 2.100ms", &record.Pause{MS: 2.1, Kind: "Remark", BeforeBytes: 50 << 20, AfterBytes: 50 << 20}},
		{"GC(9) Pause Cleanup 50M->50M(256M) 0.031ms", &record.Pause{MS: 0.031, Kind: "Cleanup", BeforeBytes: 50 << 20, AfterBytes: 50 << 20}},
		{"GC(1) Pause Full (System.gc()) 12M->3M(64M) 14.020ms", &record.Pause{MS: 14.02, Kind: "Full", Cause: "System.gc()", BeforeBytes: 12 << 20, AfterBytes: 3 << 20}},
		{"GC(0) Pause Young (Allocation Failure) 8704K->1088K(31680K) 5.200ms", &record.Pause{MS: 5.2, Kind: "Young", Cause: "Allocation Failure", BeforeBytes: 8704 << 10, AfterBytes: 1088 << 10}},
		{"GC(3) Y: Pause Mark Start 0.011ms", &record.Pause{MS: 0.011, Kind: "Mark Start"}},
		{"GC(3) y: Pause Relocate Start 0.006ms", &record.Pause{MS: 0.006, Kind: "Relocate Start"}},
		{"GC(3) Pause Mark End 0.012ms", &record.Pause{MS: 0.012, Kind: "Mark End"}},
		{"GC(5) Pause Init Mark (unload classes) 0.123ms", &record.Pause{MS: 0.123, Kind: "Init Mark", Cause: "unload classes"}},
		{"GC(5) Pause Final Update Refs 0.045ms", &record.Pause{MS: 0.045, Kind: "Final Update Refs"}},
		{"GC(9) Concurrent Mark Cycle 20.301ms", nil},
		{"GC(7)   Pre Evacuate Collection Set: 0.2ms", nil},
		{"GC(0) Pause Full (Ergonomics)", nil},
		{"Using G1", nil},
		{"", nil},
	}
	for _, tt := range tests {
		p, ok := parsePause(head+tt.line, true)
		if ok != (tt.want != nil) {
			t.Errorf("%q: %+v, %v", tt.line, p, ok)
			continue
		}
		if !ok {
			continue
		}
		if want := 12.5 - p.MS/1000; math.Abs(p.At-want) > 1e-9 {
			t.Errorf("%q began at %v, want %v", tt.line, p.At, want)
		}
		if wall, _ := parsePause(head+tt.line, false); math.Abs(wall.At-(1764518400.5-p.MS/1000)) > 1e-6 {
			t.Errorf("%q by the wall clock: %v", tt.line, wall.At)
		}
		p.At = 0
		if p != *tt.want {
			t.Errorf("%q: %+v, want %+v", tt.line, p, *tt.want)
		}
	}
}

// Windows take what was written since the one before, also of a line that was half written then.
func TestGCLogByWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), GCLogName("virtual", "42"))
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func(text string) { fmt.Fprint(log, text) }
	pause := func(second float64, ms string) string {
		return fmt.Sprintf("[0ms][%.0fns] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) %sms\n", second*1e9, ms)
	}
	if OpenGCLog(filepath.Dir(path), "virtual", []int{7}) != nil || OpenGCLog(filepath.Dir(path), "other", []int{42}) != nil {
		t.Error("found the log of another process")
	}
	g := OpenGCLog(filepath.Dir(path), "virtual", []int{7, 42})
	if g == nil {
		t.Fatal("no log")
	}
	write("[0ms][0ns] Using G1\n" + pause(9, "5.000") + pause(11, "2.000") + pause(12, "8.000"))
	half := pause(13, "3.000")
	write(half[:20])
	first, err := g.Window(10, 20)
	if err != nil || first.Count != 2 || first.TotalMS != 10 || *first.MaxMS != 8 || *first.P50MS != 2 || len(first.List) != 2 || first.File != "gc-virtual-42.log" {
		t.Errorf("first: %+v, %v", first, err)
	}
	write(half[20:] + pause(31, "1.000"))
	second, err := g.Window(30, 40)
	if err != nil || second.Count != 1 || *second.MaxMS != 1 {
		t.Errorf("second: %+v, %v", second, err)
	}
	third, err := g.Window(40, 50)
	if err != nil || third.Count != 0 || third.MaxMS != nil || third.List == nil {
		t.Errorf("a window without pauses: %+v, %v", third, err)
	}
	if len(g.pauses) != 0 {
		t.Errorf("keeps %d pauses of windows that are over", len(g.pauses))
	}
}

// Real logs of every collector: each line about a pause that has its length is read.
func TestRealGCLogs(t *testing.T) {
	files, err := filepath.Glob("../../testdata/gclog/*.log")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pauses, before := 0, 0.0
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			p, ok := parsePause(line, true)
			if want := strings.Contains(line, "Pause ") && strings.HasSuffix(line, "ms"); ok != want {
				t.Errorf("%s: %q: %+v, %v", filepath.Base(file), line, p, ok)
			}
			if !ok {
				continue
			}
			pauses++
			if p.MS < 0 || p.MS > 1000 || p.At < before || strings.ContainsAny(p.Kind, "():") {
				t.Errorf("%s: %q: %+v", filepath.Base(file), line, p)
			}
			before = p.At
		}
		if pauses < 3 {
			t.Errorf("%s: %d pauses", filepath.Base(file), pauses)
		}
	}
}
