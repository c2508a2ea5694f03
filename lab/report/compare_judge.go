package report

import (
	"fmt"
	"math"
	"slices"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// judge gives every row its verdict.
//
// From 6 forks a side the primary metrics are one family and all other metrics a
// second one, each after Benjamini and Hochberg, so that a comparison of alike
// sides finds anything among its primary metrics in at most 5 % of cases. With 4
// or 5 forks the smallest p is 0.029, which leaves no room for that: only the
// first primary metric of a cell is judged, alone, and the legend says so.
func (c *Comparison) judge() {
	var primaries, others []*ComparedRow
	alone := 0
	for i := range c.Cells {
		for j := range c.Cells[i].Rows {
			row := &c.Cells[i].Rows[j]
			switch {
			case !row.settle():
			case row.Forks() < record.IntervalForks:
				alone++
				row.decide(*row.P)
			case row.Primary:
				primaries = append(primaries, row)
			default:
				others = append(others, row)
			}
		}
	}
	shown := decideTogether(primaries)
	decideTogether(others)
	c.explain(len(primaries), shown, len(others), alone)
}

// settle gives the verdicts that need no test; it is true where a test decides.
func (r *ComparedRow) settle() bool {
	needs := record.IntervalForks
	if r.role.primary == 1 {
		needs = record.TestForks
	}
	switch {
	case r.Old == nil || r.New == nil:
		r.Verdict = Missing
	case r.role.verdict != "":
		r.Verdict = r.role.verdict
	case r.Forks() < needs:
		r.Verdict, r.Reason = Insufficient, fmt.Sprintf("needs %d", needs)
	case r.constant():
		r.Verdict = NotShown
	case r.belowResolution():
		r.Verdict, r.Reason = NotShown, "within the resolution of the histogram"
	default:
		return true
	}
	return false
}

// constant rows, such as errors that are zero everywhere, are no tests: they
// would only make the family larger.
func (r *ComparedRow) constant() bool {
	return r.Old.Min == r.Old.Max && r.New.Min == r.New.Max && r.Old.Min == r.New.Min
}

// belowResolution reports whether a change of latency is no more than one bucket
// of the histogram that it comes from.
func (r *ComparedRow) belowResolution() bool {
	return math.Abs(*r.Absolute) <= r.resolution && r.resolution > 0
}

func decideTogether(rows []*ComparedRow) (shown int) {
	p := make([]float64, len(rows))
	for i, row := range rows {
		p[i] = *row.P
	}
	for i, adjusted := range record.Adjust(p) {
		rows[i].Adjusted = &adjusted
		if rows[i].decide(adjusted); rows[i].Verdict != NotShown {
			shown++
		}
	}
	return shown
}

func (r *ComparedRow) decide(p float64) {
	switch {
	case p > record.Alpha || *r.Absolute == 0:
		r.Verdict = NotShown
		if r.Adjusted != nil && *r.P <= record.Alpha {
			r.Reason = "not among so many tests"
		}
	case r.metric.Better == "":
		r.Verdict = Differs
	case (*r.Absolute > 0) == (r.metric.Better == "higher"):
		r.Verdict = Better
	default:
		r.Verdict = Worse
	}
}

func (c *Comparison) explain(primaries, shown, others, alone int) {
	add := func(format string, a ...any) { c.Legend = append(c.Legend, fmt.Sprintf(format, a...)) }
	add("figures are medians over forks with pooled rounds, with their 95 %% intervals from %d forks on; p is of the exact Mann-Whitney U test over forks; the interval is of the relative change (Hodges and Lehmann)", record.IntervalForks)
	add("~: no difference is shown, which does not prove that there is none; a small p beside it does not hold among the other tests of its family")
	if primaries > 0 {
		add("primary metrics: %d of %d differ, judged together (Benjamini and Hochberg); where nothing differs, any is found in at most 5 %% of comparisons", shown, primaries)
	}
	if others > 0 {
		add("other metrics: %s judged together likewise", phrase.Count(others, "test"))
	}
	if alone > 0 {
		add("%s with 4 or 5 forks a side judged alone, unadjusted: each has a chance of up to 5 %% to be false; %d forks leave room for more", phrase.Count(alone, "primary metric"), record.IntervalForks)
	}
}

// FailIfWorse lists the primary metrics that got worse by more than limit (0.05
// is 5 %): those whose whole interval lies beyond it. undecided says why others
// could not be judged.
func (c *Comparison) FailIfWorse(limit float64) (worse, undecided []string) {
	for _, cell := range c.Cells {
		where := cell.title()
		if cell.OldMissing != "" || cell.NewMissing != "" {
			undecided = append(undecided, where+": "+joinReasons("old", cell.OldMissing, "new", cell.NewMissing))
			continue
		}
		at := slices.IndexFunc(cell.Rows, func(r ComparedRow) bool { return r.role.primary == 1 })
		if at < 0 {
			undecided = append(undecided, where+": "+cell.Regime)
			continue
		}
		row := cell.Rows[at]
		switch {
		case row.Low == nil || row.High == nil:
			reason := row.Reason
			if row.Forks() > 0 && row.Forks() < record.IntervalForks {
				reason = fmt.Sprintf("%s a side, an interval needs %d", phrase.Count(row.Forks(), "fork"), record.IntervalForks)
			}
			undecided = append(undecided, fmt.Sprintf("%s, %s: %s", where, row.metric.Label, orElse(reason, "no interval of a relative change")))
		case row.metric.Better == "lower" && *row.Low > limit, row.metric.Better == "higher" && *row.High < -limit:
			worse = append(worse, fmt.Sprintf("%s, %s: %s, interval %s", where, row.metric.Label, percent(row.Relative), interval(row.Low, row.High)))
		}
	}
	return worse, undecided
}

// title names the cell.
func (c *ComparedCell) title() string {
	return escape(sutPair{c.OldSUT, c.NewSUT}.String()) + ", " + rungTitle(record.Rung{Connections: c.Connections, Rate: c.Rate})
}

// percent writes a relative change with its sign.
func percent(v *float64) string {
	if v == nil {
		return ""
	}
	return signed(*v) + " %"
}

func signed(v float64) string {
	if s := fmt.Sprintf("%+.1f", 100*v); s != "-0.0" && s != "+0.0" {
		return s
	}
	return "0.0"
}

func interval(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	return signed(*low) + "…" + signed(*high) + " %"
}
