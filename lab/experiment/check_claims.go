package experiment

import (
	"fmt"

	"loomlab/lab/claim"
	"loomlab/lab/record"
)

// claims checks that each claim is an expression that can be decided, and that it
// speaks of figures, SUTs and rungs that the experiment has. Whether it holds is
// for a run to say.
func (c *checker) claims() {
	for i, stated := range c.e.Claims {
		path := fmt.Sprintf("claims[%d]", i)
		if !c.has(path + ".text") {
			c.add(path, "a claim without text, the statement in words")
		}
		if stated.Of != "" && stated.Of != record.OfInstrument {
			c.add(path+".of", "%q; want instrument, for a claim about what measures, or nothing", stated.Of)
		}
		if !c.has(path + ".expr") {
			c.add(path, "a claim without expr, such as throughput('a', 100) > throughput('b', 100)")
			continue
		}
		if c.mistaken(path + ".expr") {
			continue
		}
		report := func(text string) { c.add(path+".expr", "%s", text) }
		parsed, err := claim.Parse(stated.Expr)
		if err != nil {
			report(err.Error())
			continue
		}
		for _, mistake := range parsed.Mistakes {
			report(mistake)
		}
		for _, figure := range parsed.Figures {
			c.claimFigure(figure, report)
		}
	}
}

// claimFigure checks that the experiment has what a figure is asked of.
func (c *checker) claimFigure(f claim.FigureCall, report func(string)) {
	if problem := c.noSUT(f.SUT); problem != "" {
		report(problem)
		return
	}
	if f.AtStart() {
		return
	}
	if problem := c.noRung(f.SUT, f.Rung(c.e)); problem != "" {
		report(problem)
	}
}
