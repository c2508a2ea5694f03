package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"loomlab/clock"
	"loomlab/lab/record"
)

// wordsTo collects the words that are told to a generator.
type wordsTo struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *wordsTo) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *wordsTo) Close() error { return nil }

// has waits for a word, which is told from another goroutine, and returns its instant.
func (w *wordsTo) has(t *testing.T, word string) (at float64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		text := w.text.String()
		w.mu.Unlock()
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, word+" "); ok {
				if _, err := fmt.Sscan(rest, &at); err != nil {
					t.Fatal(err)
				}
				return at
			}
		}
	}
	t.Fatalf("it was never told %q", word)
	return 0
}

func (w *wordsTo) told(word string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.text.String(), word)
}

// pretended are n generators that a test speaks for; said are the joined events.
func pretended(n int) (gs *generators, words []*wordsTo, said *[]string) {
	said = &[]string{}
	gs = newGenerators(make([]launcher, n), func(e record.LoadEvent) {
		text := strings.TrimSpace(e.Event + " " + e.State)
		if e.Sample != nil {
			text += fmt.Sprintf(" %s %d", e.Sample.Phase, e.Sample.OK)
		}
		*said = append(*said, text)
	})
	for _, g := range gs.all {
		w := &wordsTo{}
		words = append(words, w)
		g.tier = &tier{stdin: w, done: make(chan struct{}), gone: make(chan struct{})}
		close(g.tier.done) // there is no process that could be interrupted
	}
	return gs, words, said
}

