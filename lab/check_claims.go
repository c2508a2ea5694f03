package lab

import (
	"fmt"
	"strings"

	"loomlab/lab/record"
)

// claims checks that each claim is an expression that can be decided, and that it
// speaks of figures, SUTs and rungs that the experiment has. Whether it holds is
// for a run to say.
func (c *checker) claims() {
	for i, claim := range c.e.Claims {
		path := fmt.Sprintf("claims[%d]", i)
		if !c.has(path + ".text") {
			c.add(path, "a claim without text, the statement in words")
		}
		if !c.has(path + ".expr") {
			c.add(path, "a claim without expr, such as throughput('a', 100) > throughput('b', 100)")
			continue
		}
		if c.mistaken(path + ".expr") {
			continue
		}
		report := func(text string) { c.add(path+".expr", "%s", text) }
		parsed, err := parseClaim(claim.Expr)
		if err != nil {
			report(err.Error())
			continue
		}
		for _, mistake := range parsed.mistakes {
			report(mistake)
		}
		for _, figure := range parsed.figures {
			c.claimFigure(figure, report)
		}
	}
}

// claimFigure checks that the experiment has what a figure is asked of.
func (c *checker) claimFigure(f figureCall, report func(string)) {
	if problem := c.noSUT(f.sut); problem != "" {
		report(problem)
		return
	}
	if f.atStart() {
		return
	}
	if problem := c.noRung(f.sut, f.rung(c.e)); problem != "" {
		report(problem)
	}
}

// knownFigures lists the figures for a message.
func knownFigures() string { return strings.Join(record.FigureNames(), ", ") }
