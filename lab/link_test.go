package lab

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"loomlab/clock"
)

// linked joins two ends over pipes; the second serves.
func linked(t *testing.T, serve answerer) (asking *link, cut func()) {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	asking = newLink(fromClient)
	served := newLink(fromServer)
	go func() { _ = served.read(toServer, serve) }()
	go func() {
		err := asking.read(toClient, func(string, json.RawMessage) (any, error) { return nil, nil })
		asking.breakOff(err)
	}()
	cut = func() {
		_ = fromServer.CloseWithError(errors.New("cut"))
		_ = toServer.Close()
	}
	t.Cleanup(cut)
	return asking, cut
}

func TestLinkAnswersSideBySide(t *testing.T) {
	release := make(chan struct{})
	l, cut := linked(t, func(op string, body json.RawMessage) (any, error) {
		switch op {
		case "slow":
			<-release
		case "fail":
			return nil, errors.New("no room left")
		}
		return body, nil
	})
	slow := make(chan error, 1)
	go func() { slow <- l.ask(context.Background(), "slow", 1, nil) }()
	var got int
	if err := l.ask(t.Context(), "quick", 7, &got); err != nil || got != 7 {
		t.Errorf("beside a slow question: %d, %v", got, err)
	}
	if err := l.ask(t.Context(), "fail", 0, nil); err == nil || err.Error() != "no room left" {
		t.Errorf("a failure came as %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := l.ask(ctx, "slow", 2, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its limit: %v", err)
	}
	cut()
	if err := <-slow; err == nil {
		t.Error("who waited when the link was cut was not told")
	}
	close(release)
	if err := l.ask(t.Context(), "quick", 1, nil); err == nil {
		t.Error("a link that is cut still answers")
	}
}

// TestLinkTakesNoNoise: shells greet, and a probe of another version may say what
// this one does not know.
func TestLinkTakesNoNoise(t *testing.T) {
	asked := 0
	l := newLink(io.Discard)
	text := "Welcome to app1\n{\"motd\": 1}\n\x00\xff\n[]\n{\"id\": 99, \"body\": 1}\n{\"op\": \"line\", \"body\": {}}\n{\"op\": \"half"
	if err := l.read(strings.NewReader(text), func(string, json.RawMessage) (any, error) { asked++; return nil, nil }); err != io.EOF || asked != 1 {
		t.Errorf("%d events, %v; want the one", asked, err)
	}
}

// TestClockOffset: the sample with the shortest round trip counts, and it is off by
// at most half of that, wherever on the way the time went.
func TestClockOffset(t *testing.T) {
	const ahead = 3 * time.Second
	var c clockOffset
	now := clock.Time(time.Hour)
	for _, way := range [][2]time.Duration{{40, 1}, {2, 3}, {1, 90}, {200, 200}} {
		there, back := way[0]*time.Millisecond, way[1]*time.Millisecond
		c.add(now, now.Add(there+ahead), now.Add(there+back))
		now = now.Add(time.Second)
	}
	r := c.record()
	if off := math.Abs(r.OffsetS - ahead.Seconds()); off > r.ErrorS || r.RTTMS != 5 || r.ErrorS != 0.0025 || r.Samples != 4 {
		t.Errorf("%+v is off by %v", r, off)
	}
	if at := c.here(103); math.Abs(at-100) > r.ErrorS {
		t.Errorf("103 s there is %v s here, want 100", at)
	}
	if c.here(0) != 0 {
		t.Error("no moment became one")
	}
	c.add(now.Add(2*clockMemory), now.Add(2*clockMemory+time.Second), now.Add(2*clockMemory+time.Second))
	if r := c.record(); r.RTTMS != 1000 {
		t.Errorf("a comparison of long ago counts: %+v", r)
	}
}

func TestLinesComeOnThisClock(t *testing.T) {
	s := &site{}
	s.clock.add(0, clock.FromSeconds(50), 0)
	for line, want := range map[string]string{
		`{"event":"window","at":60.5,"state":"open"}`: `{"at":10.5,"event":"window","state":"open"}`,
		`{"event":"x"}`:        `{"event":"x"}`,
		`{"at":"noon"}`:        `{"at":"noon"}`,
		`no JSON`:              `no JSON`,
		`{"at":0,"event":"y"}`: `{"at":0,"event":"y"}`,
	} {
		if got := string(s.onThisClock([]byte(line))); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		var got, own string
		s.timed(launch{lines: func(b []byte) { got = string(b) }})([]byte(line))
		s.timed(launch{lines: func(b []byte) { own = string(b) }, theirClock: true})([]byte(line))
		if got != want || own != line {
			t.Errorf("%s: a tier's line is %s, and %s with its own clock", line, got, own)
		}
	}
	if s.timed(launch{}) != nil {
		t.Error("a tier without lines has some")
	}
}

// TestProbeEndsWithItsOrchestrator: its tiers with it, at the end of its stdin.
func TestProbeEndsWithItsOrchestrator(t *testing.T) {
	in, say := io.Pipe()
	hear, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Probe(in, out) }()
	l := newLink(say)
	go func() { _ = l.read(hear, func(string, json.RawMessage) (any, error) { return nil, nil }) }()
	var started startAnswer
	q := startQuestion{ID: 1, Tier: "sut", Argv: []string{"sh", "-c", "trap '' TERM; sleep 60 & wait"}, Grace: time.Minute}
	if err := l.ask(t.Context(), "start", q, &started); err != nil {
		t.Fatal(err)
	}
	if err := l.ask(t.Context(), "start", startQuestion{ID: 2, Tier: "sut", Argv: []string{"/no/such"}}, nil); err == nil || err.Error() != "command not found: /no/such" {
		t.Errorf("a command that is not there: %v", err)
	}
	if err := l.ask(t.Context(), "put", putQuestion{Folder: "apps-x", File: "../../etc/passwd"}, nil); err == nil {
		t.Error("a file outside of its folder was taken")
	}
	_ = say.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(9 * time.Second):
		t.Fatal("the probe did not end within 9 s")
	}
	awaitGone(t, 3*time.Second, started.PID)
}
