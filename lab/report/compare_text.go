package report

import (
	"bufio"
	"fmt"
	"io"
)

// compareText writes a comparison for a terminal: a table per cell.
func compareText(w io.Writer, c *Comparison, o TextOptions) error {
	out := bufio.NewWriter(w)
	p := &printer{w: out, TextOptions: o}
	fmt.Fprintln(out, p.paint(bold, escape(c.Old+" → "+c.New)))
	for _, line := range c.head() {
		p.wrapped(line, "", "  ")
	}
	fmt.Fprintln(out)
	widths := c.widths()
	for i := range c.Cells {
		if err := p.compared(c, &c.Cells[i], widths); err != nil {
			return err
		}
	}
	if len(c.Cells) == 0 {
		fmt.Fprintln(out, "no cells")
	}
	for _, line := range append(c.meanLines(), c.Legend...) {
		p.wrapped(line, "", "  ")
	}
	return out.Flush()
}

// widths are those of the columns, the same in all tables so that they align.
// The verdict is last and as wide as it is.
func (c *Comparison) widths() []int {
	widths := []int{0}
	for _, head := range c.compareHead() {
		widths = append(widths, width(head))
	}
	for i := range c.Cells {
		widths[0] = max(widths[0], width(c.Cells[i].title()))
		for _, row := range c.Cells[i].shownRows() {
			widths[0] = max(widths[0], width(row.label()))
			for j, field := range row.fields() {
				widths[j+1] = max(widths[j+1], width(field))
			}
		}
	}
	return widths
}

func (p *printer) compared(c *Comparison, cell *ComparedCell, widths []int) error {
	table := newTextTable(p.w)
	last := len(widths) - 1
	head := []string{p.paint(bold, pad(cell.title(), widths[0]))}
	for i, text := range c.compareHead() {
		if i+1 < last {
			text = padLeft(text, widths[i+1])
		}
		head = append(head, p.paint(bold, text))
	}
	table.Header(head)
	for _, row := range cell.shownRows() {
		line := []string{pad(row.label(), widths[0])}
		for i, text := range row.fields() {
			if i+1 < last {
				text = padLeft(text, widths[i+1])
			}
			line = append(line, p.paint(row.style(), text))
		}
		if err := table.Append(line); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	for _, line := range cell.remarks() {
		p.wrapped(line, "▸ ", "  ")
	}
	fmt.Fprintln(p.w)
	return nil
}

// style sets apart what was shown to differ from what says nothing.
func (r *ComparedRow) style() string {
	switch r.Verdict {
	case Better, Worse, Differs:
		return bold
	case NoPower, NotJudged, Missing:
		return dim
	}
	return ""
}
