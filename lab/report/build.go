package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// missing is the status of a cell that the record does not hold.
const missing = "missing"

// notYet is the reason of what a run that goes on has still before it.
const notYet = "not measured yet"

// builder makes a table; it numbers the footnotes in the order of their use.
type builder struct {
	saved *record.Saved
	exp   *record.Experiment
	table *Table
	notes map[string]int
}

// Build makes the table of a run. It never fails: what is missing stays visible.
func Build(saved *record.Saved) *Table {
	b := &builder{saved: saved, exp: &saved.Run.Experiment, table: &Table{}, notes: map[string]int{}}
	t := b.table
	t.RunID = saved.Run.ID
	t.Title = escape(orElse(b.exp.Title, b.exp.Name, "unnamed experiment"))
	t.About = about(saved)
	t.Columns = b.columns()
	t.Versions = b.versions()
	t.Starts, t.Limits = b.starts(), b.limits()
	for _, rung := range b.rungs() {
		t.Rungs = append(t.Rungs, b.rung(rung))
	}
	b.condenseDoubts()
	b.hideRows()
	b.legend()
	t.Claims = claims(saved.Run.Claims, t.Columns)
	t.Calibration = newCalibration(saved)
	return t
}

// columns are the SUTs of the experiment in its order, then whoever else appears.
func (b *builder) columns() []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, s := range b.exp.SUTs {
		add(s.Name)
	}
	for _, s := range b.saved.Run.Starts {
		add(s.SUT)
	}
	for _, c := range b.saved.Cells {
		add(c.SUT)
	}
	return names
}

// rungs are those of the ladder, then whichever others were measured.
func (b *builder) rungs() []record.Rung {
	var rungs []record.Rung
	add := func(r record.Rung) {
		if !slices.Contains(rungs, r) {
			rungs = append(rungs, r)
		}
	}
	for _, r := range b.exp.Rungs() {
		add(r)
	}
	for i := range b.saved.Cells {
		add(b.saved.Cells[i].Rung())
	}
	return rungs
}

func (b *builder) rung(rung record.Rung) Block {
	block := Block{Title: rungTitle(rung), Rung: rung}
	cells, pooled := make([][]*record.Cell, len(b.table.Columns)), make([][]*record.Cell, len(b.table.Columns))
	several := false
	for i, sut := range b.table.Columns {
		cells[i] = b.saved.At(sut, rung)
		if b.forks(cells[i]) > 1 {
			pooled[i] = record.PoolForks(cells[i])
			several = true
		}
	}
	for _, m := range record.MetricsWith(b.saved.Run.Postgres != nil) {
		row := Row{Metric: m, Hidden: m.Name == record.ThroughputWithDrain && !b.withDrain() || m.Name == record.SUTCPURelative && !several}
		for i, sut := range b.table.Columns {
			row.Cells = append(row.Cells, b.cell(m, sut, rung, cells[i], pooled[i]))
		}
		block.Rows = append(block.Rows, row)
		if m.Name == record.ThroughputWithDrain && len(b.table.Columns) > 1 {
			block.Rows = append(block.Rows, b.ratios(cells))
		}
		if m.Name == record.ThroughputWithDrain && several {
			block.Rows = append(block.Rows, forksRow(pooled))
		}
		if several && slices.Contains(spreads, m.Name) {
			block.Rows = append(block.Rows, spreadRow(row))
		}
	}
	for i, sut := range b.table.Columns {
		block.Verdicts = append(block.Verdicts, verdicts(sut, cells[i])...)
	}
	b.inside(&block, cells)
	return block
}

