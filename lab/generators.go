package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"loomlab/clock"
	"loomlab/lab/record"
)

// gateAhead is how long beforehand generators are told when a gate opens, beside
// what a word takes to them: the engine's loops want 50 ms, and this host may be busy.
const gateAhead = 200 * time.Millisecond

// generators are several processes of our engine that share the load of a cell.
// They bring them through their gates together, and join what they say to what one
// engine would have said, for the window that follows the load.
type generators struct {
	each   func(record.LoadEvent) // takes the joined events, one at a time
	mu     sync.Mutex
	all    []*generator
	opened bool
	result *record.LoadResult // once all have given theirs
	err    error              // why the results cannot be joined
}

// generator is one of them.
type generator struct {
	index int // from 1
	of    int
	place launcher
	tier  *tier
	ahead float64 // how far the clock of its host is ahead of ours, in seconds

	begin, open float64            // when it was told to begin and to open its window, on its host's clock
	passed      map[string]bool    // events that it has said
	closed      float64            // when its window closed, on this host's clock
	seconds     []record.LoadEvent // samples that wait for those of the others
	result      *record.LoadResult // its last word
}

func (g *generator) String() string {
	return fmt.Sprintf("generator %d of %d (%s)", g.index, g.of, g.place)
}

// tell writes a word to its stdin, with an instant of its host's clock. An error
// shows as the generator's end.
func (g *generator) tell(word string, at float64) {
	_, _ = io.WriteString(g.tier.stdin, word+" "+strconv.FormatFloat(at, 'f', 9, 64)+"\n")
}

// clock is how far the clock of the launcher's host is ahead of this one's, and how
// long a word takes to get there at most. All processes of this host have one clock.
func (l launcher) clock() (ahead, trip time.Duration) {
	if l.site == nil {
		return 0, 0
	}
	best := l.site.clock.best()
	return best.offset, best.rtt
}

// line handles one JSON line of generator i, which has its host's clock. It runs on
// that one's reader.
func (gs *generators) line(i int, b []byte) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.all[i]
	var e record.LoadEvent
	err := json.Unmarshal(b, &e)
	if err == nil && e.Event == "result" {
		g.result = &record.LoadResult{}
		err = json.Unmarshal(b, g.result)
	}
	if err != nil {
		gs.err = fmt.Errorf("%v said %.80q, which is no JSON of the load engine", g, b)
		return
	}
	e.At -= g.ahead // here and nowhere before: what is told to it went the other way
	gs.take(g, e)
}

// take goes on with what a generator said.
func (gs *generators) take(g *generator, e record.LoadEvent) {
	switch {
	case e.Event == "sample" && e.Sample != nil:
		g.seconds = append(g.seconds, e)
	case e.Event == "window" && e.State == "open":
		if !gs.opened {
			gs.opened = true
			gs.each(e)
		}
	case e.Event == "window":
		g.closed = e.At
	case e.Event == "result" && g.closed == 0:
		gs.giveUp(g)
	}
	g.passed[e.Event+e.State] = true
	switch e.Event + e.State {
	case "armed":
		if gs.stand("armed") {
			gs.openGate("go", func(g *generator, at float64) { g.begin = at })
		}
	case "primed":
		if gs.stand("primed") {
			gs.openGate("open", func(g *generator, at float64) { g.open = at })
		}
	case "ready", "windowclosed":
		if gs.stand(e.Event + e.State) {
			gs.each(record.LoadEvent{Event: e.Event, At: max(e.At, gs.lastClosed()), State: e.State})
		}
	case "result":
		gs.join()
	}
	gs.joinSeconds()
}

// stand tells whether all have said so. A generator that has given its result
// before says nothing more, and nobody waits for it.
func (gs *generators) stand(event string) bool {
	return !slices.ContainsFunc(gs.all, func(g *generator) bool { return !g.passed[event] && g.result == nil })
}

// openGate tells all the instant at which they go on, each on the clock of its host.
func (gs *generators) openGate(word string, note func(*generator, float64)) {
	far := time.Duration(0)
	for _, g := range gs.all {
		_, trip := g.place.clock()
		far = max(far, trip)
	}
	at := clock.Now().Add(gateAhead + far).Seconds()
	for _, g := range gs.all {
		g.compareClock() // clocks drift, and a warm-up is long
		note(g, at+g.ahead)
		go g.tell(word, at+g.ahead) // one that is slow to take it must not hold up the others
	}
}

