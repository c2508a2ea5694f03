package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Claims are the author's claims and what this run says of them. Texts are safe
// to show.
type Claims struct {
	Summary string // "6 of 8 claims reproduced, 1 refuted, 1 not decidable here; 2 more about SUTs that did not run: webflux"
	Items   []Claim
}

// Claim is one of them.
type Claim struct {
	Outcome    string // confirmed, refuted, undecided
	Text       string // the statement in words
	Expr       string // and as an expression
	Arithmetic string // the expression with what was measured in place of the figures
	Reason     string // why it is undecided; else ""
	// Figures are those that the expression names: "throughput('virtual', 1000) =
	// 6353, 6983 req/s (2 rounds)".
	Figures []string
	Doubts  []string // kinds of doubt about these
}

// Mark is a sign for the outcome.
func (c Claim) Mark() string {
	switch c.Outcome {
	case record.Confirmed:
		return "✓"
	case record.Refuted:
		return "✗"
	}
	return "?"
}

// claims makes the section of a run's claims; nil where none is about its SUTs.
// Those that need a SUT which was not asked for are only counted: whoever runs a
// server of their own in an experiment's place has not failed to confirm it.
func claims(results []record.ClaimResult, suts []string) *Claims {
	c := &Claims{}
	count := map[string]int{}
	var absent []string
	for _, r := range results {
		if missing := absentFrom(suts, r.Figures); len(missing) > 0 {
			for _, sut := range missing {
				absent = appendNew(absent, sut)
			}
			continue
		}
		count[r.Outcome]++
		item := Claim{Outcome: escape(r.Outcome), Text: escape(orElse(r.Text, r.Expr)), Expr: escape(r.Expr), Arithmetic: escape(r.Arithmetic), Reason: escape(r.Reason)}
		for _, f := range r.Figures {
			item.Figures = append(item.Figures, escape(claimFigure(f)))
			for _, kind := range f.Doubts {
				item.Doubts = appendNew(item.Doubts, escape(kind))
			}
		}
		c.Items = append(c.Items, item)
	}
	if len(c.Items) == 0 {
		return nil
	}
	c.Summary = fmt.Sprintf("%d of %s reproduced", count[record.Confirmed], phrase.Count(len(c.Items), "claim"))
	if n := count[record.Refuted]; n > 0 {
		c.Summary += fmt.Sprintf(", %d refuted", n)
	}
	if n := len(c.Items) - count[record.Confirmed] - count[record.Refuted]; n > 0 {
		c.Summary += fmt.Sprintf(", %d not decidable here", n)
	}
	if n := len(results) - len(c.Items); n > 0 {
		c.Summary += fmt.Sprintf("; %d more about SUTs that did not run: %s", n, escape(strings.Join(absent, ", ")))
	}
	return c
}

// absentFrom are the SUTs that figures name and that are not among suts.
func absentFrom(suts []string, figures []record.ClaimFigure) (absent []string) {
	for _, f := range figures {
		if !slices.Contains(suts, f.SUT) {
			absent = appendNew(absent, f.SUT)
		}
	}
	return absent
}

func claimFigure(f record.ClaimFigure) string {
	if f.Missing != "" {
		return fmt.Sprintf("%s: n/a (%s)", f.Figure, f.Missing)
	}
	m := record.Metric{Unit: f.Unit}
	values := make([]string, len(f.Values))
	for i, v := range f.Values {
		values[i] = number(v, m)
	}
	if len(values) > 6 {
		values = slices.Insert(values[len(values)-2:], 0, values[0], values[1], "…")
	}
	text := f.Figure + " = " + strings.Join(values, ", ")
	if f.Unit != "" {
		text += " " + f.Unit
	}
	if f.Low != nil && f.High != nil && len(f.Values) > 2 {
		return fmt.Sprintf("%s (%s: %s … %s)", text, f.Basis, number(*f.Low, m), number(*f.High, m))
	}
	return fmt.Sprintf("%s (%s)", text, f.Basis)
}

// claims writes them for a terminal, last: a run ends with what it was made for.
func (p *printer) claims() {
	c := p.t.Claims
	if c == nil {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.paint(bold, c.Summary))
	for _, item := range c.Items {
		style := map[string]string{record.Confirmed: green, record.Refuted: red}[item.Outcome]
		head := item.Mark() + " " + pad(orElse(item.Outcome, record.Undecided), len(record.Undecided)) + " "
		indent := strings.Repeat(" ", width(head))
		p.hanging(item.Text, p.paint(style, head), indent)
		for _, line := range []string{item.Expr, item.Arithmetic, item.Reason, inWords("doubts: ", item.Doubts)} {
			if line != "" && line != item.Text {
				p.hanging(line, indent, indent+"  ")
			}
		}
	}
}

// hanging writes a paragraph behind first, its other lines behind rest, which is
// at least as wide.
func (p *printer) hanging(text, first, rest string) {
	columns := 0
	if p.Width > 0 {
		columns = max(20, p.Width-width(rest))
	}
	for i, line := range Wrap(text, columns, "") {
		if i == 0 {
			fmt.Fprintln(p.w, first+line)
		} else {
			fmt.Fprintln(p.w, rest+line)
		}
	}
}

// inWords lists what there is behind a head; nothing for nothing.
func inWords(head string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return head + strings.Join(list, ", ")
}
