package report

import (
	"slices"
	"strings"

	"loomlab/lab/record"
)

// role is what a metric is good for in a cell.
type role struct {
	primary int    // 1: the primary metric of the regime; 2: its second one
	verdict string // NoPower or NotJudged, fixed before looking; else ""
	reason  string
}

// order puts the primary metrics first and the rest as it was.
func (r role) order() int {
	if r.primary > 0 {
		return r.primary
	}
	return 3
}

// plan says, from the regimes of both sides alone and so before any figure is
// looked at, which metric decides and which cannot (METHOD rule 8).
type plan struct {
	text      string
	primaries []string
	powerless map[string]string // metric → why
	unjudged  map[string]string
}

func (p plan) role(m record.Metric) role {
	if at := slices.Index(p.primaries, m.Name); at >= 0 {
		return role{primary: at + 1}
	}
	if why := p.powerless[m.Name]; why != "" {
		return role{verdict: NoPower, reason: why}
	}
	if why := p.unjudged[m.Name]; why != "" {
		return role{verdict: NotJudged, reason: why}
	}
	return role{}
}

const sutCPU = "sut_cpu_us"

func regimePlan(a, b half, rung record.Rung) plan {
	p := plan{powerless: map[string]string{}, unjudged: map[string]string{
		"load_cpu_us":       "the instrument's own cost",
		"downstream_cpu_us": "the instrument's own cost",
	}}
	p.memory(a, b, rung)
	none := func(why string, names ...string) {
		for _, name := range names {
			p.powerless[name] = why
		}
	}
	none("in a closed loop p99 restates throughput; rank tails at equal rate", record.P99)
	regime := a.regime
	if a.regime != b.regime {
		regime = mixed(a.regime, b.regime)
	}
	switch {
	case a.missing != "" || b.missing != "":
		p.text = "not on both sides"
		return p
	case rung.Rate != 0:
		delete(p.powerless, record.P99)
		p.primaries = []string{record.P99}
		none("the offered rate sets it", record.Throughput)
	case regime == record.RegimeClient:
		p.primaries = []string{sutCPU, record.P50MinusDelay}
		none("the load sets it: connections ÷ delay", record.Throughput)
		if a.noDelay != "" || b.noDelay != "" {
			p.primaries[1] = record.P50
		} else {
			none("p50 minus delay says it without the delay", record.P50)
		}
	case regime == record.RegimePool:
		p.primaries = []string{sutCPU}
		none("the limit sets it", record.Throughput)
		none("connections ÷ throughput, which the limit sets", record.P50, record.P50MinusDelay)
	case regime == record.RegimeNone:
		none("what held the cell back is not the SUT", record.Throughput, record.P50, record.P50MinusDelay)
	default:
		p.primaries = []string{record.Throughput}
		none("in a closed loop it restates throughput", record.P50, record.P50MinusDelay)
	}
	p.describe(a, b, rung)
	return p
}

// mixed is the regime of a cell whose sides are in different ones. Where only
// one side is at a limit, their throughputs do differ by what the SUTs are; where
// the lab itself holds one side back, nothing can be said.
func mixed(a, b string) string {
	if a == record.RegimeNone || b == record.RegimeNone {
		return record.RegimeNone
	}
	return record.RegimeCPU
}

// memory keeps figures apart that are "after other rungs" (METHOD rule 12).
func (p *plan) memory(a, b half, rung record.Rung) {
	if climbed(a, rung) == climbed(b, rung) {
		return
	}
	for _, name := range []string{"rss_mb", "rss_minus_heap_mb", "heap_committed_mb", record.HeapAfterGC} {
		p.unjudged[name] = "memory does not come back, and the rungs climbed before differ"
	}
}

// climbed is what a SUT process went through before a rung.
func climbed(h half, rung record.Rung) string {
	e := &h.Saved.Run.Experiment
	rungs := e.LoadOf(h.name).Rungs()
	at := slices.Index(rungs, rung)
	if e.Isolate != "" || at < 0 {
		return ""
	}
	return ladder(rungs[:at])
}

// regimeWords name the regimes for people.
var regimeWords = map[string]string{
	record.RegimeClient:   "client-limited",
	record.RegimePool:     "held by a limit of the SUT",
	record.RegimeCPU:      "limited by the SUT's CPU",
	record.RegimeUncapped: "below every known ceiling",
	record.RegimeNone:     "not held back by the SUT",
}

func (p *plan) describe(a, b half, rung record.Rung) {
	words := func(h half) string {
		return regimeWords[h.regime] + inBrackets(differently(h.why, regimeWords[h.regime]))
	}
	p.text = words(a)
	if words(b) != words(a) {
		p.text = "old " + words(a) + ", new " + words(b)
	}
	if rung.Rate != 0 {
		p.text = "equal rate"
	}
	if len(p.primaries) == 0 {
		p.text += ": no primary metric"
		return
	}
	var labels []string
	for _, name := range p.primaries {
		labels = append(labels, labelOf(name))
	}
	p.text += ": the primary metric is " + strings.Join(labels, ", then ")
}

// differently drops a reason that says the same again.
func differently(why, words string) string {
	if why == words {
		return ""
	}
	return why
}

func labelOf(name string) string {
	if name == record.P50MinusDelay {
		return record.AddedLatency(nil).Label
	}
	m, _ := record.MetricNamed(name)
	return m.Label
}