// compareClock takes how far the clock of the generator's host is ahead by now.
func (g *generator) compareClock() {
	ahead, _ := g.place.clock()
	g.ahead = ahead.Seconds()
}

// giveUp ends the others when one has ended without a window: it found no server,
// and the load would not be the one that was asked for.
func (gs *generators) giveUp(but *generator) {
	for _, g := range gs.all {
		if g != but && g.result == nil && g.tier != nil { // nil: it could not be started, and all are being ended
			g.tier.interrupt()
		}
	}
}

func (gs *generators) lastClosed() float64 {
	last := 0.0
	for _, g := range gs.all {
		last = max(last, g.closed)
	}
	return last
}

// joinSeconds hands on the seconds that all have told. They begin and end at the
// same instants, so the first of one belongs to the first of another.
func (gs *generators) joinSeconds() {
	for {
		part := -1
		for _, g := range gs.all {
			switch {
			case len(g.seconds) > 0:
				if of := partOfRun(g.seconds[0].Sample.Phase); part < 0 || of < part {
					part = of
				}
			case g.result == nil:
				return
			}
		}
		if part < 0 {
			return
		}
		joined := record.LoadEvent{Event: "sample"}
		var samples []*record.LoadSample
		for _, g := range gs.all {
			if len(g.seconds) > 0 && partOfRun(g.seconds[0].Sample.Phase) == part {
				joined.At = max(joined.At, g.seconds[0].At)
				samples = append(samples, g.seconds[0].Sample)
				g.seconds = g.seconds[1:]
			}
		}
		joined.Sample = record.MergeLoadSamples(samples)
		gs.each(joined)
	}
}

// partOfRun tells the seconds before a window from those in it and after it.
func partOfRun(phase string) int {
	return max(0, slices.Index([]string{"", "window", "drain"}, phase))
}

// join makes one result of those of all, once they are there.
func (gs *generators) join() {
	var parts []*record.LoadResult
	for _, g := range gs.all {
		if g.result == nil {
			return
		}
		parts = append(parts, g.result)
	}
	all, err := record.MergeLoads(parts)
	if err != nil {
		gs.err = err
		return
	}
	var starts, opens []float64 // how late, in ms
	for i, g := range gs.all {
		own := &all.Generators[i]
		own.Place = g.place.String()
		if part := g.result.Part; part.BeganAt > 0 && g.begin > 0 {
			own.StartLateMS = late(part.BeganAt, g.begin)
			starts = append(starts, *own.StartLateMS)
		}
		if part := g.result.Part; part.OpenedAt > 0 && g.open > 0 {
			own.OpenLateMS = late(part.OpenedAt, g.open)
			opens = append(opens, *own.OpenLateMS)
		}
	}
	if len(starts) == len(gs.all) && len(opens) == len(gs.all) {
		spread := max(slices.Max(starts)-slices.Min(starts), slices.Max(opens)-slices.Min(opens))
		all.StartSpreadMS = &spread
	}
	gs.result = all
}

// late is in milliseconds, without the digits that a clock does not have.
func late(at, told float64) *float64 {
	ms, _ := strconv.ParseFloat(strconv.FormatFloat((at-told)*1e3, 'f', 3, 64), 64) // what it has written itself
	return &ms
}

// lost is the first generator that has ended without a result, or nil.
func (gs *generators) lost() *generator {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, g := range gs.all { // which have all been started
		select {
		case <-g.tier.gone: // and all that it said is read
			if g.result == nil {
				return g
			}
		default:
		}
	}
	return nil
}

func newGenerators(places []launcher, each func(record.LoadEvent)) *generators {
	gs := &generators{each: each}
	for i, place := range places {
		g := &generator{index: i + 1, of: len(places), place: place, passed: map[string]bool{}}
		g.compareClock()
		gs.all = append(gs.all, g)
	}
	return gs
}

// generators are the places of the load on a rung, one generator each; no more
// than it has connections.
func (f *fork) generators(r record.Rung) []launcher {
	return f.inNetns(f.lab.hosts.launchers(f.plan.Generators(&f.sut.SUT, r)))
}
