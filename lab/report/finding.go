package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loomlab/lab/record"
)

// finding is what a run says in a sentence, with what belongs beside it.
type finding struct {
	Headline string
	Beside   []string
	Rung     string // what the tiles are of, "" without any
	Tiles    []tile
}

// tile is one SUT on the rung that the headline speaks of.
type tile struct {
	Name    string
	Color   int
	Figure  string // throughput
	Held    string // what held it back, in two or three words
	Sure    bool
	Details []string
	Doubted bool
}

// alikeShare is how far throughputs may lie apart and still count as alike.
const alikeShare = 0.05

// contender is one SUT on the rung in question.
type contender struct {
	name       string
	column     int
	throughput float64
	cpu        float64 // µs per request, 0 where it is not known
	rss        float64 // MB, likewise
	regime     string
	verdict    *record.Verdict
	cells      []*record.Cell
	block      *Block
}

// newFinding speaks of the highest closed-loop rung on which the most SUTs were
// measured. It compares what may be compared there (METHOD rule 8): throughput,
// or CPU per request where the load sets the throughput of all.
func newFinding(saved *record.Saved, t *Table) finding {
	block, list := findingRung(saved, t)
	if block == nil {
		return finding{Headline: nothingMeasured(saved)}
	}
	f := finding{Rung: rungTitle(block.Rung)}
	where := "At " + rungTitle(block.Rung)
	if len(list) == 1 {
		f.Headline = fmt.Sprintf("%s %s answers %s requests/s%s.", where, escape(list[0].name), grouped(list[0].throughput), held(list[0], ": ", ""))
	} else {
		f.Headline = where + " " + contrast(list) + "."
		f.Beside = append(f.Beside, beside(list)...)
	}
	for _, c := range list {
		f.Tiles = append(f.Tiles, c.tile())
	}
	if t.Claims != nil {
		f.Beside = append(f.Beside, t.Claims.Summary+".")
	}
	return f
}

func nothingMeasured(saved *record.Saved) string {
	for _, s := range saved.Run.Starts {
		if s.Error != "" {
			first, _, _ := strings.Cut(s.Error, "\n")
			return "Nothing was measured: " + escape(s.SUT+" did not start, "+first) + "."
		}
	}
	for _, c := range saved.Cells {
		if c.Reason != "" {
			return "Nothing was measured: " + onOneLine(c.Reason) + "."
		}
	}
	return "Nothing was measured."
}

func findingRung(saved *record.Saved, t *Table) (*Block, []contender) {
	var best *Block
	var list []contender
	for i := range t.Rungs {
		b := &t.Rungs[i]
		if b.Rung.Rate != 0 && best != nil && best.Rung.Rate == 0 {
			continue // an offered rate says what was asked for
		}
		here := contenders(saved, t, b)
		if len(here) > 0 && (len(here) > len(list) || len(here) == len(list) && b.Rung.Connections >= best.Rung.Connections || best.Rung.Rate != 0) {
			best, list = b, here
		}
	}
	return best, list
}

func contenders(saved *record.Saved, t *Table, b *Block) []contender {
	figure := func(metric string, column int) float64 {
		if row := b.row(metric); row != nil {
			v, _, _, _ := row.Cells[column].middle()
			return v
		}
		return 0
	}
	var list []contender
	for column, name := range t.Columns {
		c := contender{name: name, column: column, block: b, throughput: figure(record.Throughput, column), cpu: figure("sut_cpu_us", column),
			rss: figure("rss_mb", column), cells: saved.At(name, b.Rung)}
		if c.throughput <= 0 {
			continue
		}
		c.regime, _ = record.RegimeOf(c.cells)
		c.verdict = commonVerdict(c.cells)
		list = append(list, c)
	}
	return list
}

// commonVerdict is the one that most windows have, the first of them.
func commonVerdict(cells []*record.Cell) *record.Verdict {
	votes := map[string]int{}
	var best *record.Verdict
	for _, c := range cells {
		if c.Verdict != nil && c.Verdict.Kind != "" {
			votes[c.Verdict.Kind]++
		}
	}
	for _, c := range cells {
		if c.Verdict != nil && (best == nil || votes[c.Verdict.Kind] > votes[best.Kind]) {
			best = c.Verdict
		}
	}
	return best
}

// contrast is the heart of the headline.
func contrast(list []contender) string {
	byThroughput := slices.SortedStableFunc(slices.Values(list), func(a, b contender) int {
		switch {
		case a.throughput > b.throughput:
			return -1
		case a.throughput < b.throughput:
			return 1
		}
		return 0
	})
	top, last := byThroughput[0], byThroughput[len(byThroughput)-1]
	if last.throughput >= (1-alikeShare)*top.throughput {
		return alikeSentence(list, top)
	}
	other := list[0] // the first SUT is what the others are held against
	if top.name == other.name {
		other = byThroughput[1]
	}
	return fmt.Sprintf("%s answers %s requests/s, %s times as many as %s (%s)%s", escape(top.name), grouped(top.throughput),
		number(top.throughput/other.throughput, record.Metric{Unit: "s"}), escape(other.name), grouped(other.throughput), held(other, ", where ", ""))
}

