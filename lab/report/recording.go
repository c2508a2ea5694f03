package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// recordingSentence sums up one flight recording: what it cost and what was pinned.
func recordingSentence(r *record.Recording) string {
	head := fmt.Sprintf("%s at %d with the flight recorder: ", r.SUT, r.Connections)
	if r.Failed != "" {
		return head + "n/a (" + onOneLine(r.Failed) + ")"
	}
	parts := []string{overhead(r)}
	if r.Pinned != nil && r.Pinned.Count > 0 {
		parts = append(parts, fmt.Sprintf("virtual threads pinned %s, %s ms in all", times(r.Pinned.Count), plain1(r.Pinned.TotalMS)))
	}
	if len(r.CPU) > 0 {
		parts = append(parts, fmt.Sprintf("busiest in %s (%.1f %% of %s)", r.CPU[0].Method, 100*r.CPU[0].Share, plural(int(r.Samples), "sample")))
	}
	return head + strings.Join(parts, "; ")
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// overhead compares the window with the recorder to the one before it.
func overhead(r *record.Recording) string {
	if r.With == nil || r.Without == nil {
		return "what it cost is not known"
	}
	var parts []string
	add := func(name string, without, with *float64, m record.Metric) {
		if without != nil && with != nil && *without > 0 {
			parts = append(parts, fmt.Sprintf("%s %s → %s (%+.1f %%)", name, number(*without, m), number(*with, m), 100*(*with / *without - 1)))
		}
	}
	add("throughput", r.Without.ThroughputPerS, r.With.ThroughputPerS, record.Metric{Unit: "req/s"})
	add("CPU/request", r.Without.CPUUSPerRequest, r.With.CPUUSPerRequest, record.Metric{Unit: "µs"})
	add("p50", r.Without.P50MS, r.With.P50MS, record.Metric{Unit: "ms"})
	add("p99", r.Without.P99MS, r.With.P99MS, record.Metric{Unit: "ms"})
	if parts == nil {
		return "what it cost is not known"
	}
	return strings.Join(parts, ", ")
}

// recordings explains each flight recording of the run.
func (e *explainer) recordings() {
	if len(e.saved.Run.Recordings) == 0 {
		return
	}
	fmt.Fprintf(e.w, "\n%s\n", e.paint(bold, "flight recordings"))
	for i := range e.saved.Run.Recordings {
		e.recording(&e.saved.Run.Recordings[i])
	}
}

func (e *explainer) recording(r *record.Recording) {
	fmt.Fprintln(e.w)
	e.wrapped(fmt.Sprintf("%s at %d connections", escape(r.SUT), r.Connections), "▸ ", "  ")
	if r.Failed != "" {
		e.indented("n/a (" + onOneLine(r.Failed) + ")")
		return
	}
	files := append([]string{r.File}, slices.DeleteFunc([]string{r.FlameGraph, r.AllocationGraph}, func(s string) bool { return s == "" })...)
	e.indented("in the run directory: " + escape(strings.Join(files, ", ")) + " (JDK Mission Control opens the recording, a browser the graphs)")
	e.indented("overhead, against the round before: " + overhead(r))
	e.pinned(r.Pinned)
	e.hot("CPU", fmt.Sprintf("of %s", plural(int(r.Samples), "sample")), r.CPU)
	e.hot("allocation", "by estimate", r.Allocation)
	if g := r.GC; g != nil && g.Count > 0 {
		e.indented(fmt.Sprintf("GC: %s, %s ms in all, longest %s ms", plural(int(g.Count), "pause"), plain1(g.TotalMS), plain1(g.LongestMS)))
	}
	e.sockets(r)
	if t := r.Threads; t != nil {
		e.indented(fmt.Sprintf("platform threads: %d at most in the window, %d since the JVM started", t.Active, t.Peak))
	}
	for _, text := range r.Unsure {
		e.indented("note: " + escape(text))
	}
}

func (e *explainer) pinned(p *record.PinnedThreads) {
	if p == nil {
		return
	}
	if p.Count == 0 {
		e.indented("pinned virtual threads: none for 20 ms or more")
		return
	}
	e.indented(fmt.Sprintf("pinned virtual threads: %s, %s ms in all, longest %s ms", times(p.Count), plain1(p.TotalMS), plain1(p.LongestMS)))
	for _, s := range p.Stacks {
		text := fmt.Sprintf("%s, %s ms: %s", times(s.Count), plain1(s.TotalMS), strings.Join(s.Frames[:min(len(s.Frames), 6)], " ← "))
		if s.Reason != "" {
			text += " (" + s.Reason + ")"
		}
		e.indented("· " + escape(text))
	}
}

// sockets names the peers that threads waited for. A server waits on each of its
// own clients' connections too, which are not told apart here.
func (e *explainer) sockets(r *record.Recording) {
	if len(r.Sockets) == 0 {
		e.indented("socket waits: none of 10 ms or more in blocking reads and writes (clients on selectors and event loops wait elsewhere)")
		return
	}
	var parts []string
	for _, s := range r.Sockets[:min(len(r.Sockets), 3)] {
		parts = append(parts, fmt.Sprintf("%s %s, %s ms on average, %s at most", escape(s.Peer), times(s.Count), plain1(s.TotalMS/float64(max(1, s.Count))), plain1(s.LongestMS)))
	}
	e.indented("socket waits of 10 ms or more: " + strings.Join(parts, "; "))
}

// hot lists the first of a recording's hot methods.
func (e *explainer) hot(what, of string, list []record.HotMethod) {
	if len(list) == 0 {
		e.indented(what + ": no samples")
		return
	}
	var parts []string
	for _, h := range list[:min(len(list), 5)] {
		parts = append(parts, fmt.Sprintf("%.1f %% %s", 100*h.Share, escape(h.Method)))
	}
	e.indented(fmt.Sprintf("%s, %s: %s", what, of, strings.Join(parts, "; ")))
}
