package record

import "slices"

// Pauses are the times in which a JVM stopped its threads to collect garbage
// inside a window, from its own log: all of them, where samples once a second see
// only the last of each second.
type Pauses struct {
	File    string     `json:"file"` // the log, in the run directory
	Span    [2]float64 `json:"span"` // of the window, in seconds on the clock of the series
	Count   int64      `json:"count"`
	TotalMS float64    `json:"total_ms"`
	P50MS   *float64   `json:"p50_ms"` // null without a pause
	P90MS   *float64   `json:"p90_ms"`
	P99MS   *float64   `json:"p99_ms"`
	MaxMS   *float64   `json:"max_ms"`

	Kinds     []PauseKind   `json:"kinds"`     // most time first
	Histogram []PauseBucket `json:"histogram"` // in steps of 1, 2, 5
	List      []Pause       `json:"list"`      // in order of time; the longest ones where there are too many
	Omitted   int           `json:"omitted,omitempty"`
}

// Pause is one of them.
type Pause struct {
	At   float64 `json:"at"` // its beginning, in seconds on the clock of the series
	MS   float64 `json:"ms"`
	Kind string  `json:"kind"` // Young, Full, Remark, …
	// Cause is why, and of which sort, in the collector's words.
	Cause string `json:"cause,omitempty"`
	// Heap used before and after it; 0 where the collector does not say.
	BeforeBytes int64 `json:"before_bytes,omitempty"`
	AfterBytes  int64 `json:"after_bytes,omitempty"`
}

// PauseKind sums the pauses of one kind.
type PauseKind struct {
	Kind    string  `json:"kind"`
	Count   int64   `json:"count"`
	TotalMS float64 `json:"total_ms"`
	MaxMS   float64 `json:"max_ms"`
}

// PauseBucket counts the pauses above the bucket before, up to and with UpToMS.
type PauseBucket struct {
	UpToMS float64 `json:"up_to_ms"`
	Count  int64   `json:"count"`
}

// longestPauses is how many pauses a cell keeps one by one: ten minutes at five a second.
const longestPauses = 3000

// NewPauses sums pauses up; they are in order of time.
func NewPauses(file string, span [2]float64, list []Pause) *Pauses {
	p := &Pauses{File: file, Span: span, Count: int64(len(list)), List: list, Kinds: []PauseKind{}, Histogram: []PauseBucket{}}
	if len(list) == 0 {
		p.List = []Pause{}
		return p
	}
	sorted := make([]float64, len(list))
	for i, pause := range list {
		sorted[i] = pause.MS
		p.TotalMS += pause.MS
		p.addKind(pause)
	}
	slices.Sort(sorted)
	slices.SortStableFunc(p.Kinds, func(a, b PauseKind) int {
		switch {
		case a.TotalMS > b.TotalMS:
			return -1
		case a.TotalMS < b.TotalMS:
			return 1
		}
		return 0
	})
	p.P50MS, p.P90MS, p.P99MS = rank(sorted, 0.50), rank(sorted, 0.90), rank(sorted, 0.99)
	p.MaxMS = rank(sorted, 1)
	p.Histogram = pauseHistogram(sorted)
	if len(list) > longestPauses {
		least := sorted[len(sorted)-longestPauses]
		p.List = slices.DeleteFunc(slices.Clone(list), func(x Pause) bool { return x.MS < least })
		p.Omitted = len(list) - len(p.List)
	}
	return p
}

func (p *Pauses) addKind(pause Pause) {
	i := slices.IndexFunc(p.Kinds, func(k PauseKind) bool { return k.Kind == pause.Kind })
	if i < 0 {
		i = len(p.Kinds)
		p.Kinds = append(p.Kinds, PauseKind{Kind: pause.Kind})
	}
	k := &p.Kinds[i]
	k.Count++
	k.TotalMS += pause.MS
	k.MaxMS = max(k.MaxMS, pause.MS)
}

// rank is the value that a share of the sorted ones does not exceed.
func rank(sorted []float64, share float64) *float64 {
	i := int(float64(len(sorted)) * share)
	if float64(i) == float64(len(sorted))*share {
		i--
	}
	v := sorted[min(max(i, 0), len(sorted)-1)]
	return &v
}

// pauseHistogram counts in steps of 1, 2, 5, from the bucket of the shortest to that of the longest.
func pauseHistogram(sorted []float64) []PauseBucket {
	var buckets []PauseBucket
	i := 0
	for scale := 1; i < len(sorted); scale *= 10 {
		for _, step := range []int{1, 2, 5} {
			upTo := float64(step*scale) / 1000 // from 1 µs
			n := int64(0)
			for i < len(sorted) && sorted[i] <= upTo {
				i++
				n++
			}
			if n > 0 || len(buckets) > 0 {
				buckets = append(buckets, PauseBucket{upTo, n})
			}
			if i == len(sorted) {
				break
			}
		}
	}
	return buckets
}
