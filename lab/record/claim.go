package record

// Outcomes of a claim. A claim is decided where all rounds (from [IntervalForks]
// forks on: the interval of the median) lie on one side of its threshold (METHOD
// rule 19), and what they come from can be trusted.
const (
	Confirmed = "confirmed"
	Refuted   = "refuted"
	Undecided = "undecided" // not decidable here; the reason says why
)

// ClaimResult is a claim and what a run says of it.
type ClaimResult struct {
	Text    string `json:"text"`
	Expr    string `json:"expr"`
	Outcome string `json:"outcome"` // confirmed, refuted, undecided
	// Reason is why it is undecided; "" where it is not.
	Reason string `json:"reason"`
	// Arithmetic is the expression with what was measured in place of the figures:
	// "6353 … 6983 >= 3 * (1936 … 1950) = 5808 … 5850".
	Arithmetic string        `json:"arithmetic"`
	Figures    []ClaimFigure `json:"figures"`
}

// ClaimFigure is one figure that a claim speaks of.
type ClaimFigure struct {
	Figure      string    `json:"figure"` // as the expression has it: throughput('virtual', 1000)
	Metric      string    `json:"metric"` // name of the [Metric] or [StartMetric]
	Unit        string    `json:"unit"`
	SUT         string    `json:"sut"`
	Connections int       `json:"connections,omitempty"`
	Rate        float64   `json:"rate,omitempty"`
	Values      []float64 `json:"values"` // one a round, by fork and round
	// Low and High are what the claim goes by; null without values. Basis says what
	// they are: "2 rounds", "95 % interval of 6 forks".
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Basis   string   `json:"basis"`
	Missing string   `json:"missing,omitempty"` // why there is nothing to go by
	Doubts  []string `json:"doubts"`            // kinds, of the windows that it comes from
}

// StartMetric is one figure of a start, before any load.
type StartMetric struct {
	Name   string // "ready_s"
	Label  string
	Unit   string
	Better string

	read func(*Start) *float64
}

// Of returns the figure's value; nil where the start does not have it.
func (m StartMetric) Of(s *Start) *float64 { return m.read(s) }

// StartMetrics lists the figures of a start in the order of a table.
func StartMetrics() []StartMetric { return append([]StartMetric(nil), startMetrics...) }

var startMetrics = []StartMetric{
	{Name: "ready_s", Label: "ready after", Unit: "s", Better: "lower", read: func(s *Start) *float64 { return s.ReadyS }},
	{Name: "idle_rss_mb", Label: "idle RSS", Unit: "MB", Better: "lower", read: func(s *Start) *float64 { return megabytes(s.IdleRSSBytes) }},
	{Name: "first_request_ms", Label: "first request", Unit: "ms", Better: "lower", read: func(s *Start) *float64 {
		if s.FirstRequest == nil {
			return nil
		}
		return &s.FirstRequest.MS
	}},
}

// Figure is what a claim calls by name: a metric of a cell, or one of a start.
type Figure struct {
	Metric  Metric      // of a cell; with a name unless it is of a start
	AtStart StartMetric // likewise
}

// FigureNamed finds a figure by the name of its metric, or by that which the
// experiment file has for it ("threads_peak" is "platform_threads_peak").
func FigureNamed(name string) (Figure, bool) {
	if m, ok := MetricNamed(name); ok {
		return Figure{Metric: m}, true
	}
	for _, m := range metrics {
		if m.key == name {
			return Figure{Metric: m}, true
		}
	}
	for _, m := range startMetrics {
		if m.Name == name {
			return Figure{AtStart: m}, true
		}
	}
	return Figure{}, false
}

// FigureNames are all names that [FigureNamed] finds, each figure once.
func FigureNames() []string {
	var names []string
	for _, m := range metrics {
		if m.key != "" && m.key != Throughput {
			names = append(names, m.key)
			continue
		}
		names = append(names, m.Name)
	}
	for _, m := range startMetrics {
		names = append(names, m.Name)
	}
	return names
}
