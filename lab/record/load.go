package record

import (
	"cmp"
	"fmt"
	"slices"
)

// Load configures the ladder and the windows: that of the experiment, or one of
// a SUT's own.
type Load struct {
	Path string `yaml:"path" json:"path"`
	// Connections are the rungs of a closed loop; Rate are those of an open one,
	// in requests offered a second. A load has one of them.
	Connections []int     `yaml:"connections" json:"connections"`
	Rate        []float64 `yaml:"rate" json:"rate,omitempty"`
	Rounds      int       `yaml:"rounds" json:"rounds"`
	// Duration is the length of a window; it is 0 where Requests is set, with
	// which a window lasts until so many requests have their outcome.
	Duration Duration `yaml:"duration" json:"duration"`
	Requests int64    `yaml:"requests" json:"requests,omitempty"`
	// Targets are several paths in place of Path, mixed by weight.
	Targets []Target `yaml:"targets" json:"targets,omitempty"`
	Timeout Duration `yaml:"timeout" json:"timeout"`
	Engine  string   `yaml:"engine" json:"engine,omitempty"` // event loop of the load engine; "": the best here
	// Headers are sent with every request, in place of our own of the same name.
	Headers     map[string]string `yaml:"headers" json:"headers,omitempty"`
	NoKeepAlive bool              `yaml:"no_keepalive" json:"no_keepalive,omitempty"` // a connection for every request
	// Command is a load generator of somebody else's in place of our engine, with
	// placeholders such as {{url}} and {{connections}}. It prints one JSON object.
	Command []string `yaml:"command" json:"command,omitempty"`
	Warmup  Warmup   `yaml:"warmup" json:"warmup"`
	// EqualRate asks for an open-loop window of every SUT at 70 % of the weakest
	// one's throughput (METHOD rule 9); null: where there are several forks.
	EqualRate *bool `yaml:"equal_rate" json:"equal_rate"`
}

// Target is one path of a mixed load, and its share: the weight over the sum of
// all weights.
type Target struct {
	Path   string  `yaml:"path" json:"path"`
	Weight float64 `yaml:"weight" json:"weight"`
}

// Warmup bounds the load before a rung's first window; Max 0 is none. Max is that
// of a fork's first rung; later ones take half of it at most, or Min.
type Warmup struct {
	Min Duration `yaml:"min" json:"min"`
	Max Duration `yaml:"max" json:"max"`
	// Count is for authors who warm up by so many runs of their load: every rung
	// has the load of Count windows first, and Min and Max follow from that.
	Count int `yaml:"count" json:"count,omitempty"`
}

// Rungs are the steps of the ladder, in its order.
func (l *Load) Rungs() []Rung {
	var rungs []Rung
	for _, n := range l.Connections {
		rungs = append(rungs, Rung{Connections: n})
	}
	for _, r := range l.Rate {
		rungs = append(rungs, Rung{Rate: r})
	}
	return rungs
}

// Window says how long a window is: "10s", or "5000 requests".
func (l *Load) Window() string {
	if l.Requests > 0 {
		return fmt.Sprintf("%d requests", l.Requests)
	}
	return l.Duration.String()
}

// RequestsAt is how many requests a window on a rung sends, 0 where its length
// is a time: each connection sends at least one, however far a run is scaled down.
func (l *Load) RequestsAt(r Rung) int64 {
	if l.Requests == 0 {
		return 0
	}
	return max(l.Requests, int64(r.Connections))
}

// LoadOf is the load of a SUT: its own, or the experiment's.
func (e *Experiment) LoadOf(sut string) *Load {
	for i := range e.SUTs {
		if s := &e.SUTs[i]; s.Name == sut && s.Load != nil {
			return s.Load
		}
	}
	return &e.Load
}

// SUTNames lists the SUTs in the experiment's order.
func (e *Experiment) SUTNames() []string {
	names := make([]string, len(e.SUTs))
	for i, s := range e.SUTs {
		names[i] = s.Name
	}
	return names
}

// Rungs are the steps of all ladders of the experiment. Where the SUTs have
// different ones they are sorted, closed loops first.
func (e *Experiment) Rungs() []Rung {
	ladders := [][]Rung{}
	for i := range e.SUTs {
		ladders = append(ladders, e.LoadOf(e.SUTs[i].Name).Rungs())
	}
	if len(ladders) == 0 {
		return e.Load.Rungs()
	}
	all := slices.Clone(ladders[0])
	for _, ladder := range ladders[1:] {
		if slices.Equal(ladder, ladders[0]) {
			continue
		}
		all = append(all, ladder...)
		slices.SortFunc(all, func(a, b Rung) int {
			return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Connections, b.Connections))
		})
		all = slices.Compact(all)
	}
	return all
}

// Cells is how many windows the experiment asks for, those at equal rate apart.
func (e *Experiment) Cells() int {
	cells := 0
	for i := range e.SUTs {
		l := e.LoadOf(e.SUTs[i].Name)
		cells += len(l.Rungs()) * max(1, l.Rounds) * max(1, e.Forks)
	}
	return cells
}
