package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"loomlab/lab/record"
)

// TextOptions fit a table to where it is shown.
type TextOptions struct {
	Width int  // cells of a line; 0: as wide as it gets
	Color bool // ANSI colours
	// Brief keeps the few rows that one follows while a run goes on, without
	// head, footnotes and published figures.
	Brief bool
}

// Longest names and texts in a table; footnotes and JSON have all of it.
const (
	nameWidth = 28
	textWidth = 24
)

// Text writes the table for a terminal. Published figures stand in brackets
// beside ours where the width allows, else in a line of their own beneath, with
// the ratio if there is room; SUTs that do not fit side by side go into further
// blocks.
func Text(w io.Writer, t *Table, o TextOptions) error {
	out := bufio.NewWriter(w)
	p := &printer{w: out, t: t, TextOptions: o}
	if !o.Brief {
		p.head()
	}
	if err := p.body(); err != nil {
		return err
	}
	if t.Calibration != nil && !o.Brief {
		if err := (&printer{w: out, t: t.Calibration, TextOptions: o}).body(); err != nil {
			return err
		}
	}
	if len(t.Columns) == 0 || len(t.Rungs) == 0 {
		fmt.Fprintln(out, "no cells")
	}
	if !o.Brief {
		p.foot()
	}
	return out.Flush()
}

// body writes the blocks, in folds of as many columns as fit.
func (p *printer) body() error {
	blocks := p.blocks()
	folds := p.layout(blocks)
	for i, columns := range folds {
		for _, block := range blocks {
			if i+1 < len(folds) { // what is said of all columns follows the last
				block.Verdicts, block.Inside = nil, nil
			}
			if err := p.block(block, columns); err != nil {
				return err
			}
		}
	}
	return nil
}

// printer lays a table out in cells of a terminal.
type printer struct {
	TextOptions
	w      *bufio.Writer
	t      *Table
	beside bool // published figures in brackets beside ours
	ratios bool // and how many times they are ours

	labels int   // width of the first column
	values []int // per SUT: width of one figure, so that rounds stand in line
	widths []int // per SUT: width of the column
}

func (p *printer) head() {
	fmt.Fprintln(p.w, p.paint(bold, p.t.Title))
	for _, line := range slices.Concat(p.t.About, p.t.Versions) {
		p.wrapped(line, "", "  ")
	}
	fmt.Fprintln(p.w)
}

func (p *printer) foot() {
	legend := p.t.Legend
	if p.beside && p.t.hasPublished() {
		legend = append([]string{"in brackets: as published, and × how many times that ours is"}, legend...)
	} else if p.ratios && p.t.hasPublished() {
		legend = append([]string{"×: how many times the published figure ours is"}, legend...)
	}
	for _, line := range legend {
		p.wrapped(line, "", "  ")
	}
	if len(p.t.Notes) > 0 {
		fmt.Fprintln(p.w)
	}
	for i, note := range p.t.Notes {
		p.wrapped(note.String(), marks([]int{i + 1})+" ", "  ")
	}
	p.claims()
}

func (p *printer) wrapped(text, first, indent string) {
	for i, line := range Wrap(first+text, p.Width, indent) {
		if i == 0 && first != "" {
			line = strings.Replace(line, strings.TrimSpace(first), p.paint(yellow, strings.TrimSpace(first)), 1)
		}
		fmt.Fprintln(p.w, line)
	}
}

// briefRows are what one follows while a run goes on.
var briefRows = []string{record.Throughput, "p50_ms", record.P99, "errors", "sut_cpu_us", "rss_mb"}

// blocks are the parts of the table that are shown, without the hidden rows.
func (p *printer) blocks() []Block {
	var blocks []Block
	if len(p.t.Starts.Rows) > 0 && !p.Brief {
		blocks = append(blocks, p.t.Starts)
	}
	if len(p.t.Limits.Rows) > 0 && !p.Brief {
		blocks = append(blocks, p.t.Limits)
	}
	for _, block := range p.t.Rungs {
		block.Rows = slices.DeleteFunc(slices.Clone(block.Rows), func(r Row) bool {
			if p.Brief {
				return !slices.Contains(briefRows, r.Metric.Name) || r.Hidden && r.Metric.Name != "errors"
			}
			return r.Hidden
		})
		blocks = append(blocks, block)
	}
	return blocks
}

// layout decides where published figures go, measures the columns, and groups
// them into what fits on a line.
func (p *printer) layout(blocks []Block) [][]int {
	all := make([]int, len(p.t.Columns))
	for i := range all {
		all[i] = i
	}
	if len(all) == 0 {
		return nil
	}
	for _, mode := range []struct{ beside, ratios bool }{{true, true}, {false, true}, {false, false}} {
		p.beside, p.ratios = mode.beside, mode.ratios
		p.measure(blocks)
		if p.Width <= 0 || p.total(all) <= p.Width {
			return [][]int{all}
		}
	}
	var groups [][]int
	var group []int
	for _, i := range all {
		if len(group) > 0 && p.total(append(slices.Clone(group), i)) > p.Width {
			groups, group = append(groups, group), nil
		}
		group = append(group, i)
	}
	return append(groups, group)
}

