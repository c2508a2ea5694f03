package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Explain writes, for people who want to learn from a run, what held each SUT
// back on each rung: the verdict with its arithmetic and evidence, how near the
// windows came to each ceiling, and what speaks against trusting them.
func Explain(w io.Writer, saved *record.Saved, o TextOptions) error {
	t := Build(saved)
	e := &explainer{printer: &printer{TextOptions: o, w: bufio.NewWriter(w), t: t}, saved: saved}
	for _, line := range slices.Concat(t.About, t.Versions) {
		e.wrapped(line, "", "  ")
	}
	for _, block := range t.Rungs {
		fmt.Fprintf(e.w, "\n%s\n", e.paint(bold, block.Title))
		for column, sut := range t.Columns {
			e.sut(sut, saved.At(sut, block.Rung))
			e.inside(&block, column)
		}
	}
	e.recordings()
	e.binding()
	e.glossary()
	e.remedies()
	return e.w.Flush()
}

// explainer is a printer that remembers what it spoke of.
type explainer struct {
	*printer
	saved *record.Saved
	kinds []string // of the verdicts so far
	bound []string // SUTs that a limit of their own holds back
	// doubted are the doubts so far, one of each kind.
	doubted []record.Doubt
}

// sut explains one SUT on one rung: its windows by verdict, the commonest first.
func (e *explainer) sut(name string, cells []*record.Cell) {
	if len(cells) == 0 {
		fmt.Fprintf(e.w, "\n%s: not measured\n", escape(name))
		return
	}
	for _, group := range byVerdict(cells) {
		kind := ""
		if group[0].Verdict != nil {
			kind = group[0].Verdict.Kind
		}
		e.windows(name, kind, group, len(cells))
	}
}

// inside explains what was seen inside the JVM of one SUT.
func (e *explainer) inside(block *Block, column int) {
	for _, story := range block.Pauses {
		if story.Column == column {
			e.pauses(story)
		}
	}
	for _, fall := range block.Memory {
		if fall.Column == column {
			e.memory(fall)
		}
	}
}

