package main

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"loomlab/loadgen"
)

// truthServer is a server whose latencies are known, because it measures them
// itself: from the request to just before the answer.
type truthServer struct {
	listener net.Listener
	delay    func(served int, now time.Time) time.Duration
	mu       sync.Mutex
	served   int
	took     []time.Duration
	from, to time.Time // what took is kept of, by the end of the request
}

func startTruth(delay func(served int, now time.Time) time.Duration) (*truthServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &truthServer{listener: l, delay: delay}
	go func() { _ = http.Serve(l, s) }()
	return s, nil
}

func (s *truthServer) url() string { return "http://" + s.listener.Addr().String() + "/" }

func (s *truthServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	began := time.Now()
	s.mu.Lock()
	s.served++
	wait := s.delay(s.served, began)
	s.mu.Unlock()
	time.Sleep(wait)
	now := time.Now()
	s.mu.Lock()
	if now.After(s.from) && now.Before(s.to) {
		s.took = append(s.took, now.Sub(began))
	}
	s.mu.Unlock()
	_, _ = w.Write([]byte("ok"))
}

// loadWindow runs `loomlab load --samples` and calls opened when the window opens.
func loadWindow(binary string, opened func(), args ...string) (*loadgen.Result, error) {
	return loadEvents(binary, func(int) {}, func(e loadgen.Event) error {
		if e.State == "open" && opened != nil {
			opened()
		}
		return nil
	}, args...)
}

// percentiles compares with a server whose latencies go from 5 to 200 ms.
func (b *loadBench) percentiles() error {
	const length = 10 * time.Second
	s, err := startTruth(func(served int, _ time.Time) time.Duration {
		u := math.Mod(float64(served)*math.Phi, 1) // evenly spread, without chance
		return time.Duration((5 + 195*u*u*u) * float64(time.Millisecond))
	})
	if err != nil {
		return err
	}
	defer s.listener.Close()
	res, err := loadWindow(b.binary, func() {
		s.mu.Lock()
		s.from, s.to = time.Now(), time.Now().Add(length)
		s.mu.Unlock()
	}, s.url(), "-c", "50", "-d", length.String())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.took)
	fmt.Printf("### Percentiles against a server with known latencies (%d answers)\n\n", len(s.took))
	fmt.Println("| percentile | truth ms | loomlab ms | off | within 1 % or 0.1 ms |")
	fmt.Println("|---|---:|---:|---:|---|")
	l := res.LatencyMS
	for _, p := range []struct {
		name string
		rank float64
		got  float64
	}{{"p50", 0.5, l.P50}, {"p75", 0.75, l.P75}, {"p90", 0.9, l.P90}, {"p95", 0.95, l.P95}, {"p99", 0.99, l.P99}, {"p99.9", 0.999, l.P999}} {
		truth := float64(s.took[max(int(math.Ceil(p.rank*float64(len(s.took))))-1, 0)]) / 1e6
		row(p.name, truth, p.got, math.Max(truth*0.01, 0.1))
	}
	return nil
}

func row(name string, truth, got, tolerance float64) {
	verdict := "yes"
	if math.Abs(got-truth) > tolerance {
		verdict = "NO"
	}
	fmt.Printf("| %s | %.2f | %.2f | %+.2f %% | %s |\n", name, truth, got, (got/truth-1)*100, verdict)
}

// pacing shows how late an open loop of 5000/s starts its requests.
func (b *loadBench) pacing() error {
	down, err := startDownstream(b.binary, "--delay", "20ms")
	if err != nil {
		return err
	}
	defer down.stop()
	res, err := loadWindow(b.binary, nil, down.url+"/call", "-R", "5000", "-d", "10s")
	if err != nil {
		return err
	}
	fmt.Printf("### Open loop at 5000/s\n\n")
	o := res.Open
	if o == nil || o.PacingMS == nil || res.ThroughputPerS == nil {
		return fmt.Errorf("nothing was paced")
	}
	fmt.Printf("%d scheduled, %d not started, %.1f/s achieved; pacing error p50 %.3f ms, p99 %.3f ms, max %.3f ms (wanted: p99 below 1 ms).\n",
		o.Scheduled, o.NotStarted, *res.ThroughputPerS, o.PacingMS.P50, o.PacingMS.P99, o.PacingMS.Max)
	return nil
}

// stall lets the server stand still for 1 s of 10: a tenth of the requests waits
// between 0 and 1 s, evenly, so every high percentile is known.
func (b *loadBench) stall() error {
	var until, from time.Time
	s, err := startTruth(func(_ int, now time.Time) time.Duration {
		if now.After(from) && now.Before(until) {
			return until.Sub(now)
		}
		return 0
	})
	if err != nil {
		return err
	}
	defer s.listener.Close()
	res, err := loadWindow(b.binary, func() {
		s.mu.Lock()
		from = time.Now().Add(4 * time.Second)
		until = from.Add(time.Second)
		s.mu.Unlock()
	}, s.url(), "-R", "1000", "-d", "10s")
	if err != nil {
		return err
	}
	fmt.Printf("### A server that stalls 1 s in 10, open loop at 1000/s\n\n")
	fmt.Println("| percentile | truth ms | loomlab ms | off | within 2 % |")
	fmt.Println("|---|---:|---:|---:|---|")
	l := res.LatencyMS
	for _, p := range []struct {
		name string
		rank float64
		got  float64
	}{{"p95", 0.95, l.P95}, {"p99", 0.99, l.P99}, {"p99.9", 0.999, l.P999}} {
		truth := (1 - (1-p.rank)/0.1) * 1000
		row(p.name, truth, p.got, truth*0.02)
	}
	return nil
}
