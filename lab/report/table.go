// Package report renders a stored run. [Build] makes one [Table] of it, once, and
// each format only writes that down: [Text], [Markdown], [CSV], [Bench]; [Write]
// picks one by name. [Live] shows the same table while it grows. Nothing here
// measures or starts anything, and no output depends on the locale.
//
// The usual steps: [record.Open] a run, then [Write] it; [Explain] tells its
// verdicts in words, [Compare] sets two sides against one another. Limits: what the
// record does not hold is shown as not available, with the reason, and never
// computed here from something else.
package report

import (
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Table is a run as people look at it: a block of rows per rung, a column per SUT.
type Table struct {
	Title string
	About []string // what was measured, where, on what
	// Versions say in what SUTs differ that are versions of one another, a family a line.
	Versions []string
	Columns  []string // names of the SUTs
	Starts   Block    // how each SUT started
	Limits   Block    // what bounds it, where the SUTs differ
	Rungs    []Block
	// Calibration is the engine straight against the downstream, a rung a column;
	// nil without one.
	Calibration *Table
	Claims      *Claims  // nil without any
	Legend      []string // how to read it, and which rows are not shown
	Notes       []Note   // footnotes; number 1 comes first
	RunID       string
}

// Block is one rung of the ladder.
type Block struct {
	Title    string
	Rung     record.Rung
	Rows     []Row
	Verdicts []string
	Inside   []string // what was seen inside the JVMs, in a line each
	// Memory and Pauses are the same at length, for each SUT where it is known.
	Memory []waterfall
	Pauses []pauseStory
}

// Row is one figure of every SUT.
type Row struct {
	Metric record.Metric
	Hidden bool // left out of what people look at, kept in CSV
	Cells  []Cell
}

// Cell is one figure of one SUT on one rung.
type Cell struct {
	Text    string          // stands in place of points, for what is no number
	Points  []Point         // one a window, by fork and round
	Summary *record.Summary // over forks, when there are several
	Notes   []int           // footnotes, by number
	// Published are the author's figures for the same thing, or the author's words.
	Published      []float64
	PublishedWords string
	PublishedNotes []int
	Ratio          *float64 // ours ÷ published, of the medians; nil where one is not there
}

// Point is one figure of one window.
type Point struct {
	Fork   int
	Round  int
	Status string   // of its cell: ok, failed, skipped, interrupted, missing
	Value  *float64 // nil: the reason says why
	Reason string
	Doubts []string // kinds
}

// Note is a footnote; the items are its instances, by cell.
type Note struct {
	Text  string
	Items []string
	Tail  string // what to do about it
}

// String is the whole footnote.
func (n Note) String() string {
	text := n.Text
	if len(n.Items) > 0 {
		text += ": " + strings.Join(n.Items, "; ")
	}
	if n.Tail != "" {
		text += " → " + n.Tail
	}
	return text
}

// Label is the head of a row, with its unit.
func (r Row) Label() string {
	if r.Metric.Unit == "" || r.Metric.Unit == "×" {
		return r.Metric.Label
	}
	return r.Metric.Label + ", " + r.Metric.Unit
}

// hasValue reports whether anything was measured.
func (c Cell) hasValue() bool {
	for _, p := range c.Points {
		if p.Value != nil {
			return true
		}
	}
	return c.Text != ""
}

func (c Cell) hasPublished() bool { return len(c.Published) > 0 || c.PublishedWords != "" }

func (t *Table) hasPublished() bool {
	for _, block := range t.Rungs {
		for _, row := range block.Rows {
			if slices.ContainsFunc(row.Cells, Cell.hasPublished) {
				return true
			}
		}
	}
	return false
}