func rungTitle(r record.Rung) string {
	switch {
	case r.Rate != 0: // an open loop opens as many connections as it takes
		return plain(r.Rate) + "/s offered"
	case r.Connections == 1:
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", r.Connections)
}

// cell collects the points of one metric. What is wrong with the windows as a
// whole is noted at the first row alone, where everybody looks.
func (b *builder) cell(m record.Metric, sut string, rung record.Rung, cells, pooled []*record.Cell) Cell {
	var c Cell
	main := m.Name == record.Throughput
	for _, slot := range b.slots(sut, rung, cells) {
		p := Point{Fork: slot.fork, Round: slot.round, Status: missing}
		switch w := slot.cell; {
		case w == nil:
			p.Reason = b.whyMissing(sut, slot.fork)
		case w.Status != "ok":
			p.Status, p.Reason = w.Status, orElse(w.Reason, w.Status)
		default:
			p.Status = "ok"
			if p.Value = m.Of(w); p.Value == nil {
				p.Reason = m.Why(w)
				c.Notes = appendNew(c.Notes, b.note("n/a: "+escape(p.Reason)))
			}
		}
		if slot.cell != nil {
			for _, d := range slot.cell.Doubts {
				p.Doubts = appendNew(p.Doubts, d.Kind)
			}
		}
		if main && p.Status != "ok" && b.saved.Run.Status != "running" {
			c.Notes = appendNew(c.Notes, b.note("–: "+onOneLine(statusReason(p))))
		}
		c.Points = append(c.Points, p)
	}
	if len(c.Points) == 0 && (rung.Rate == 0 || slices.Contains(b.exp.Rungs(), rung)) {
		p := Point{Status: missing, Reason: b.whyMissing(sut, 1)}
		if slices.Contains(b.exp.Rungs(), rung) {
			p.Reason = "no rung of this SUT's ladder"
		}
		if c.Points = append(c.Points, p); main && b.saved.Run.Status != "running" {
			c.Notes = appendNew(c.Notes, b.note("–: "+onOneLine(p.Reason)))
		}
	}
	c.Summary = record.Across(pooled, m) // pooled only when there are several forks
	if m.Name == record.Exceptions {
		c.Notes = append(c.Notes, b.exceptionNotes(cells)...)
	}
	if main {
		c.Notes = append(c.Notes, b.targetNotes(cells)...)
	}
	c.Notes = append(c.Notes, b.outlierNotes(m, c.Summary)...)
	c.Notes = append(c.Notes, b.doubtNotes(m, sut, rung, cells)...)
	slices.Sort(c.Notes)
	b.publish(&c, m, sut, rung)
	return c
}

func statusReason(p Point) string {
	if p.Status == missing || strings.HasPrefix(p.Reason, p.Status) {
		return p.Reason
	}
	return p.Status + ": " + p.Reason
}

// slot is the place of a window, filled or not.
type slot struct {
	fork, round int
	cell        *record.Cell
}

// slots are the windows that the experiment asked for of a SUT, with those that
// exist. It asks for none on the rungs of other ladders, nor at equal rate, which
// the first fork finds.
func (b *builder) slots(sut string, rung record.Rung, cells []*record.Cell) []slot {
	var slots []slot
	load := b.exp.LoadOf(sut)
	for fork := 1; fork <= max(1, b.exp.Forks) && slices.Contains(load.Rungs(), rung); fork++ {
		for round := 1; round <= max(1, load.Rounds); round++ {
			slots = append(slots, slot{fork: fork, round: round})
		}
	}
	for _, c := range cells {
		at := slices.IndexFunc(slots, func(s slot) bool { return s.fork == c.Fork && s.round == c.Round })
		if at < 0 {
			slots = append(slots, slot{fork: c.Fork, round: c.Round})
			at = len(slots) - 1
		}
		slots[at].cell = c
	}
	return slots
}

func (b *builder) forks(cells []*record.Cell) int {
	forks := b.exp.Forks
	for _, c := range cells {
		forks = max(forks, c.Fork)
	}
	return forks
}

func (b *builder) whyMissing(sut string, fork int) string {
	for _, s := range b.saved.Run.Starts {
		if s.SUT == sut && s.Fork == fork && s.Error != "" {
			return "the SUT did not start: " + s.Error
		}
	}
	switch b.saved.Run.Status {
	case "running":
		return notYet
	case "interrupted":
		return "not measured: the run was interrupted before"
	}
	return "not measured: the record has no such cell"
}

// exceptionNotes names what the SUT caught, most frequent first.
func (b *builder) exceptionNotes(cells []*record.Cell) []int {
	total := map[string]int64{}
	for _, c := range cells {
		for cause, n := range c.Exceptions {
			total[cause] += n
		}
	}
	causes := slices.Sorted(maps.Keys(total))
	slices.SortStableFunc(causes, func(x, y string) int { return cmp.Compare(total[y], total[x]) })
	var parts []string
	for i, cause := range causes {
		if i == 3 && len(causes) > 4 {
			parts = append(parts, fmt.Sprintf("and %d other causes", len(causes)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s = %d", escape(cause), total[cause]))
	}
	if len(parts) == 0 {
		return nil
	}
	return []int{b.note("inside the SUT: " + strings.Join(parts, ", "))}
}

// targetNotes says what each path of a mixed load got.
func (b *builder) targetNotes(cells []*record.Cell) []int {
	var paths, parts []string
	for _, c := range record.Measured(cells) {
		for _, t := range c.Load.Targets {
			paths = appendNew(paths, t.Target)
		}
	}
	for _, path := range paths {
		var seconds float64
		var ok, bad int64
		var p50, p99 []float64
		for _, c := range record.Measured(cells) {
			for _, t := range c.Load.Targets {
				if t.Target != path {
					continue
				}
				seconds, ok, bad = seconds+c.Load.Seconds, ok+t.OK, bad+t.Non2xx+t.Errors
				if l := t.LatencyMS; l != nil {
					p50, p99 = append(p50, l.P50), append(p99, l.P99)
				}
			}
		}
		part := fmt.Sprintf("%s %s/s", escape(path), plain(math.Round(quotient(float64(ok), seconds))))
		if len(p50) > 0 {
			part += fmt.Sprintf(", p50 %s ms, p99 %s ms", extent(p50), extent(p99))
		}
		if bad > 0 {
			part += fmt.Sprintf(", %d failed", bad)
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return nil
	}
	return []int{b.note("by target: " + strings.Join(parts, "; "))}
}

// extent is the lowest and the highest of some milliseconds.
func extent(values []float64) string {
	ms := record.Metric{Unit: "ms"}
	low, high := number(slices.Min(values), ms), number(slices.Max(values), ms)
	if low == high {
		return low
	}
	return low + " … " + high
}

// verdicts are the distinct ones of a SUT's windows, by kind.
func verdicts(sut string, cells []*record.Cell) []string {
	var lines, kinds []string
	for _, c := range cells {
		if c.Verdict == nil || slices.Contains(kinds, c.Verdict.Kind) {
			continue
		}
		kinds = append(kinds, c.Verdict.Kind)
		line := orElse(c.Verdict.Text, c.Verdict.Kind)
		if !strings.HasPrefix(line, sut) {
			line = sut + ": " + line
		}
		if !c.Verdict.Sure {
			line += " (not certain)"
		}
		lines = append(lines, escape(line))
	}
	return lines
}

// note returns the number of a footnote, the same for the same text.
func (b *builder) note(text string) int {
	if n, ok := b.notes[text]; ok {
		return n
	}
	b.table.Notes = append(b.table.Notes, Note{Text: text})
	b.notes[text] = len(b.table.Notes)
	return len(b.table.Notes)
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// orElse is the first of texts that says something.
func orElse(texts ...string) string {
	for _, s := range texts {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
