package claim

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Decide says of each claim of a run's experiment what the run says of it. It
// reads nothing but the record, so it works for every stored run.
//
// A claim is confirmed or refuted where the arithmetic decides it (see
// eval.go) and nothing speaks against deciding. Otherwise it is undecided,
// with the reason: a figure that was not measured or cannot be trusted, stand-ins
// in place of the real thing, a run shortened by --quick, rounds on both sides of
// the threshold, or, for what would be refuted, CPUs that the author had and this
// machine has not, where more of them could turn it.
func Decide(saved *record.Saved) []record.ClaimResult {
	results := []record.ClaimResult{}
	for _, claim := range saved.Run.Experiment.Claims {
		results = append(results, decide(saved, claim))
	}
	return results
}

func decide(saved *record.Saved, claim record.Claim) record.ClaimResult {
	result := record.ClaimResult{Text: claim.Text, Expr: claim.Expr, Outcome: record.Undecided, Figures: []record.ClaimFigure{}}
	expr, err := Parse(claim.Expr)
	switch {
	case err != nil:
		result.Reason = err.Error()
		return result
	case len(expr.Mistakes) > 0: // written for another version
		result.Reason = strings.Join(expr.Mistakes, "; ")
		return result
	}
	e := evaluation{expr: expr, spans: map[string]span{}}
	judge := judgement{saved: saved, ofInstrument: claim.Of == record.OfInstrument}
	for _, call := range expr.Figures {
		f := judge.figure(call)
		result.Figures = append(result.Figures, f)
		if f.Low != nil && f.High != nil {
			e.spans[call.String()] = span{*f.Low, *f.High}
		}
	}
	result.Arithmetic = e.text(expr.root)
	outcome := map[truth]string{yes: record.Confirmed, no: record.Refuted, open: record.Undecided}[e.truth(expr.root)]
	judge.couldTurn = e.withMoreCPUs(judge.cpuBound).truth(expr.root) != no
	result.Outcome, result.Reason = judge.outcome(outcome, result.Figures)
	return result
}

// judgement collects what speaks against deciding a claim.
type judgement struct {
	saved *record.Saved
	// ofInstrument says that the claim is about the instrument: that this is the limit
	// is no reason to doubt it.
	ofInstrument bool

	standins []string // SUTs that were stand-ins
	unsound  []string // figures that cannot be trusted, with the reason
	cpuBound []string // figures that the CPUs of this machine bound
	// couldTurn says that a refuted claim need not be, were those figures better.
	couldTurn bool
}

// outcome is what remains of the arithmetic's: the first thing that speaks
// against it is the reason.
func (j *judgement) outcome(arithmetic string, figures []record.ClaimFigure) (outcome, reason string) {
	run := &j.saved.Run
	would := ""
	if arithmetic != record.Undecided {
		would = "; by the figures as they are it would be " + arithmetic
	}
	switch {
	case arithmetic == record.Undecided && missing(figures) != "":
		return record.Undecided, missing(figures)
	case len(j.standins) > 0:
		return record.Undecided, "stand-ins ran in place of " + strings.Join(j.standins, ", ") + would
	case run.Experiment.Quick:
		return record.Undecided, "the run was shortened by --quick" + would
	case arithmetic == record.Undecided && intervals(figures):
		return record.Undecided, "the intervals lie on both sides"
	case arithmetic == record.Undecided:
		return record.Undecided, fmt.Sprintf("the rounds lie on both sides; %d forks would give an interval", record.IntervalForks)
	case len(j.unsound) > 0:
		return record.Undecided, strings.Join(j.unsound, "; ") + would
	case arithmetic == record.Refuted && j.couldTurn && j.fewerCores():
		return record.Undecided, fmt.Sprintf("limited by the %s of this machine, where the author had %d: %s%s",
			phrase.Count(run.Machine.Cores, "core"), run.Experiment.Source.Cores, strings.Join(j.cpuBound, ", "), would)
	}
	return arithmetic, ""
}

// fewerCores tells whether the author's machine had more than this one.
func (j *judgement) fewerCores() bool {
	source, cores := j.saved.Run.Experiment.Source, j.saved.Run.Machine.Cores
	return source != nil && cores > 0 && source.Cores > cores
}

// fullCPUs is the share of the machine's CPU time from which on it is used up,
// whatever else the verdict found.
const fullCPUs = 0.95

// full tells whether the machine had next to no CPU time left in a window.
func (j *judgement) full(c *record.Cell) bool {
	m, cores := c.Machine, j.saved.Run.Machine.Cores
	return m != nil && m.BusyS != nil && m.Seconds > 0 && cores > 0 && *m.BusyS >= fullCPUs*m.Seconds*float64(cores)
}

// missing says which figures have no value, and why.
func missing(figures []record.ClaimFigure) string {
	var parts []string
	for _, f := range figures {
		if f.Missing != "" {
			parts = append(parts, f.Figure+": "+f.Missing)
		}
	}
	return strings.Join(parts, "; ")
}

// intervalBasis begins the basis of a figure that is an interval over forks.
const intervalBasis = "95 % interval of "

// intervals tells whether all figures are intervals over forks.
func intervals(figures []record.ClaimFigure) bool {
	return !slices.ContainsFunc(figures, func(f record.ClaimFigure) bool { return !strings.HasPrefix(f.Basis, intervalBasis) })
}

// figure looks a figure up in the run.
func (j *judgement) figure(call FigureCall) record.ClaimFigure {
	f := record.ClaimFigure{Figure: call.String(), SUT: call.SUT, Values: []float64{}, Doubts: []string{}}
	if call.AtStart() {
		j.startFigure(call, &f)
	} else {
		j.cellFigure(call, &f)
	}
	standin := slices.ContainsFunc(j.saved.Run.Starts, func(s record.Start) bool { return s.SUT == call.SUT && s.Kind == record.KindStandin })
	if standin && !slices.Contains(j.standins, call.SUT) {
		j.standins = append(j.standins, call.SUT)
	}
	return f
}

