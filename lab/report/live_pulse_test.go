package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/loadgen"
	"loomlab/probes"
)

// beat feeds a view the seconds of a window.
func beat(l *Live, seconds int) {
	for i := range seconds {
		at := 100 + float64(i)
		for tier, cores := range map[string]float64{record.TierLoad: 0.25, record.TierSUT: 1.25, record.TierDownstream: 0.5} {
			l.Point(record.Point{SUT: "virtual", Fork: 1, Connections: 1000, Round: 1, Phase: "window", Tier: tier,
				Sample: &probes.Sample{At: at, CPUS: ptr(cores * float64(i)), RSSBytes: ptr(int64(400) << 20), Threads: ptr(int64(33)), Processes: 1}})
		}
		l.Point(record.Point{SUT: "virtual", Fork: 1, Tier: record.TierDownstream, InFlight: ptr(int64(980))})
		l.Point(record.Point{SUT: "virtual", Fork: 1, Tier: record.TierLoad, Load: &loadgen.Sample{Seconds: 1, OK: int64(1000 * (i + 1)), LatencyMS: &record.Latency{P99: float64(200 - 10*i)}}})
	}
}

func TestLiveShowsTheTiers(t *testing.T) {
	var out bytes.Buffer
	now := noon
	l := newLive(&out, true, 100, openSaved(t).Run.Experiment, func() time.Time { now = now.Add(time.Second); return now })
	l.Expect(18, 6*time.Minute)
	beat(l, 8)
	l.Phase("virtual · 1000 connections · round 1 · window")
	text := strings.Join(screen(t, out.String()), "\n")
	for _, want := range []string{
		"▸ virtual · 1000 connections · round 1 · window",
		"● load 400 MB   ● SUT 400 MB, 33 threads   ● downstream 400 MB, 980 in flight",
		"░░░████████████▒▒▒▒▒ ░ load 0.25  █ SUT 1.25  ▒ downstream 0.50 cores",
		"▂▃▄▅▆▇██ 8000/s   p99 ███▇▇▇▆▆ 130.0 ms", "0 of 18 cells", "about 5:5", "[----",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the screen:\n%s", want, text)
		}
	}
	for _, line := range screen(t, out.String()) {
		if width(line) >= 100 {
			t.Errorf("a line of %d cells would wrap: %s", width(line), line)
		}
	}
	l.Done()
	if after := strings.Join(screen(t, out.String()), ""); after != "" {
		t.Errorf("left on the screen: %s", after)
	}
}

// A narrow terminal gets shorter lines, never wrapped ones.
func TestLiveFitsAnyWidth(t *testing.T) {
	for columns := 30; columns <= 160; columns += 13 {
		var out bytes.Buffer
		l := newLive(&out, true, columns, record.Experiment{SUTs: []record.SUT{{Name: "a"}}, Load: record.Load{Connections: []int{5}}}, time.Now)
		beat(l, 60)
		l.Phase(strings.Repeat("虚拟线程 ", 30))
		lines := screen(t, out.String())
		for _, line := range lines[max(0, len(lines)-5):] { // beneath the table, which has a least width
			if width(line) >= columns {
				t.Errorf("%d columns: a line of %d cells: %s", columns, width(line), line)
			}
		}
	}
}

// Points come while a cell is being measured: without a terminal they cost nothing
// and show nothing.
func TestPointsNeedATerminal(t *testing.T) {
	var out bytes.Buffer
	l := newLive(&out, false, 0, record.Experiment{}, time.Now)
	beat(l, 3)
	l.Phase("window")
	l.Done()
	if out.Len() > 0 || l.pulse.throughput != nil {
		t.Errorf("shown: %q", out.String())
	}
}

// stuck is a terminal that takes nothing, as after Ctrl-S.
type stuck struct {
	begun   chan struct{}
	release chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.release
	return len(p), nil
}

func TestAStuckTerminalHoldsUpNoPoint(t *testing.T) {
	s := stuck{make(chan struct{}, 1), make(chan struct{})}
	l := newLive(s, true, 80, record.Experiment{}, time.Now)
	drawn := make(chan struct{})
	go func() { l.Phase("window"); close(drawn) }()
	<-s.begun
	beat(l, 2) // would hang here for ever
	close(s.release)
	<-drawn
	l.Done()
}

func TestTheTimeLeft(t *testing.T) {
	check := func(estimate, elapsed time.Duration, now, rest int, want time.Duration, known bool) {
		t.Helper()
		l := &Live{estimate: estimate, planned: 10}
		if got, ok := l.left(elapsed, now, rest); got.Round(time.Millisecond) != want || ok != known {
			t.Errorf("%v planned, %v gone, %d done and %d not: %v %v, want %v %v", estimate, elapsed, now, rest, got, ok, want, known)
		}
	}
	check(0, time.Minute, 0, 10, 0, false)
	check(0, time.Minute, 5, 5, time.Minute, true)
	check(10*time.Minute, time.Minute, 0, 10, 9*time.Minute, true)
	check(10*time.Minute, time.Minute, 0, 5, 4*time.Minute, true) // resumed in the middle
	check(time.Minute, 2*time.Minute, 0, 10, 0, true)
	check(10*time.Minute, 4*time.Minute, 5, 5, 4*time.Minute+30*time.Second, true) // half by plan 5:00, half by pace 4:00
	check(time.Minute, time.Minute, 10, 0, 0, false)
}

func TestSparkline(t *testing.T) {
	check := func(list []float64, n int, want string) {
		t.Helper()
		if got := sparkline(list, n); got != want {
			t.Errorf("%v in %d = %q, want %q", list, n, got, want)
		}
	}
	check(nil, 5, "")
	check([]float64{0, 0}, 5, "▁▁")
	check([]float64{0, 50, 100}, 5, "▁▅█")
	check([]float64{1, 2, 4, 8}, 2, "▅█")
	check([]float64{1, math.NaN(), 1}, 5, "█ █")
}
