package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// doubtNotes notes the doubts of a SUT's windows at the row they concern: those
// about one figure at its row, all others at the throughput. Doubts of one kind share
// a footnote, which lists the cells with their evidence.
func (b *builder) doubtNotes(m record.Metric, sut string, rung record.Rung, cells []*record.Cell) []int {
	var numbers []int
	for _, kind := range doubtKinds(cells) {
		if doubtRow(kind, cells) != m.Name {
			continue
		}
		number := b.doubtNote(kind, cells)
		note := &b.table.Notes[number-1]
		note.Items = append(note.Items, fmt.Sprintf("%s at %s: %s", escape(sut), rungName(rung), escape(evidence(kind, cells))))
		numbers = append(numbers, number)
	}
	return numbers
}

// doubtRow is the figure that a kind of doubt concerns; one about the cell as a
// whole stands at the throughput, where everybody looks.
func doubtRow(kind string, cells []*record.Cell) string {
	for _, c := range cells {
		for _, d := range c.Doubts {
			if d.Kind == kind && d.Metric != "" {
				return d.Metric
			}
		}
	}
	if strings.HasPrefix(kind, "p99") || kind == "heavy-tail" { // records that do not name the figure
		return record.P99
	}
	return record.Throughput
}

// condenseDoubts says a doubt that hangs over every cell once, with one instance
// of it: the list would hide what is special. JSON and CSV have each.
func (b *builder) condenseDoubts() {
	groups := 0
	for _, sut := range b.table.Columns {
		for _, block := range b.table.Rungs {
			if len(record.Measured(b.saved.At(sut, block.Rung))) > 0 {
				groups++
			}
		}
	}
	for key, number := range b.notes {
		note := &b.table.Notes[number-1]
		if strings.HasPrefix(key, doubtKey) && groups > 2 && len(note.Items) >= groups {
			note.Items = []string{"every cell, such as " + note.Items[0]}
		}
	}
}

func doubtKinds(cells []*record.Cell) []string {
	var kinds []string
	for _, c := range cells {
		for _, d := range c.Doubts {
			kinds = appendNew(kinds, d.Kind)
		}
	}
	return kinds
}

const doubtKey = "doubt:"

// doubtNote returns the footnote of a kind, made from its first instance.
func (b *builder) doubtNote(kind string, cells []*record.Cell) int {
	key := doubtKey + kind
	if n, ok := b.notes[key]; ok {
		return n
	}
	note := Note{Text: "doubt, " + escape(kind)}
	for _, c := range cells {
		i := slices.IndexFunc(c.Doubts, func(d record.Doubt) bool { return d.Kind == kind })
		if i < 0 {
			continue
		}
		if d := c.Doubts[i]; d.Threshold != "" {
			note.Text += escape(" (expected: " + d.Threshold + ")")
		}
		note.Tail = escape(c.Doubts[i].Remedy)
		break
	}
	b.table.Notes = append(b.table.Notes, note)
	b.notes[key] = len(b.table.Notes)
	return len(b.table.Notes)
}

// evidence is what the rounds say, each thing once.
func evidence(kind string, cells []*record.Cell) string {
	var said []string
	for _, c := range cells {
		for _, d := range c.Doubts {
			if d.Kind == kind && d.Evidence != "" {
				said = appendNew(said, d.Evidence)
			}
		}
	}
	if len(said) > 3 {
		said = append(said[:2], fmt.Sprintf("… and %d more", len(said)-2))
	}
	return orElse(strings.Join(said, " / "), "no evidence stored")
}

func rungName(r record.Rung) string {
	if r.Rate != 0 {
		return plain(r.Rate) + "/s offered"
	}
	return fmt.Sprint(r.Connections)
}
