package report

import (
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"loomlab/lab/record"
)

// matrixRow is what held one SUT back, rung by rung.
type matrixRow struct {
	htmlColumn
	Cells []matrixCell
}

type matrixCell struct {
	Words string
	Kind  string // of the verdict, for its colour
	Sure  bool
}

func matrix(saved *record.Saved, t *Table) (rows []matrixRow, titles []string) {
	for _, b := range t.Rungs {
		titles = append(titles, b.Title)
	}
	for column, name := range t.Columns {
		row := matrixRow{htmlColumn: htmlColumn{escape(name), column}}
		for _, b := range t.Rungs {
			cell := matrixCell{Words: "–"}
			if v := commonVerdict(saved.At(name, b.Rung)); v != nil {
				cell = matrixCell{Words: limitWords(v), Kind: verdictClass(v), Sure: v.Sure || v.Kind == record.VerdictUnknown}
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows, titles
}

// verdictClass groups the kinds by who is at the limit.
func verdictClass(v *record.Verdict) string {
	switch v.Regime() {
	case record.RegimeClient:
		return "load"
	case record.RegimePool:
		return "pool"
	case record.RegimeCPU:
		return "cpu"
	}
	if v.Kind == record.VerdictUnknown {
		return "unknown"
	}
	return "instrument"
}

// whyRung is the explanation of one rung.
type whyRung struct {
	Title string
	SUTs  []whySUT
}

// whySUT is one verdict of a SUT, in the words of the first window that has it.
type whySUT struct {
	htmlColumn
	Kind     string
	Share    string // "4 of 12 windows"
	Sure     bool
	Text     string
	Evidence string
	Ceilings []whyCeiling
	Doubts   []string
	Meaning  string
}

type whyCeiling struct {
	Arithmetic string
	Percent    int // of it that was reached
	Shown      int // the same, no more than 100
}

// farCeiling is the percentage of a ceiling below which it bounds nothing: a pool
// of 20000 says nothing of 100 connections.
const farCeiling = 10

func why(saved *record.Saved, t *Table) []whyRung {
	var rungs []whyRung
	for _, b := range t.Rungs {
		rung := whyRung{Title: b.Title}
		for column, name := range t.Columns {
			cells := saved.At(name, b.Rung)
			for _, group := range byVerdict(cells) {
				rung.SUTs = append(rung.SUTs, newWhySUT(htmlColumn{escape(name), column}, group, len(cells)))
			}
		}
		rungs = append(rungs, rung)
	}
	return rungs
}

func newWhySUT(head htmlColumn, group []*record.Cell, all int) whySUT {
	c := group[0]
	w := whySUT{htmlColumn: head, Kind: "no verdict", Sure: true}
	if all > 1 {
		w.Share = fmt.Sprintf("%d of %d windows", len(group), all)
	}
	if c.Status != "ok" {
		w.Text = escape(orElse(c.Status, "not measured")) + ": " + onOneLine(c.Reason)
	}
	if v := c.Verdict; v != nil {
		w.Kind, w.Meaning = escape(v.Kind), explanations[v.Kind]
		w.Sure = v.Kind == record.VerdictUnknown || !slices.ContainsFunc(group, func(c *record.Cell) bool { return c.Verdict != nil && !c.Verdict.Sure })
		w.Text, w.Evidence = capital(escape(withoutHead(v.Text, c))), escape(v.Evidence)
	}
	if c.Load != nil && c.Load.ThroughputPerS != nil {
		for _, limit := range c.Ceilings {
			if limit.PerS > 0 {
				percent := int(math.Round(100 * *c.Load.ThroughputPerS / limit.PerS))
				if percent >= farCeiling {
					w.Ceilings = append(w.Ceilings, whyCeiling{escape(limit.Arithmetic), percent, min(percent, 100)})
				}
			}
		}
	}
	for _, kind := range doubtKinds(group) {
		w.Doubts = append(w.Doubts, escape(kind)+": "+escape(evidence(kind, group)))
	}
	return w
}

// capital begins a sentence whose head was cut off.
func capital(s string) string {
	if s == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