func resultLine(t *testing.T, i, of int, ok int64, began, opened float64) []byte {
	t.Helper()
	var r map[string]any
	body, err := json.Marshal(record.LoadResult{
		Mode: "closed", Seconds: 1, RequestedS: new(1.0), Connections: record.LoadConnections{Requested: 5, Established: 5, Answered: 5},
		Requests: record.LoadRequests{Sent: ok, OK: ok}, Part: &record.LoadPart{Index: i + 1, Of: of, BeganAt: began, OpenedAt: opened},
	})
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	r["event"], r["at"] = "result", 9.0
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// All are brought through their gates together, and what they say is joined to what
// one engine would say.
func TestGenerators(t *testing.T) {
	gs, words, said := pretended(2)
	far := &site{name: "far"} // it was started so much earlier
	far.clock.add(1, clock.Time(1000*time.Second)+1, 1)
	gs.all[1].place.site = far
	gs.all[1].compareClock()
	say := func(i int, format string, a ...any) { gs.line(i, fmt.Appendf(nil, format, a...)) }
	sample := func(i int, phase string, ok int) {
		say(i, `{"event": "sample", "at": 2, "sample": {"phase": %q, "seconds": 1, "ok": %d}}`, phase, ok)
	}
	say(0, `{"event": "armed", "at": 1}`)
	if words[0].told("go") {
		t.Fatal("one began before the other was connected")
	}
	say(1, `{"event": "armed", "at": 1001}`)
	began := words[0].has(t, "go")
	if other := words[1].has(t, "go"); other < began+999.999 || other > began+1000.001 {
		t.Errorf("told to begin at %v and %v", began, other)
	}
	say(0, `{"event": "ready", "at": 1}`)
	sample(0, "warmup", 1)
	say(1, `{"event": "ready", "at": 1001}`)
	sample(1, "connect", 2)
	sample(1, "lead-in", 5)
	say(1, `{"event": "primed", "at": 1002}`)
	sample(0, "lead-in", 4)
	say(0, `{"event": "primed", "at": 2}`)
	opened := words[0].has(t, "open")
	say(0, `{"event": "window", "state": "open", "at": %v}`, opened)
	say(1, `{"event": "window", "state": "open", "at": %v}`, opened+1000)
	sample(0, "window", 7)
	sample(1, "window", 8)
	say(0, `{"event": "window", "state": "closed", "at": 3}`)
	sample(0, "drain", 1)
	gs.line(0, resultLine(t, 0, 2, 10, began, opened))
	say(1, `{"event": "window", "state": "closed", "at": 1003}`)
	if gs.result != nil {
		t.Fatal("a result without the other's")
	}
	gs.line(1, resultLine(t, 1, 2, 11, began+1000.0072, opened+1000.001))
	want := []string{"ready", "sample connect 3", "sample lead-in 9", "window open", "sample window 15", "window closed", "sample drain 1"}
	if !reflect.DeepEqual(*said, want) {
		t.Errorf("%q, want %q", *said, want)
	}
	r := gs.result
	if gs.err != nil || r == nil {
		t.Fatalf("%v, %v", r, gs.err)
	}
	if r.Requests.OK != 21 || r.Identity() != 0 || len(r.Generators) != 2 || r.Generators[1].Place != "local" {
		t.Errorf("%+v, %+v", r.Requests, r.Generators)
	}
	if late := *r.Generators[1].StartLateMS; late < 7.19 || late > 7.21 || *r.StartSpreadMS < 7.19 || *r.StartSpreadMS > 7.21 || *r.Generators[1].OpenLateMS < 0.99 {
		t.Errorf("late %v and %v ms, spread %v ms", late, *r.Generators[1].OpenLateMS, *r.StartSpreadMS)
	}
}

// One that finds no server gives its result at once; nobody waits for it at a gate,
// and the sum shows that connections are missing.
func TestGeneratorWithoutAServer(t *testing.T) {
	gs, words, _ := pretended(2)
	gs.line(0, resultLine(t, 0, 2, 0, 0, 0))
	gs.line(1, []byte(`{"event": "armed", "at": 1}`))
	words[1].has(t, "go")
	if gs.lost() != nil {
		t.Error("it is taken for lost")
	}
	gs.line(1, resultLine(t, 1, 2, 0, 0, 0))
	if gs.result == nil || gs.result.StartSpreadMS != nil || gs.result.Generators[0].StartLateMS != nil {
		t.Errorf("%+v, %v", gs.result, gs.err)
	}
}

// One that cannot be started ends the others, whose last words find it not there.
func TestGeneratorThatCannotStart(t *testing.T) {
	gs, _, _ := pretended(2)
	gs.all[1].tier = nil
	gs.line(0, resultLine(t, 0, 2, 0, 0, 0))
	if gs.result != nil || gs.err != nil {
		t.Errorf("%+v, %v", gs.result, gs.err)
	}
}

func TestLostGenerator(t *testing.T) {
	gs, _, _ := pretended(3)
	gs.line(0, resultLine(t, 0, 3, 1, 1, 1))
	for _, g := range gs.all[:2] {
		close(g.tier.gone)
	}
	if lost := gs.lost(); lost != gs.all[1] || lost.String() != "generator 2 of 3 (local)" {
		t.Errorf("lost %v", lost)
	}
	gs.line(2, []byte("Segmentation fault"))
	if gs.err == nil || !strings.Contains(gs.err.Error(), "generator 3 of 3 (local) said \"Segmentation fault\"") {
		t.Error(gs.err)
	}
}

// Several processes are one tier in the series, and in a window.
func TestWatchOfSeveral(t *testing.T) {
	var points []record.Point
	w := newWatch(func(p record.Point) { points = append(points, p) })
	for range 2 {
		tr, err := start(os.Args[0], launch{tier: "load", argv: []string{"sleep", "60"}, log: io.Discard, grace: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.stop()
		if _, err := w.add(tr); err != nil {
			t.Skipf("SKIPPED: it cannot be probed here: %v", err)
		}
	}
	w.take()
	if len(points) != 1 || points[0].Tier != "load" || points[0].Sample.Processes != 2 {
		t.Errorf("%+v", points)
	}
	if own := w.windows("load", 0, 1e12); len(own) != 2 {
		t.Errorf("%d windows", len(own))
	}
	if all := w.window(points[0].Sample.At-0.1, points[0].Sample.At+0.1)["load"]; all == nil || all.Threads == nil || all.Threads.Live != 2 {
		t.Errorf("%+v", all)
	}
	if w.remove("load"); len(w.tiers) != 0 {
		t.Error("one is still watched")
	}
}