// alikeSentence compares the cost of the same work.
func alikeSentence(list []contender, top contender) string {
	who := fmt.Sprintf("all %d SUTs answer", len(list))
	if len(list) == 2 {
		who = "both SUTs answer"
	}
	text := fmt.Sprintf("%s about %s requests/s", who, grouped(top.throughput))
	if !slices.ContainsFunc(list, func(c contender) bool { return c.regime != record.RegimeClient }) {
		text += ", which is what the load allows"
	}
	known := slices.DeleteFunc(slices.Clone(list), func(c contender) bool { return c.cpu <= 0 })
	if len(known) < 2 {
		return text
	}
	slices.SortStableFunc(known, func(a, b contender) int {
		if a.cpu < b.cpu {
			return -1
		}
		return 1
	})
	cheap, dear := known[0], known[len(known)-1]
	us := record.Metric{Unit: "µs"}
	return fmt.Sprintf("%s: %s takes %s µs of CPU for each, %s %s µs", text, escape(cheap.name), number(cheap.cpu, us), escape(dear.name), number(dear.cpu, us))
}

// beside says what the headline leaves out: the others, and what it costs.
func beside(list []contender) []string {
	var parts []string
	for _, c := range list {
		if c.rss > 0 {
			parts = append(parts, escape(c.name)+" "+grouped(c.rss)+" MB")
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return []string{"Memory held at the windows' end: " + strings.Join(parts, ", ") + "."}
}

// heldWords name what a verdict names, as the subject of "… is the limit".
var heldWords = map[string]string{
	record.VerdictClientLimited: "the load",
	record.VerdictWorkerThreads: "worker threads",
	record.VerdictClientPool:    "client pool",
	record.VerdictDBPool:        "database pool",
	record.VerdictLock:          "a lock",
	record.VerdictCPU:           "CPU",
	record.VerdictHotThread:     "one hot thread",
	record.VerdictDownstream:    "the downstream",
	record.VerdictLoadEngine:    "the load engine",
	record.VerdictAcceptQueue:   "accept queue",
	record.VerdictConnectionCap: "connection cap",
	record.VerdictLocalPorts:    "local ports",
	record.VerdictDelayedACK:    "delayed ACK",
	record.VerdictMemory:        "memory and GC",
	record.VerdictErrors:        "errors",
	record.VerdictUnknown:       "unknown",
}

// limitWords is what a verdict names.
func limitWords(v *record.Verdict) string {
	if v == nil {
		return ""
	}
	return orElse(heldWords[v.Kind], escape(v.Kind))
}

// held is what bounds a contender, for the end of a sentence; "" where nobody knows.
func held(c contender, before, otherwise string) string {
	v := c.verdict
	if v == nil || v.Kind == record.VerdictUnknown {
		return otherwise
	}
	words := limitWords(v)
	if v.Kind == record.VerdictWorkerThreads {
		if n := workersOf(c.cells); n != "" {
			words = n
		}
	}
	verb := " is the limit"
	if strings.HasSuffix(words, "s") || v.Kind == record.VerdictMemory {
		verb = " are the limit"
	}
	return before + words + verb
}

// workersOf is "200 worker threads" from the arithmetic of the ceiling.
func workersOf(cells []*record.Cell) string {
	for _, c := range cells {
		for _, ceiling := range c.Ceilings {
			if what, _, ok := strings.Cut(ceiling.Arithmetic, " ÷ "); ok && ceiling.Kind == "workers" {
				return escape(what)
			}
		}
	}
	return ""
}

func (c contender) tile() tile {
	t := tile{Name: escape(c.name), Color: c.column, Figure: grouped(c.throughput), Held: limitWords(c.verdict), Sure: c.verdict != nil && c.verdict.Sure}
	for _, metric := range []string{record.P50, record.P99, "sut_cpu_us", "rss_mb"} {
		row := c.block.row(metric)
		if row == nil {
			continue
		}
		if v, _, _, ok := row.Cells[c.column].middle(); ok {
			t.Details = append(t.Details, strings.Replace(row.Metric.Label, "SUT CPU", "CPU", 1)+" "+number(v, row.Metric)+" "+row.Metric.Unit)
		}
	}
	for _, cell := range c.cells {
		t.Doubted = t.Doubted || slices.ContainsFunc(cell.Doubts, func(d record.Doubt) bool { return d.Metric == "" || d.Metric == record.Throughput })
	}
	return t
}

// grouped writes a whole number of five digits and more with thin spaces, for
// sentences; tables never group.
func grouped(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	if v < 10_000 {
		return s
	}
	var out []string
	for len(s) > 3 {
		out = append([]string{s[len(s)-3:]}, out...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, out...), "\u202f")
}
