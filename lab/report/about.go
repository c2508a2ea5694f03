package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// about says what was measured, where and on what, a line each.
func about(saved *record.Saved) []string {
	run := &saved.Run
	lines := []string{joined(
		run.Experiment.Name, run.ID, status(saved), shape(&run.Experiment))}
	if line := machine(&run.Machine); line != "" {
		lines = append(lines, line)
	}
	lines = append(lines, hosts(run)...)
	if jdks := jdks(run); jdks != "" {
		lines = append(lines, jdks)
	}
	for _, line := range []string{postgres(run), generators(saved)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	if s := run.Experiment.Source; s != nil && s.Title != "" && publishedOfThese(&run.Experiment) {
		counting := "counted inside the window"
		if s.Counting == "with-drain" {
			counting = "counted with the answers that came after the window"
		}
		lines = append(lines, "published in "+s.Title+", "+counting)
	}
	lines = append(lines, commands(&run.Experiment)...)
	if run.Standins && run.Note == "" {
		lines = append(lines, "stand-ins ran in place of the experiment's SUTs")
	}
	if run.Experiment.Quick {
		lines = append(lines, "shortened by --quick: not to be compared with a full run")
	}
	if run.Note != "" {
		lines = append(lines, "note: "+run.Note)
	}
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return lines
}

// commands names what took the place of our engine and our downstream.
func commands(e *record.Experiment) []string {
	var lines []string
	for _, tier := range []struct {
		name string
		of   func(record.SUT) []string
	}{
		{"load generator", func(s record.SUT) []string { return e.LoadOf(s.Name).Command }},
		{"downstream", func(s record.SUT) []string {
			if s.Downstream == nil {
				return nil
			}
			return s.Downstream.Command
		}},
	} {
		var order []string
		suts := map[string][]string{}
		for _, s := range e.SUTs {
			if words := strings.Join(tier.of(s), " "); words != "" {
				order = appendNew(order, words)
				suts[words] = append(suts[words], s.Name)
			}
		}
		for _, words := range order {
			lines = append(lines, fmt.Sprintf("%s of %s: %s", tier.name, strings.Join(suts[words], ", "), words))
		}
	}
	return lines
}

// joined puts the parts that say something on one line.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// status says how the run ended, and how far it came where that is in question.
func status(saved *record.Saved) string {
	s, e := saved.Run.Status, &saved.Run.Experiment
	if s == "" || s == "ok" {
		return s
	}
	return fmt.Sprintf("%s, %d of %d cells recorded", s, len(saved.Cells), max(len(saved.Cells), e.Cells()))
}

// publishedOfThese says whether what an experiment's author published concerns
// the SUTs that ran, not only those that the user's own replaced.
func publishedOfThese(e *record.Experiment) bool {
	return len(e.Published) == 0 || slices.ContainsFunc(e.Published, func(p record.Published) bool {
		return slices.ContainsFunc(e.SUTs, func(s record.SUT) bool { return s.Name == p.SUT })
	})
}

// shape is the experiment in a few words.
func shape(e *record.Experiment) string {
	var parts []string
	var windows []string
	for _, l := range loadsOf(e) {
		if l.Rounds > 0 {
			windows = appendNew(windows, phrase.Count(l.Rounds, "round")+" of "+l.Window())
		}
	}
	parts = append(parts, strings.Join(windows, " or "))
	if e.Scale > 0 {
		parts = append(parts, "scaled by "+plain(e.Scale))
	}
	if e.Forks > 0 {
		parts = append(parts, phrase.Count(e.Forks, "fork"))
	}
	if e.Downstream != nil {
		parts = append(parts, "downstream delay "+e.Downstream.Delay.String())
	}
	return joined(parts...)
}

// loadsOf are the loads that the SUTs get, as often as they get them.
func loadsOf(e *record.Experiment) []*record.Load {
	if len(e.SUTs) == 0 {
		return []*record.Load{&e.Load}
	}
	loads := make([]*record.Load, len(e.SUTs))
	for i, s := range e.SUTs {
		loads[i] = e.LoadOf(s.Name)
	}
	return loads
}

// hosts names the other machines that tiers were on, and how far they were apart.
func hosts(run *record.Run) []string {
	var lines []string
	for i := range run.Hosts {
		h := &run.Hosts[i]
		clock := fmt.Sprintf("clock known to ±%.2g ms", h.Clock.ErrorS*1e3)
		lines = append(lines, joined(h.Name+orPrefix(" at ", h.Address), machine(&h.Machine), clock))
	}
	type way struct{ from, to string }
	shortest := map[way]float64{}
	var ways []way
	for _, p := range run.Paths {
		w := way{p.From + " on " + p.Host, p.To + " on " + p.ToHost}
		if best, seen := shortest[w]; !seen || p.RTTMS < best {
			shortest[w] = p.RTTMS
		}
		if !slices.Contains(ways, w) {
			ways = append(ways, w)
		}
	}
	for _, w := range ways {
		lines = append(lines, fmt.Sprintf("%s to %s: %.3g ms there and back", w.from, w.to, shortest[w]))
	}
	return lines
}

func machine(m *record.Machine) string {
	var cores, memory string
	if m.Cores > 0 {
		cores = phrase.Count(m.Cores, "core")
	}
	if m.MemoryBytes > 0 {
		memory = fmt.Sprintf("%.1f GB", float64(m.MemoryBytes)/(1<<30))
	}
	system := strings.TrimSpace(strings.Trim(m.OS+"/"+m.Arch, "/") + " " + m.Kernel)
	return joined(m.Host, cores, strings.TrimSpace(m.CPU), memory, system)
}

// jdks lists the distinct JVMs that ran.
func jdks(run *record.Run) string {
	var seen []string
	for _, s := range run.Starts {
		if s.JVM != nil {
			seen = appendNew(seen, jvm(s.JVM))
		}
	}
	if len(seen) == 0 {
		return ""
	}
	return "JDK " + strings.Join(seen, ", ")
}

func jvm(j *record.StartJVM) string {
	return strings.TrimSpace(orElse(j.Version, "of unknown version") + " " + j.Collector)
}

// starts is the block on how each SUT began.
func (b *builder) starts() Block {
	block := Block{Title: "start"}
	if len(b.saved.Run.Starts) == 0 {
		return block
	}
	text := func(label string, read func(*record.Start) string) {
		row := Row{Metric: record.Metric{Label: label}}
		for _, sut := range b.table.Columns {
			var said []string
			for _, s := range b.startsOf(sut) {
				if v := read(s); v != "" {
					said = appendNew(said, v)
				}
			}
			row.Cells = append(row.Cells, Cell{Text: escape(orElse(strings.Join(said, ", "), Point{Status: missing, Reason: b.whyMissing(sut, 1)}.token(row.Metric)))})
		}
		block.Rows = append(block.Rows, row)
	}
	number := func(m record.Metric, read func(*record.Start) *float64) {
		row := Row{Metric: m}
		for _, sut := range b.table.Columns {
			row.Cells = append(row.Cells, b.startCell(sut, read))
		}
		block.Rows = append(block.Rows, row)
	}
	text("kind", func(s *record.Start) string { return strings.Replace(s.Kind, "standin", "stand-in", 1) })
	for _, m := range record.StartMetrics() {
		number(record.Metric{Label: m.Label, Unit: m.Unit}, m.Of)
	}
	text("… answered", func(s *record.Start) string {
		if s.FirstRequest == nil {
			return ""
		}
		return strings.TrimSpace(fmt.Sprintf("%d %s", s.FirstRequest.Status, s.FirstRequest.Body))
	})
	if jdks(&b.saved.Run) != "" {
		text("JVM", func(s *record.Start) string {
			if s.JVM == nil {
				return "none"
			}
			return jvm(s.JVM)
		})
	}
	return block
}

func (b *builder) startsOf(sut string) []*record.Start {
	var starts []*record.Start
	for i := range b.saved.Run.Starts {
		if s := &b.saved.Run.Starts[i]; s.SUT == sut {
			starts = append(starts, s)
		}
	}
	return starts
}

func (b *builder) startCell(sut string, read func(*record.Start) *float64) Cell {
	var c Cell
	var values []float64
	for _, s := range b.startsOf(sut) {
		p := Point{Fork: s.Fork, Status: "ok", Value: read(s), Reason: "not measured"}
		if s.Error != "" {
			p.Status, p.Reason = "failed", s.Error
			c.Notes = appendNew(c.Notes, b.note("–: "+onOneLine(s.Error)))
		}
		if p.Value != nil {
			values = append(values, *p.Value)
		}
		c.Points = append(c.Points, p)
	}
	if len(c.Points) > 1 {
		c.Summary = record.Over(values)
	}
	if len(c.Points) == 0 {
		c.Points = []Point{{Status: missing, Reason: b.whyMissing(sut, 1)}}
	}
	return c
}
