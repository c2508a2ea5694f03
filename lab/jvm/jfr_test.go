package jvm

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
)

const jfrPrinted = `{
  "recording": {
    "events": [{
      "type": "jdk.ExecutionSample",
      "values": {
        "startTime": "2026-11-30T16:00:05.123456789Z",
        "sampledThread": {"osName": "Thread-1", "virtual": false},
        "stackTrace": {"truncated": false, "frames": [
          {"method": {"type": {"classLoader": null, "name": "java\/util\/HashMap", "package": {"name": "java\/util"}}, "name": "hash", "descriptor": "(Ljava\/lang\/Object;)I", "hidden": false}, "lineNumber": 338, "bytecodeIndex": 9, "type": "Inlined"},
          {"method": {"type": {"name": "app\/Handler$$Lambda\/0x00007f1a2c0a4c00"}, "name": "run"}, "lineNumber": -1, "type": "JIT compiled"}]},
        "state": "STATE_RUNNABLE"
      }
    }, {
      "type": "jdk.ObjectAllocationSample",
      "values": {"startTime": "2026-11-30T16:00:06Z", "objectClass": {"name": "[B"}, "weight": 4096,
        "stackTrace": {"truncated": true, "frames": [{"method": {"type": {"name": "app\/Handler"}, "name": "read"}, "lineNumber": 7}]}}
    }, {
      "type": "jdk.VirtualThreadPinned",
      "values": {"startTime": "2026-11-30T16:00:07+00:00", "duration": "PT0.1005S",
        "stackTrace": {"truncated": false, "frames": [
          {"method": {"type": {"name": "java\/lang\/VirtualThread"}, "name": "parkOnCarrierThread"}, "lineNumber": 689},
          {"method": {"type": {"name": "java\/lang\/Thread"}, "name": "sleep"}, "lineNumber": 509},
          {"method": {"type": {"name": "app\/PinnedController"}, "name": "inSynchronized"}, "lineNumber": 38}]}}
    }, {
      "type": "jdk.VirtualThreadPinned",
      "values": {"startTime": "2026-11-30T15:59:59Z", "duration": "PT1S", "stackTrace": null}
    }, {
      "type": "jdk.GCPhasePause", "values": {"startTime": "2026-11-30T16:00:08Z", "duration": "PT0.004S", "gcId": 3, "name": "GC Pause"}
    }, {
      "type": "jdk.SocketRead", "values": {"startTime": "2026-11-30T16:00:08Z", "duration": "PT0.1S", "host": "", "address": "127.0.0.1", "port": 8081, "timeout": "PT0S", "bytesRead": 100, "stackTrace": null}
    }, {
      "type": "jdk.JavaThreadStatistics", "values": {"startTime": "2026-11-30T16:00:09Z", "activeCount": 31, "daemonCount": 27, "accumulatedCount": 40, "peakCount": 33}
    }]
  }
}
`

func TestFindingsOfARecording(t *testing.T) {
	from := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	f := newFindings(from, from.Add(10*time.Second))
	if err := eachJFREvent(strings.NewReader(jfrPrinted), func(e jfrEvent) error { f.add(e); return nil }); err != nil {
		t.Fatal(err)
	}
	var r record.Recording
	f.into(&r)
	if r.Samples != 1 || len(r.CPU) != 1 || r.CPU[0] != (record.HotMethod{Method: "java.util.HashMap.hash", Weight: 1, Share: 1}) {
		t.Errorf("CPU: %d samples, %+v", r.Samples, r.CPU)
	}
	if len(r.Allocation) != 1 || r.Allocation[0] != (record.HotMethod{Method: "byte[], in app.Handler.read", Weight: 4096, Share: 1}) {
		t.Errorf("allocation: %+v", r.Allocation)
	}
	p := r.Pinned
	if p.Count != 1 || p.TotalMS != 100.5 || p.LongestMS != 100.5 || len(p.Stacks) != 1 ||
		strings.Join(p.Stacks[0].Frames, " ") != "java.lang.Thread.sleep:509 app.PinnedController.inSynchronized:38" {
		t.Errorf("pinned, of which one is outside the window: %+v", p)
	}
	if *r.GC != (record.RecordedPauses{Count: 1, TotalMS: 4, LongestMS: 4}) || len(r.Sockets) != 1 || r.Sockets[0] != (record.SocketWait{Peer: "127.0.0.1:8081", Count: 1, TotalMS: 100, LongestMS: 100}) {
		t.Errorf("GC %+v, sockets %+v", r.GC, r.Sockets)
	}
	if *r.Threads != (record.RecordedThreads{Active: 31, Peak: 33}) || len(r.Unsure) != 1 {
		t.Errorf("threads %+v, unsure %q", r.Threads, r.Unsure)
	}
	var names []string
	boxes, depth := flameBoxes(f.cpu)
	for _, b := range boxes {
		names = append(names, b.node.Name)
	}
	if got := strings.Join(names, " > "); depth != 3 || got != "all > app.Handler$$Lambda.run > java.util.HashMap.hash" {
		t.Errorf("flame graph: %s", got)
	}
}

func TestJFREventsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "no JSON", "{}", `{"recording": {"events": 7}}`, `{"recording": {"events": [{"type": 1}]}}`, jfrPrinted[:len(jfrPrinted)/2]} {
		if err := eachJFREvent(strings.NewReader(text), func(jfrEvent) error { return nil }); err == nil {
			t.Errorf("%.40q: no error", text)
		}
	}
	n := 0
	err := eachJFREvent(strings.NewReader(jfrPrinted), func(jfrEvent) error { n++; return errEnough })
	if err != nil || n != 1 {
		t.Errorf("stopping: %d events, %v", n, err)
	}
	if err := eachJFREvent(strings.NewReader(jfrPrinted), func(jfrEvent) error { return io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("its own error: %v", err)
	}
}

func TestISOSeconds(t *testing.T) {
	for text, want := range map[string]float64{"PT0.0105S": 0.0105, "PT1M2.5S": 62.5, "PT1H": 3600, "PT0S": 0} {
		if got, err := isoSeconds(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "PT", "1S", "PTS", "PT1X", "PTxS", "PT1"} {
		if got, err := isoSeconds(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParseJFRSummary(t *testing.T) {
	got := parseJFRSummary(`
 Version: 2.1
 Chunks: 1
 Start: 2026-11-30 16:00:00 (UTC)
 Duration: 15 s

 Event Type                              Count  Size (bytes)
=============================================================
 jdk.ExecutionSample                      1234         17276
 jdk.VirtualThreadPinned                     2            80
 jdk.SocketRead                              0             0
`)
	if len(got) != 2 || got["jdk.ExecutionSample"] != 1234 || got["jdk.VirtualThreadPinned"] != 2 {
		t.Errorf("%v", got)
	}
}

// A graph is well-formed XML whatever the methods are called, no box is wider than
// its caller's, and what is too narrow to see is left out.
func TestFlameGraph(t *testing.T) {
	f := &record.Stacks{Name: "all"}
	f.Add([]string{"java.util.HashMap.get", "app.Handler.call", "java.lang.Thread.run"}, 600)
	f.Add([]string{"app.Handler.<init>", "app.Handler.call", "java.lang.Thread.run"}, 399_000)
	f.Add([]string{"\x00hostile\u202e</text><script>\"'&\xff", "java.lang.Thread.run"}, 100_000)
	f.Add([]string{"never.Seen.once"}, 1)
	var svg bytes.Buffer
	if err := drawFlames(&svg, f, "CPU of <x> & y", func(n int64) string { return fmt.Sprint(n, " samples") }); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(svg.Bytes()))
	elements := map[string]int{}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg.String())
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	if elements["script"] != 0 || elements["g"] != 6 || elements["title"] != 7 {
		t.Errorf("elements %v", elements)
	}
	text := svg.String()
	for _, want := range []string{"app.Handler.&lt;init&gt;: 399000 samples, 79.9 %", ">Handler.call<", "CPU of &lt;x&gt; &amp; y"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "never.Seen") {
		t.Error("a box that nobody can see")
	}
	boxes, _ := flameBoxes(f)
	for _, b := range boxes {
		if b.x < 0 || b.x+b.w > flameWidth+1e-6 {
			t.Errorf("%s lies outside: %+v", b.node.Name, b)
		}
	}
	var empty bytes.Buffer
	if err := drawFlames(&empty, &record.Stacks{}, "none", func(int64) string { return "" }); err != nil || !strings.Contains(empty.String(), "</svg>") {
		t.Errorf("an empty graph: %v", err)
	}
}