// startFigure takes the figure of every start of a SUT.
func (j *judgement) startFigure(call FigureCall, f *record.ClaimFigure) {
	m := call.of.AtStart
	f.Metric, f.Unit = m.Name, m.Unit
	for i := range j.saved.Run.Starts {
		s := &j.saved.Run.Starts[i]
		if s.SUT != call.SUT {
			continue
		}
		if v := m.Of(s); v != nil && s.Error == "" {
			f.Values = append(f.Values, *v)
			continue
		}
		f.Missing = "not measured"
		if s.Error != "" {
			f.Missing = "the SUT did not start: " + phrase.FirstLine(s.Error)
		}
		return
	}
	if len(f.Values) == 0 {
		f.Missing = call.SUT + " did not run"
		return
	}
	f.Basis = phrase.Count(len(f.Values), "start")
	bounds(f, record.Over(f.Values))
}

// cellFigure takes the figure of every window of a SUT on a rung.
func (j *judgement) cellFigure(call FigureCall, f *record.ClaimFigure) {
	m, rung := call.of.Metric, call.Rung(&j.saved.Run.Experiment)
	f.Metric, f.Unit, f.Connections, f.Rate = m.Name, m.Unit, rung.Connections, rung.Rate
	cells := j.saved.At(call.SUT, rung)
	if f.Missing = j.notMeasured(call.SUT, rung, cells); f.Missing != "" {
		return
	}
	forks := map[int]bool{}
	for _, c := range cells {
		v := m.Of(c)
		if v == nil {
			f.Missing, f.Values = m.Why(c), []float64{}
			return
		}
		f.Values = append(f.Values, *v)
		forks[c.Fork] = true
	}
	f.Basis = phrase.Count(len(cells), "round")
	if len(forks) > 1 {
		f.Basis += fmt.Sprintf(" of %d forks", len(forks))
	}
	bounds(f, record.Over(f.Values))
	if s := record.Summarise(cells, m); s != nil && s.Low != nil && len(s.Values) == len(forks) {
		f.Low, f.High = s.Low, s.High
		f.Basis = intervalBasis + fmt.Sprintf("%d forks", len(forks))
	}
	j.trust(f, m, cells)
}

// bounds are the lowest and the highest of values.
func bounds(f *record.ClaimFigure, s *record.Summary) { f.Low, f.High = &s.Min, &s.Max }

// notMeasured says why a SUT does not have all of its windows on a rung, or "".
func (j *judgement) notMeasured(sut string, rung record.Rung, cells []*record.Cell) string {
	e := &j.saved.Run.Experiment
	for _, c := range cells {
		if c.Status != "ok" || c.Load == nil {
			return fmt.Sprintf("%s in round %d: %s", c.Status, c.Round, phrase.FirstLine(c.Reason))
		}
	}
	for _, s := range j.saved.Run.Starts {
		if s.SUT == sut && s.Error != "" {
			return "the SUT did not start: " + phrase.FirstLine(s.Error)
		}
	}
	l := e.LoadOf(sut)
	wanted := max(1, l.Rounds) * max(1, e.Forks)
	switch {
	case len(cells) == 0 && !slices.Contains(e.SUTNames(), sut):
		return sut + " did not run"
	case len(cells) == 0 && !slices.Contains(l.Rungs(), rung):
		return fmt.Sprintf("%s is no rung of this run", rung)
	case len(cells) < wanted:
		return fmt.Sprintf("%d of %s measured", len(cells), phrase.Count(wanted, "window"))
	}
	return ""
}

// trust notes the doubts of the windows behind a figure, and what bounds them. One
// window in which the machine was busy spoils nothing: it can only widen the span,
// so the others decide. Where they are half of the windows or more, it does.
func (j *judgement) trust(f *record.ClaimFigure, m record.Metric, cells []*record.Cell) {
	bound, engine := false, false
	voids, spoils, spoilt := "", "", 0
	for _, c := range cells {
		before := spoilt
		for _, d := range c.Doubts {
			if d.Metric != "" && d.Metric != m.Name {
				continue
			}
			if !slices.Contains(f.Doubts, d.Kind) {
				f.Doubts = append(f.Doubts, d.Kind)
			}
			text := fmt.Sprintf("%s (%s)", d.Kind, d.Evidence)
			switch {
			case d.Voids():
				voids = text
			case d.Spoils(m) && spoilt == before && !(j.ofInstrument && d.OfInstrument()):
				spoils, spoilt = text, spoilt+1
			}
		}
		if m.Timed {
			bound = bound || j.full(c)
		}
		if c.Verdict != nil && m.Timed {
			bound = bound || c.Verdict.Kind == record.VerdictCPU
			engine = engine || c.Verdict.Kind == record.VerdictLoadEngine && !j.ofInstrument
		}
	}
	switch {
	case voids != "":
		j.unsound = append(j.unsound, f.Figure+" cannot be trusted: "+voids)
	case 2*spoilt >= len(cells) && spoilt > 0:
		j.unsound = append(j.unsound, fmt.Sprintf("%s cannot be trusted: in %d of %s %s", f.Figure, spoilt, phrase.Count(len(cells), "window"), spoils))
	case engine:
		j.unsound = append(j.unsound, f.Figure+" cannot be trusted: the load engine is the limit there")
	case bound:
		j.cpuBound = append(j.cpuBound, f.Figure)
	}
}
