package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/phrase"
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
		parts = append(parts, fmt.Sprintf("busiest in %s (%.1f %% of %s)", r.CPU[0].Method, 100*r.CPU[0].Share, phrase.Count(int(r.Samples), "sample")))
	}
	return head + strings.Join(parts, "; ")
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// cost is what a figure was without the recorder and with it.
type cost struct{ Name, Unit, Without, With, Change string }

// costs compare the window with the recorder to the one before it.
func costs(r *record.Recording) []cost {
	if r.With == nil || r.Without == nil {
		return nil
	}
	var list []cost
	add := func(name string, without, with *float64, m record.Metric) {
		if without != nil && with != nil && *without > 0 {
			list = append(list, cost{name, m.Unit, number(*without, m), number(*with, m), fmt.Sprintf("%+.1f %%", 100*(*with / *without - 1))})
		}
	}
	add("throughput", r.Without.ThroughputPerS, r.With.ThroughputPerS, record.Metric{Unit: "req/s"})
	add("CPU/request", r.Without.CPUUSPerRequest, r.With.CPUUSPerRequest, record.Metric{Unit: "µs"})
	add("p50", r.Without.P50MS, r.With.P50MS, record.Metric{Unit: "ms"})
	add("p99", r.Without.P99MS, r.With.P99MS, record.Metric{Unit: "ms"})
	return list
}

// overhead is the same in words.
func overhead(r *record.Recording) string {
	var parts []string
	for _, c := range costs(r) {
		parts = append(parts, fmt.Sprintf("%s %s → %s (%s)", c.Name, c.Without, c.With, c.Change))
	}
	return orElse(strings.Join(parts, ", "), "what it cost is not known")
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
	files := append([]string{r.File}, slices.DeleteFunc([]string{r.FlameGraph, r.AllocationGraph, r.CPUStacks, r.AllocationStacks}, func(s string) bool { return s == "" })...)
	e.indented("in the run directory: " + escape(strings.Join(files, ", ")) + " (JDK Mission Control opens the recording, a browser the graphs)")
	e.indented("overhead, against the round before: " + overhead(r))
	e.pinned(r.Pinned)
	e.hot("CPU", fmt.Sprintf("of %s", phrase.Count(int(r.Samples), "sample")), r.CPU)
	e.hot("allocation", "by estimate", r.Allocation)
	if g := r.GC; g != nil && g.Count > 0 {
		e.indented("GC: " + recordedPauses(g))
	}
	if len(r.Sockets) == 0 {
		e.indented("socket waits: " + socketText(r))
	} else {
		e.indented("socket waits of 10 ms or more: " + socketText(r))
	}
	if t := r.Threads; t != nil {
		e.indented("platform threads: " + recordedThreads(t))
	}
	for _, text := range r.Unsure {
		e.indented("note: " + escape(text))
	}
}

func (e *explainer) pinned(p *record.PinnedThreads) {
	if p == nil {
		return
	}
	e.indented("pinned virtual threads: " + pinnedText(p))
	for _, s := range p.Stacks {
		e.indented("· " + pinnedStack(s))
	}
}

func pinnedText(p *record.PinnedThreads) string {
	if p.Count == 0 {
		return "none for 20 ms or more"
	}
	return fmt.Sprintf("%s, %s ms in all, longest %s ms", times(p.Count), plain1(p.TotalMS), plain1(p.LongestMS))
}

func pinnedStack(s record.PinnedStack) string {
	text := fmt.Sprintf("%s, %s ms: %s", times(s.Count), plain1(s.TotalMS), strings.Join(s.Frames[:min(len(s.Frames), 6)], " ← "))
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return escape(text)
}

// sockets names the peers that threads waited for. A server waits on each of its
// own clients' connections too, which are not told apart here.
func socketText(r *record.Recording) string {
	if len(r.Sockets) == 0 {
		return "none of 10 ms or more in blocking reads and writes (clients on selectors and event loops wait elsewhere)"
	}
	var parts []string
	for _, s := range r.Sockets[:min(len(r.Sockets), 3)] {
		parts = append(parts, fmt.Sprintf("%s %s, %s ms on average, %s at most", escape(s.Peer), times(s.Count), plain1(s.TotalMS/float64(max(1, s.Count))), plain1(s.LongestMS)))
	}
	return strings.Join(parts, "; ")
}

func recordedPauses(g *record.RecordedPauses) string {
	return fmt.Sprintf("%s, %s ms in all, longest %s ms", phrase.Count(int(g.Count), "pause"), plain1(g.TotalMS), plain1(g.LongestMS))
}

func recordedThreads(t *record.RecordedThreads) string {
	return fmt.Sprintf("%d at most in the window, %d since the JVM started", t.Active, t.Peak)
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
