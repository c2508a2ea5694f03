package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// inside is what the page shows of the insides of the JVMs.
type inside struct {
	Memory     []insideRung
	Pauses     []insideRung
	Recordings []insideRecording
	Exceptions []exceptionRow
	Rungs      []string // heads of the exceptions' table
	FlameKinds []string

	flames flameCharts
}

// Any reports whether there is anything to show.
func (i *inside) Any() bool {
	return len(i.Memory)+len(i.Pauses)+len(i.Recordings)+len(i.Exceptions) > 0
}

// insideRung is one rung: a waterfall or the pauses of each SUT.
type insideRung struct {
	Title string
	Falls []memoryFall
	GC    []pauseBars
}

// memoryFall is a waterfall with its bars laid out.
type memoryFall struct {
	htmlColumn
	Sentence string
	Missing  string
	Steps    []memoryStep
}

// memoryStep is a line of it: an amount as it stood, or what one part grew by.
type memoryStep struct {
	Name           string
	From, To       string // in MB; "" of an amount
	Figure         string
	Kind           string // idle, up, down, now, peak
	Left, Width    float64
	bytesFrom, end int64
}

// pauseBars are the pauses of a SUT by length.
type pauseBars struct {
	htmlColumn
	Text  string
	Heap  string
	Bars  []pauseBar
	Quiet bool // no pause at all
}

type pauseBar struct {
	Label string
	Count int64
	Width float64
}

// insideRecording is a flight recording.
type insideRecording struct {
	htmlColumn
	At      string
	Failed  string
	Files   []string
	Costs   []cost
	Facts   [][2]string
	Pinned  []string
	Samples string
	CPU     []hotRow
	Alloc   []hotRow
	Notes   []string
	Graphs  []int // their places among the flame graphs
}

type hotRow struct {
	Method string
	Whole  string // with its package
	Share  string
	Width  float64
}

// exceptionRow counts one exception of a SUT, rung by rung.
type exceptionRow struct {
	htmlColumn
	First  bool // of its SUT
	Cause  string
	Counts []string
	Total  int64
}

func newInside(saved *record.Saved, t *Table) inside {
	in := inside{flames: flameCharts{Frames: []string{}, Kinds: []int{}, Graphs: []*flameGraph{}}}
	column := func(i int) htmlColumn { return htmlColumn{escape(t.Columns[i]), i} }
	for _, b := range t.Rungs {
		in.Rungs = append(in.Rungs, b.Title)
		if rung := memoryRung(b, column); len(rung.Falls) > 0 {
			in.Memory = append(in.Memory, rung)
		}
		if rung := pauseRung(b, column); slices.ContainsFunc(rung.GC, func(p pauseBars) bool { return !p.Quiet }) {
			in.Pauses = append(in.Pauses, rung)
		}
	}
	in.exceptions(saved, t, column)
	for i := range saved.Run.Recordings {
		r := newInsideRecording(saved, &saved.Run.Recordings[i], &in.flames)
		r.htmlColumn = htmlColumn{escape(saved.Run.Recordings[i].SUT), max(0, slices.Index(t.Columns, saved.Run.Recordings[i].SUT))}
		in.Recordings = append(in.Recordings, r)
	}
	for _, kind := range flameKinds {
		in.FlameKinds = append(in.FlameKinds, kind.name)
	}
	in.FlameKinds = append(in.FlameKinds, flameOther)
	return in
}

func megabytes(bytes int64) string { return fixed(float64(bytes)/mib, 1) }

// memoryRung lays the waterfalls of one rung out over one scale, from 0 to the
// highest amount of any of them.
func memoryRung(b Block, column func(int) htmlColumn) insideRung {
	rung := insideRung{Title: b.Title}
	most := int64(1)
	for _, fall := range b.Memory {
		f := memoryFall{htmlColumn: column(fall.Column), Sentence: capital(fall.Sentence), Missing: fall.Missing}
		if f.Missing == "" {
			f.Steps = memorySteps(fall)
		}
		for _, s := range f.Steps {
			most = max(most, s.bytesFrom, s.end)
		}
		rung.Falls = append(rung.Falls, f)
	}
	for _, f := range rung.Falls {
		for i := range f.Steps {
			s := &f.Steps[i]
			s.Left = percentOf(min(s.bytesFrom, s.end), most)
			s.Width = percentOf(max(s.bytesFrom, s.end), most) - s.Left
		}
	}
	return rung
}

