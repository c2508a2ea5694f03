package loadgen

import (
	"context"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"loomlab/clock"
)

// gang runs several generators against a server in one process, and opens each
// gate when all stand at it.
type gang struct {
	mu      sync.Mutex
	at      map[string]int // how many stand at a gate
	begin   []chan clock.Time
	open    []chan clock.Time
	told    map[string]clock.Time
	sent    func() int64     // requests that the server has seen
	before  map[string]int64 // of those, when a gate opened
	seconds map[float64]int  // windows' samples by their end
}

func (g *gang) observe(e Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.Event == "sample" && e.Sample.Phase == "window" {
		g.seconds[e.At]++
	}
	gates := map[string][]chan clock.Time{"armed": g.begin, "primed": g.open}[e.Event]
	if g.at[e.Event]++; g.at[e.Event] < len(g.begin) || gates == nil {
		return
	}
	g.before[e.Event] = g.sent()
	g.told[e.Event] = clock.Now().Add(500 * time.Millisecond) // far enough ahead for a busy machine
	for _, gate := range gates {
		gate <- g.told[e.Event]
	}
}

func runGang(t *testing.T, s *rawServer, n int, cfg Config) (*gang, []*Result) {
	t.Helper()
	cfg.URL = s.url
	g := &gang{at: map[string]int{}, told: map[string]clock.Time{}, before: map[string]int64{}, seconds: map[float64]int{}, sent: s.requests.Load}
	for range n {
		g.begin, g.open = append(g.begin, make(chan clock.Time, 1)), append(g.open, make(chan clock.Time, 1))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	results := make([]*Result, n)
	var group errgroup.Group
	for i := range n {
		own := cfg
		own.Part, own.Gates = Part{i + 1, n}, Gates{g.begin[i], g.open[i]}
		group.Go(func() (err error) {
			results[i], err = Run(ctx, own, g.observe)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		checkResult(t, r)
	}
	return g, results
}

// Three generators share a closed loop: all are connected before the load begins,
// windows are the same, and the sum is the load that was asked for.
func TestGeneratorsShareAClosedLoop(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAfter(20*time.Millisecond, okAnswer))
		g, results := runGang(t, s, 3, Config{Engine: engine, Connections: 20, Duration: 1500 * time.Millisecond, LeadIn: lead(100 * time.Millisecond), Loops: 1})
		if peak := s.peak.Load(); peak != 20 {
			t.Errorf("%d connections", peak)
		}
		// One connection a loop asks on its own before the load begins, one request at a time.
		if most := 3 * int64(time.Since(g.told["armed"].Wall())/(20*time.Millisecond)); g.before["armed"] > most {
			t.Errorf("%d requests before the load began", g.before["armed"])
		}
		for i, r := range results {
			if want := []int{7, 7, 6}[i]; r.Connections.Requested != want || r.Connections.Answered != want {
				t.Errorf("generator %d: %+v", i+1, r.Connections)
			}
			if r.Part.OpenedAt != g.told["primed"].Seconds() || r.Part.BeganAt < g.told["armed"].Seconds() {
				t.Errorf("generator %d opened its window at %v and began at %v; told %v", i+1, r.Part.OpenedAt, r.Part.BeganAt, g.told)
			}
		}
		for at, n := range g.seconds {
			if n != 3 {
				t.Errorf("%d generators have a second that ends at %v", n, at)
			}
		}
		all, err := Merge(results)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, all)
		if !all.Healthy() || all.Connections.Requested != 20 || all.Seconds != 1.5 || *all.RequestedS != 1.5 {
			t.Errorf("%+v in %v s", all.Connections, all.Seconds)
		}
		if off := *all.SlotSeconds/30 - 1; off > 0.01 || off < -0.01 {
			t.Errorf("%v slot seconds of 30", *all.SlotSeconds)
		}
	})
}

// An open loop's requests in the window are those of one schedule, to the request.
func TestGeneratorsShareARate(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := newRaw(t, answerAll(okAnswer))
		g, results := runGang(t, s, 3, Config{Engine: engine, Rate: 301, Duration: time.Second, LeadIn: lead(50 * time.Millisecond), Loops: 2})
		all, err := Merge(results)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, all)
		// Requests are due at begin + n ÷ rate.
		due := func(at clock.Time) int64 { return int64(at.Sub(g.told["armed"]).Seconds()*301) + 1 }
		open := g.told["primed"]
		if want := due(open.Add(time.Second)) - due(open); all.Open.Scheduled < want-1 || all.Open.Scheduled > want+1 || want < 300 || want > 302 {
			t.Errorf("%d scheduled, %d due", all.Open.Scheduled, want)
		}
		if off := all.Open.OfferedPerS - 301; off > 1e-9 || off < -1e-9 || all.Open.Scheduled-all.Open.NotStarted != all.Requests.Sent {
			t.Errorf("%+v, %d sent", *all.Open, all.Requests.Sent)
		}
	})
}

// A number of requests is divided to the request.
func TestGeneratorsShareACount(t *testing.T) {
	s := newRaw(t, answerAll(okAnswer))
	_, results := runGang(t, s, 2, Config{Connections: 4, Requests: 101, LeadIn: lead(50 * time.Millisecond)})
	if a, b := results[0].Requests, results[1].Requests; a.Sent != 51 || b.Sent != 50 {
		t.Errorf("%+v and %+v", a, b)
	}
	all, err := Merge(results)
	if err != nil || all.Requests.Sent != 101 || all.RequestedS != nil {
		t.Errorf("%+v, %v", all, err)
	}
}