// total is the width of a line: each column has a blank on both sides, and a
// rule before it.
func (p *printer) total(columns []int) int {
	sum := p.labels + 2
	for _, i := range columns {
		sum += 1 + 2 + p.widths[i]
	}
	return sum
}

func (p *printer) measure(blocks []Block) {
	n := len(p.t.Columns)
	p.labels, p.values, p.widths = 0, make([]int, n), make([]int, n)
	for i, name := range p.t.Columns {
		p.widths[i] = width(p.name(name))
	}
	for _, block := range blocks {
		p.labels = max(p.labels, width(block.Title))
		for _, row := range block.Rows {
			p.labels = max(p.labels, width(row.Label()))
			for i, c := range row.Cells {
				for _, token := range slices.Concat(c.tokens(row.Metric), p.published(c, row.Metric)) {
					if isNumber(token) && c.Text == "" {
						p.values[i] = max(p.values[i], width(token))
					}
				}
			}
		}
	}
	for _, block := range blocks {
		for _, row := range block.Rows {
			for i, c := range row.Cells {
				p.widths[i] = max(p.widths[i], width(p.cell(c, row.Metric, i)), width(p.beneath(c, row.Metric, i)))
			}
		}
	}
}

// isNumber tells figures, which stand in line, from words and ranges.
func isNumber(token string) bool {
	return token != "" && strings.Trim(token, "-.0123456789") == ""
}

func (p *printer) published(c Cell, m record.Metric) []string {
	if p.Brief {
		return nil
	}
	return c.publishedTokens(m)
}

func (p *printer) name(s string) string { return shorten(escape(s), nameWidth) }

// cell is what stands in the row itself.
func (p *printer) cell(c Cell, m record.Metric, column int) string {
	if c.Text != "" {
		return shorten(c.Text, textWidth)
	}
	text := p.aligned(c.tokens(m), column)
	if p.Brief {
		return text
	}
	text += marks(c.Notes)
	if published := c.publishedTokens(m); p.beside && len(published) > 0 {
		text += " (" + strings.Join(append(published, p.ratio(c)...), " ") + ")" + marks(c.PublishedNotes)
	}
	return text
}

// beneath is what stands under the row: the published figures, in line with ours.
func (p *printer) beneath(c Cell, m record.Metric, column int) string {
	if p.beside || !c.hasPublished() || p.Brief {
		return ""
	}
	return strings.Join(append([]string{p.aligned(c.publishedTokens(m), column)}, p.ratio(c)...), " ") + marks(c.PublishedNotes)
}

// ratio is the token of a cell's ratio to what was published, where there is room.
func (p *printer) ratio(c Cell) []string {
	if !p.ratios {
		return nil
	}
	return c.ratioTokens()
}

func (p *printer) aligned(tokens []string, column int) string {
	padded := make([]string, len(tokens))
	for i, t := range tokens {
		padded[i] = padLeft(t, p.values[column])
	}
	return strings.Join(padded, "  ")
}

// newTextTable is a table of cells that are padded already, with rules between.
func newTextTable(w io.Writer) *tablewriter.Table {
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
			Symbols:  tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.On, BetweenRows: tw.Off}},
		})),
		tablewriter.WithEastAsian(tw.Off), // else LANG would change the widths
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
	)
}

// block writes the given columns of one block.
func (p *printer) block(b Block, columns []int) error {
	table := newTextTable(p.w)
	head := []string{p.paint(bold, pad(b.Title, p.labels))}
	for _, i := range columns {
		head = append(head, p.paint(bold, pad(p.name(p.t.Columns[i]), p.widths[i])))
	}
	table.Header(head)
	for _, row := range b.Rows {
		for _, line := range p.lines(row, columns) {
			if err := table.Append(line); err != nil {
				return err
			}
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	if !p.Brief {
		for _, line := range slices.Concat(b.Verdicts, b.Inside) {
			p.wrapped(line, "▸ ", "  ")
		}
		fmt.Fprintln(p.w)
	}
	return nil
}

// lines are a row, and the published figures beneath it where there are any.
func (p *printer) lines(row Row, columns []int) [][]string {
	first := []string{pad(row.Label(), p.labels)}
	second := []string{p.paint(dim, pad("  published", p.labels))}
	anything := false
	for _, i := range columns {
		c := row.Cells[i]
		style := ""
		if !c.hasValue() {
			style = dim
		}
		first = append(first, p.paint(style, pad(p.cell(c, row.Metric, i), p.widths[i])))
		beneath := p.beneath(c, row.Metric, i)
		anything = anything || beneath != ""
		second = append(second, p.paint(dim, pad(beneath, p.widths[i])))
	}
	if anything {
		return [][]string{first, second}
	}
	return [][]string{first}
}

// ANSI styles.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[1;31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (p *printer) paint(style, s string) string {
	if !p.Color || style == "" || s == "" {
		return s
	}
	return style + s + reset
}