// percentOf is a share with a tenth of a percent.
func percentOf(part, whole int64) float64 {
	return math.Round(1000*float64(max(0, part))/float64(max(1, whole))) / 10
}

// memorySteps go from idle over each part's growth to the end of the window, and to
// the highest RSS where that was more. What changed by less than 1 MB is one step.
func memorySteps(fall waterfall) []memoryStep {
	at := fall.RSS.From
	steps := []memoryStep{{Name: "idle", Figure: megabytes(at), Kind: "idle", end: at}}
	step := func(name string, ch record.MemoryChange, parts bool) {
		s := memoryStep{Name: escape(name), Figure: fmt.Sprintf("%+.1f", float64(ch.By())/mib), Kind: "up", bytesFrom: at, end: at + ch.By()}
		if ch.By() < 0 {
			s.Kind = "down"
		}
		if parts {
			s.From, s.To = megabytes(ch.From), megabytes(ch.To)
		}
		at = s.end
		steps = append(steps, s)
	}
	for _, ch := range fall.Changes {
		if ch.By() >= mib || ch.By() <= -mib {
			step(ch.Name, ch, true)
		}
	}
	if rest := fall.RSS.To - at; math.Abs(float64(rest)) >= mib/20 {
		step("all else", record.MemoryChange{To: rest}, false)
	}
	steps = append(steps, memoryStep{Name: "window's end", Figure: megabytes(fall.RSS.To), Kind: "now", end: fall.RSS.To})
	if fall.Peak > fall.RSS.To {
		steps = append(steps, memoryStep{Name: "peak", Figure: megabytes(fall.Peak), Kind: "peak", end: fall.Peak})
	}
	return steps
}

// shortPause is how many times shorter than the longest step one is short.
const shortPause = 100

// pauseRung lays the histograms of one rung out over the same buckets and scale.
func pauseRung(b Block, column func(int) htmlColumn) insideRung {
	rung := insideRung{Title: b.Title}
	var buckets []float64
	most := int64(1)
	for _, story := range b.Pauses {
		for _, bucket := range story.Buckets {
			buckets = appendNew(buckets, bucket.UpToMS)
			most = max(most, bucket.Count)
		}
	}
	slices.Sort(buckets)
	least := 0.0 // what is far shorter than the longest pause stands in one step
	for _, upTo := range buckets {
		if upTo <= buckets[len(buckets)-1]/shortPause {
			least = upTo
		}
	}
	buckets = slices.DeleteFunc(buckets, func(upTo float64) bool { return upTo < least })
	for _, story := range b.Pauses {
		bars := pauseBars{htmlColumn: column(story.Column), Text: capital(story.Text), Heap: capital(story.Heap), Quiet: story.Count == 0}
		for _, upTo := range buckets {
			bar := pauseBar{Label: bucketLabel(record.PauseBucket{UpToMS: upTo})}
			for _, bucket := range story.Buckets {
				if bucket.UpToMS == upTo || bucket.UpToMS < upTo && upTo == least {
					bar.Count += bucket.Count
				}
			}
			if bar.Width = percentOf(bar.Count, most); !bars.Quiet {
				bars.Bars = append(bars.Bars, bar)
			}
		}
		rung.GC = append(rung.GC, bars)
	}
	return rung
}