// byVerdict groups windows by the kind of their verdict, the commonest first.
func byVerdict(cells []*record.Cell) [][]*record.Cell {
	byKind := map[string][]*record.Cell{}
	for _, c := range cells {
		kind := ""
		if c.Verdict != nil {
			kind = c.Verdict.Kind
		}
		byKind[kind] = append(byKind[kind], c)
	}
	kinds := slices.SortedFunc(maps.Keys(byKind), func(a, b string) int {
		if d := len(byKind[b]) - len(byKind[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var groups [][]*record.Cell
	for _, kind := range kinds {
		groups = append(groups, byKind[kind])
	}
	return groups
}

// windows explains those with one verdict; the first of them gives the figures.
func (e *explainer) windows(name, kind string, cells []*record.Cell, all int) {
	c := cells[0]
	title := escape(name) + ": " + orElse(kind, "no verdict")
	if c.Verdict != nil {
		// A verdict is as certain as its least certain window.
		if slices.ContainsFunc(cells, func(c *record.Cell) bool { return !c.Verdict.Sure }) && kind != record.VerdictUnknown {
			title += " (not certain)"
		}
	}
	if all > 1 {
		title += fmt.Sprintf(" · %d of %d windows, in the words of fork %d, round %d", len(cells), all, c.Fork, c.Round)
	}
	fmt.Fprintln(e.w)
	e.wrapped(title, "▸ ", "  ")
	if c.Status != "ok" {
		e.indented(orElse(c.Status, "not measured") + ": " + escape(c.Reason))
	}
	if c.Verdict != nil {
		e.kinds = appendNew(e.kinds, kind)
		e.indented(escape(withoutHead(c.Verdict.Text, c)))
		if c.Verdict.Evidence != "" {
			e.indented("seen: " + escape(c.Verdict.Evidence))
		}
		if c.Verdict.Regime() == record.RegimePool {
			e.bound = appendNew(e.bound, name)
		}
	}
	e.ceilings(c)
	e.generators(c)
	e.doubts(cells)
}

// withoutHead drops "platform at 1000: ", which the headings say already.
func withoutHead(text string, c *record.Cell) string {
	if head, rest, found := strings.Cut(text, ": "); found && strings.HasPrefix(head, c.SUT+" at ") {
		return rest
	}
	return text
}

// indented writes a paragraph under a heading.
func (e *explainer) indented(text string) {
	for _, line := range Wrap("  "+text, e.Width, "    ") {
		fmt.Fprintln(e.w, "  "+strings.TrimLeft(line, " "))
	}
}

// ceilings shows how near the window came to what each limit allows.
func (e *explainer) ceilings(c *record.Cell) {
	if c.Load == nil || c.Load.ThroughputPerS == nil {
		return
	}
	for _, ceiling := range c.Ceilings {
		if ceiling.PerS > 0 {
			e.indented(fmt.Sprintf("ceiling: %s, reached to %.0f %%", escape(ceiling.Arithmetic), 100**c.Load.ThroughputPerS/ceiling.PerS))
		}
	}
}

// doubts shows each kind once, with the evidence of its first window.
func (e *explainer) doubts(cells []*record.Cell) {
	first := map[string]record.Doubt{}
	count := map[string]int{}
	var kinds []string
	for _, c := range cells {
		for _, d := range c.Doubts {
			if count[d.Kind]++; count[d.Kind] == 1 {
				first[d.Kind] = d
				kinds = append(kinds, d.Kind)
			}
		}
	}
	for _, kind := range kinds {
		d := first[kind]
		where := ""
		if len(cells) > 1 {
			where = fmt.Sprintf(" in %d of %d", min(count[kind], len(cells)), len(cells))
		}
		e.indented(fmt.Sprintf("doubt%s: %s: %s", where, escape(kind), escape(d.Evidence)))
		if !slices.ContainsFunc(e.doubted, func(have record.Doubt) bool { return have.Kind == kind }) {
			e.doubted = append(e.doubted, d)
		}
	}
}

// remedies says once of each kind of doubt what was wanted and what helps.
func (e *explainer) remedies() {
	if len(e.doubted) == 0 {
		return
	}
	fmt.Fprintf(e.w, "\n%s\n", e.paint(bold, "what the doubts mean"))
	for _, d := range e.doubted {
		e.indented(fmt.Sprintf("%s: wanted %s. Remedy: %s", escape(d.Kind), escape(d.Threshold), escape(d.Remedy)))
	}
}

// binding lists the limits of the SUTs that a limit of their own holds back.
func (e *explainer) binding() {
	if len(e.bound) == 0 {
		return
	}
	fmt.Fprintf(e.w, "\n%s\n", e.paint(bold, "limits of the SUTs that a limit of their own holds back"))
	for _, sut := range e.bound {
		limits := e.saved.Run.Limits[sut]
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			parts = append(parts, escape(name)+" "+escape(limits[name]))
		}
		e.indented(escape(sut) + ": " + orElse(strings.Join(parts, ", "), "none is declared; name them under limits: in the experiment file"))
	}
}

// explanations say what a kind of verdict means and what to do about it.
var explanations = map[string]string{
	record.VerdictClientLimited: "The closed loop itself sets the pace: each of N connections waits for its answer before it asks again, so N ÷ delay is all that any SUT can do. Throughput says nothing about the SUT here; compare CPU per request, and what it adds to the delay, or climb higher.",
	record.VerdictWorkerThreads: "Each request holds a thread while it waits, so W threads ÷ time held is the most. The rest wait in a queue, and latency is N ÷ throughput. More threads, virtual threads or an event loop lift it.",
	record.VerdictClientPool:    "The SUT's client has so many connections to the downstream and no more; requests beyond them wait. Pools are the commonest hidden limit, since each client has a default of its own.",
	record.VerdictDBPool:        "Requests wait for a connection to the database; the pool's size ÷ time held is the most.",
	record.VerdictLock:          "Something lets one request through at a time. A lock held for h seconds allows 1 ÷ h per second, whatever the number of threads and CPUs.",
	record.VerdictCPU:           "The CPUs are used up: cores ÷ CPU time per request is the most. Here throughput does compare SUTs, as long as the instrument does not use the same cores.",
	record.VerdictHotThread:     "One thread does work that is not spread: it runs all the time while other CPUs idle. 1 ÷ its time per request is the most.",
	record.VerdictBlockedLoop:   "A thread of an event loop sleeps, or waits for a lock or a reply, and all of its connections wait with it: loops ÷ time blocked is the most. Blocking work belongs on a pool of its own (boundedElastic, a worker pool, virtual threads).",
	record.VerdictDownstream:    "What is measured is the downstream: its own delay, connections or failures, not the SUT.",
	record.VerdictLoadEngine:    "What is measured is the load engine: it has no CPU left, or does not get the one it has. Give it cores of its own (--place load=cpus:…), share the load over several generators (--place load=A,B), or lower the rung.",
	record.VerdictAcceptQueue:   "New connections come faster than the SUT accepts them. The kernel drops what does not fit into the accept queue, and the client tries again after 1 s, 3 s, 7 s.",
	record.VerdictConnectionCap: "The SUT serves so many connections and leaves the others in its accept queue, where clients believe to be connected.",
	record.VerdictLocalPorts:    "Each new connection takes a local port, and a closed one keeps it for a minute (TIME_WAIT). Keep connections alive, or widen net.ipv4.ip_local_port_range.",
	record.VerdictDelayedACK:    "One side sends its answer in two pieces without TCP_NODELAY: the second waits for the acknowledgement of the first, which Linux delays by 40 ms.",
	record.VerdictMemory:        "The SUT stops to collect garbage, or has run out of heap.",
	record.VerdictErrors:        "So many requests fail that the throughput of the others means little. Look at the exceptions and at the SUT's log first.",
	record.VerdictUnknown:       "Nothing that the lab can see is used up, and it does not guess. Candidates are a pool, a lock or a timer inside the SUT; a thread dump or --jfr shows more.",
}

// glossary explains the kinds that occurred, once each.
func (e *explainer) glossary() {
	if len(e.kinds) == 0 {
		return
	}
	fmt.Fprintf(e.w, "\n%s\n", e.paint(bold, "what the verdicts mean"))
	e.indented("Little's law: requests in a system = throughput × time each spends in it. It holds for the whole, for a queue and for a pool, and is all the arithmetic above.")
	for _, kind := range slices.Sorted(slices.Values(e.kinds)) {
		if text := explanations[kind]; text != "" {
			e.indented(kind + ": " + text)
		}
	}
}
