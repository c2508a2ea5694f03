package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"loomlab/lab/record"
)

// CompareFormats are the names that [WriteComparison] takes, the default first.
var CompareFormats = []string{"table", "markdown", "csv", "json", "html"}

// WriteComparison renders a comparison in a format; the options concern "table" only.
func WriteComparison(w io.Writer, format string, c *Comparison, o TextOptions) error {
	switch format {
	case "table":
		return compareText(w, c, o)
	case "markdown":
		return compareMarkdown(w, c)
	case "csv":
		return compareCSV(w, c)
	case "json":
		return compareJSON(w, c)
	case "html":
		return compareHTML(w, c)
	}
	return fmt.Errorf("unknown format %q; there are %s", format, strings.Join(CompareFormats, ", "))
}

// compareHead are the heads of the columns after the metric.
func (c *Comparison) compareHead() []string {
	old, new := shorten(escape(c.Old), nameWidth), shorten(escape(c.New), nameWidth)
	if old == new {
		old, new = "old", "new"
	}
	return []string{old, new, "change", "95 % interval", "p", "verdict"}
}

// shownRows are those that people look at: of a cell that one side lacks the
// throughput alone, and nowhere counts that are zero on both sides.
func (c *ComparedCell) shownRows() []ComparedRow {
	var rows []ComparedRow
	for _, r := range c.Rows {
		switch {
		case c.OldMissing != "" || c.NewMissing != "":
			if r.Name != record.Throughput {
				continue
			}
		case r.Verdict == NotJudged && r.Unit == "µs":
			continue // the instrument's own cost
		case r.metric.Quiet && r.Old != nil && r.New != nil && r.Old.Max == 0 && r.New.Max == 0:
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

// fields are the texts of a row, under [Comparison.compareHead].
func (r *ComparedRow) fields() []string {
	side := func(s *record.Summary) string {
		if s == nil {
			return Missing
		}
		return strings.Join(Cell{Summary: s}.tokens(r.metric)[:sideTokens(s)], " ")
	}
	change := percent(r.Relative)
	switch {
	case r.Absolute != nil && r.Relative == nil:
		change = absolute(*r.Absolute, r.metric)
	case r.Verdict == NotShown:
		change = NotShown
	}
	if r.Verdict == NotShown && r.Absolute != nil {
		change = NotShown
	}
	p := ""
	if r.P != nil && r.role.verdict == "" {
		p = fmt.Sprintf("%.3f", *r.P)
	}
	interval := interval(r.Low, r.High)
	if interval == "" && r.Absolute != nil && r.Forks() < record.IntervalForks {
		interval = fmt.Sprintf("needs %d", record.IntervalForks)
	}
	return []string{side(r.Old), side(r.New), change, interval, p, r.verdictText()}
}

// sideTokens leaves out the range of a single fork.
func sideTokens(s *record.Summary) int {
	if len(s.Values) < 2 || s.Min == s.Max {
		return 1
	}
	return 2
}

func absolute(v float64, m record.Metric) string {
	text := number(v, m)
	if v > 0 {
		text = "+" + text
	}
	return text
}

func (r *ComparedRow) verdictText() string {
	if r.Reason == "" || r.Verdict == NoPower {
		return r.Verdict
	}
	switch r.Verdict {
	case Missing:
		return escape(r.Reason)
	case Insufficient:
		return r.Verdict + ", " + r.Reason
	}
	return r.Verdict + ": " + escape(r.Reason)
}

func (r *ComparedRow) label() string {
	label := Row{Metric: r.metric}.Label()
	if r.Primary {
		label += " (primary)"
	}
	return label
}

// remarks are the lines under a cell.
func (c *ComparedCell) remarks() []string {
	lines := []string{escape(c.Regime)}
	for _, side := range []struct {
		word   string
		doubts []string
	}{{"old", c.OldDoubts}, {"new", c.NewDoubts}} {
		if len(side.doubts) > 0 {
			lines = append(lines, escape("doubts, "+side.word+": "+strings.Join(side.doubts, ", ")))
		}
	}
	var reasons []string
	for _, r := range c.Rows {
		if r.Verdict == NoPower {
			reasons = appendNew(reasons, r.metric.Label+": "+r.Reason)
		}
	}
	if len(reasons) > 0 {
		lines = append(lines, "no power here, "+strings.Join(reasons, "; "))
	}
	return lines
}

// head are the lines above the cells.
func (c *Comparison) head() []string {
	lines := slices.Clone(c.About)
	for _, condition := range c.Conditions {
		how := map[string]string{Subject: "what is compared", Ignored: "differs and is ignored", Noted: "differs"}[condition.Effect]
		lines = append(lines, how+": "+condition.String())
	}
	return lines
}

// meanLines are the geometric means, with their counts.
func (c *Comparison) meanLines() []string {
	var lines []string
	for _, m := range c.Means {
		if m.Of < 2 {
			continue
		}
		text := "none"
		if m.Ratio != nil {
			change := *m.Ratio - 1
			text = percent(&change)
		}
		lines = append(lines, fmt.Sprintf("geometric mean of %s: %s over %d of %d cells, those that both sides have; no verdict", m.label, text, m.Count, m.Of))
	}
	return lines
}

func compareMarkdown(w io.Writer, c *Comparison) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "## %s\n\n", markdown(escape(c.Old+" → "+c.New)))
	list := func(lines []string) {
		for _, line := range lines {
			fmt.Fprintf(&out, "- %s\n", markdown(line))
		}
	}
	list(c.head())
	for i := range c.Cells {
		cell := &c.Cells[i]
		fmt.Fprintf(&out, "\n| %s |", markdown(cell.title()))
		for _, head := range c.compareHead() {
			fmt.Fprintf(&out, " %s |", markdown(head))
		}
		fmt.Fprintf(&out, "\n|:--|--:|--:|--:|--:|--:|:--|\n")
		for _, row := range cell.shownRows() {
			fmt.Fprintf(&out, "| %s |", markdown(row.label()))
			for _, field := range row.fields() {
				fmt.Fprintf(&out, " %s |", markdown(field))
			}
			fmt.Fprintln(&out)
		}
		fmt.Fprintln(&out)
		for _, line := range cell.remarks() {
			fmt.Fprintf(&out, "> %s\n>\n", markdown(line))
		}
	}
	fmt.Fprintln(&out)
	list(c.meanLines())
	list(c.Legend)
	_, err := out.WriteTo(w)
	return err
}

// compareHeader is stable: columns may be added at the end, never moved or renamed.
var compareHeader = []string{"old_sut", "new_sut", "connections", "rate", "metric", "unit", "primary",
	"old", "old_low", "old_high", "old_forks", "new", "new_low", "new_high", "new_forks",
	"absolute", "relative", "relative_low", "relative_high", "p", "p_adjusted", "verdict", "reason", "old_doubts", "new_doubts"}

func compareCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	_ = out.Write(compareHeader) // the error stays with out
	for _, cell := range c.Cells {
		rate := ""
		if cell.Rate != 0 {
			rate = exact(cell.Rate)
		}
		for _, r := range cell.Rows {
			line := []string{text(cell.OldSUT), text(cell.NewSUT), strconv.Itoa(cell.Connections), rate, r.Name, r.Unit, strconv.FormatBool(r.Primary)}
			for _, s := range []*record.Summary{r.Old, r.New} {
				if s == nil {
					line = append(line, "", "", "", "0")
					continue
				}
				line = append(line, exact(s.Median), maybe(s.Low), maybe(s.High), strconv.Itoa(len(s.Values)))
			}
			verdict := r.Verdict
			if verdict == Missing {
				verdict = missing
			}
			_ = out.Write(append(line, maybe(r.Absolute), maybe(r.Relative), maybe(r.Low), maybe(r.High), maybe(r.P), maybe(r.Adjusted),
				verdict, text(r.Reason), text(strings.Join(cell.OldDoubts, "; ")), text(strings.Join(cell.NewDoubts, "; "))))
		}
	}
	out.Flush()
	return out.Error()
}

func compareJSON(w io.Writer, c *Comparison) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}