// exceptions groups what the SUTs caught: by SUT, most frequent first.
func (i *inside) exceptions(saved *record.Saved, t *Table, column func(int) htmlColumn) {
	for at, sut := range t.Columns {
		rows := map[string]*exceptionRow{}
		var list []*exceptionRow
		for r, b := range t.Rungs {
			counts := map[string]int64{}
			for _, c := range saved.At(sut, b.Rung) {
				for cause, n := range c.Exceptions {
					counts[cause] += n
				}
			}
			for cause, n := range counts {
				row := rows[cause]
				if row == nil {
					row = &exceptionRow{htmlColumn: column(at), Cause: escape(cause), Counts: make([]string, len(t.Rungs))}
					rows[cause] = row
					list = append(list, row)
				}
				row.Counts[r], row.Total = fmt.Sprint(n), row.Total+n
			}
		}
		slices.SortFunc(list, func(a, b *exceptionRow) int {
			if a.Total != b.Total {
				return cmp.Compare(b.Total, a.Total)
			}
			return cmp.Compare(a.Cause, b.Cause)
		})
		for n, row := range list {
			row.First = n == 0
			i.Exceptions = append(i.Exceptions, *row)
		}
	}
}

// hotRows are how many methods the page lists.
const hotRows = 8

func newInsideRecording(saved *record.Saved, r *record.Recording, flames *flameCharts) insideRecording {
	in := insideRecording{At: rungTitle(record.Rung{Connections: r.Connections})}
	if r.Failed != "" {
		in.Failed = onOneLine(r.Failed)
		return in
	}
	in.Costs = costs(r)
	for _, name := range []string{r.File, r.FlameGraph, r.AllocationGraph, r.CPUStacks, r.AllocationStacks} {
		if name != "" {
			in.Files = append(in.Files, escape(name))
		}
	}
	fact := func(name, text string) { in.Facts = append(in.Facts, [2]string{name, escape(text)}) }
	if p := r.Pinned; p != nil {
		fact("pinned virtual threads", pinnedText(p))
		for _, s := range p.Stacks {
			in.Pinned = append(in.Pinned, pinnedStack(s))
		}
	}
	if g := r.GC; g != nil && g.Count > 0 {
		fact("GC", recordedPauses(g))
	}
	if t := r.Threads; t != nil {
		fact("platform threads", recordedThreads(t))
	}
	fact("socket waits", socketText(r))
	in.Samples = phrase.Count(int(r.Samples), "sample")
	in.CPU, in.Alloc = hotMethods(r.CPU), hotMethods(r.Allocation)
	for _, text := range r.Unsure {
		in.Notes = append(in.Notes, capital(escape(text)))
	}
	for _, graph := range []struct {
		label, file string
		samples     int64
	}{{"CPU", r.CPUStacks, r.Samples}, {"allocation", r.AllocationStacks, 0}} {
		if graph.file == "" {
			continue
		}
		if len(flames.Graphs) == flameGraphs {
			in.Notes = append(in.Notes, "The page is large enough: this flame graph is left to its file")
			continue
		}
		root, err := readFlame(saved, graph.file)
		if err != nil {
			in.Notes = append(in.Notes, "The flame graph is not shown: "+onOneLine(err.Error()))
			continue
		}
		title := fmt.Sprintf("Flame graph of %s at %s: %s", escape(r.SUT), in.At, graph.label)
		in.Graphs = append(in.Graphs, len(flames.Graphs))
		flames.add(graph.label, title, graph.samples, root)
	}
	return in
}

// shortMethods leaves the packages out: of a method, of a class that is allocated
// and of the method that does it.
func shortMethods(s string) string {
	what, in, allocated := strings.Cut(s, ", in ")
	if allocated {
		return what[strings.LastIndexByte(what, '.')+1:] + ", in " + shortMethods(in)
	}
	if method := strings.LastIndexByte(s, '.'); method > 0 {
		return s[strings.LastIndexByte(s[:method], '.')+1:]
	}
	return s
}

func hotMethods(list []record.HotMethod) []hotRow {
	var rows []hotRow
	for _, h := range list[:min(len(list), hotRows)] {
		rows = append(rows, hotRow{shortMethods(escape(h.Method)), escape(h.Method), fixed(100*h.Share, 1) + " %", math.Round(1000*h.Share/max(list[0].Share, 1e-9)) / 10})
	}
	return rows
}
