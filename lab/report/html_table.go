package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// htmlTable is the side-by-side table: blocks of rows, folded where there are
// many SUTs, and its footnotes.
type htmlTable struct {
	Blocks []htmlBlock
	Notes  []htmlNote
}

type htmlBlock struct {
	ID       string
	Title    string
	Region   string // the title, which folds share, with the first SUT where there are several
	Columns  []htmlColumn
	Rows     []htmlRow
	Verdicts []string
	Caption  string
}

type htmlRow struct {
	Label string
	Unit  string
	Group bool // a new group of figures begins
	Main  bool
	Cells []htmlCell
}

type htmlCell struct {
	Text      string   // what is no figure
	Figures   []string // a round each, or the median alone
	Range     string   // interval, or lowest…highest
	Empty     bool
	Notes     []int
	Published string
	Ratio     string // ours over the author's
	PubNotes  []int
	Reason    string // why there is no figure
}

type htmlNote struct {
	Number int
	Text   string
	Items  []string
	More   []string // further items, behind a click
	Tail   string
}

// noteItems is how many items of a footnote stand open; two more are no reason to fold.
const noteItems = 6

// rowGroups begin at these metrics.
var rowGroups = []string{record.P50, "errors", "sut_cpu_cores", "rss_mb", "gc_count", "platform_threads_live"}

func newHTMLTable(t *Table) htmlTable {
	var out htmlTable
	for i, block := range t.Rungs {
		for j, fold := range folds(t) {
			b := newHTMLBlock(t, block, fold)
			b.ID = fmt.Sprintf("rung-%d-%d", i+1, j+1)
			if j == len(folds(t))-1 {
				b.Verdicts = block.Verdicts
			}
			out.Blocks = append(out.Blocks, b)
		}
	}
	for i, n := range t.Notes {
		note := htmlNote{Number: i + 1, Text: n.Text, Items: n.Items, Tail: n.Tail}
		if len(n.Items) > noteItems+2 {
			note.Items, note.More = n.Items[:noteItems], n.Items[noteItems:]
		}
		out.Notes = append(out.Notes, note)
	}
	return out
}

func newHTMLBlock(t *Table, block Block, columns []int) htmlBlock {
	b := htmlBlock{Title: block.Title, Region: block.Title}
	if len(columns) < len(t.Columns) {
		b.Region += ", from " + escape(t.Columns[columns[0]])
	}
	for _, column := range columns {
		b.Columns = append(b.Columns, htmlColumn{escape(t.Columns[column]), column})
	}
	for _, row := range block.Rows {
		if row.Hidden {
			continue
		}
		r := htmlRow{Label: row.Metric.Label, Group: slices.Contains(rowGroups, row.Metric.Name), Main: row.Metric.Name == record.Throughput}
		if row.Metric.Unit != "×" {
			r.Unit = row.Metric.Unit
		}
		for _, column := range columns {
			r.Cells = append(r.Cells, newHTMLCell(row.Cells[column], row.Metric))
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}

func newHTMLCell(c Cell, m record.Metric) htmlCell {
	h := htmlCell{Text: c.Text, Notes: c.Notes, PubNotes: c.PublishedNotes, Empty: !c.hasValue()}
	if c.Text == "" {
		h.Figures = c.tokens(m)
	}
	if c.Summary != nil && c.Text == "" {
		h.Figures, h.Range = h.Figures[:1], h.Figures[1]
		if c.Summary.Min == c.Summary.Max {
			h.Range = ""
		}
	}
	if h.Empty {
		for _, p := range c.Points {
			if h.Reason = onOneLine(p.Reason); h.Reason != "" {
				break
			}
		}
	}
	h.Published = strings.Join(c.publishedTokens(m), " ")
	h.Ratio = strings.Join(c.ratioTokens(), " ")
	return h
}
