package main

import (
	"strings"
	"testing"

	"loomlab/loadgen"
)

func TestFormatMSAlwaysHasAUnit(t *testing.T) {
	for ms, want := range map[float64]string{
		0.0009: "0.90 µs", 0.0123: "12.3 µs", 0.99996: "1.00 ms", 0.9994: "999 µs", 1: "1.00 ms", 99.949: "99.9 ms", 99.96: "100 ms",
		999.4: "999 ms", 999.6: "1.00 s", 59999: "60.0 s", 119000: "119 s", 3601000: "60.0 min", 7200000: "2.00 h", 0: "0.00 µs",
	} {
		if got := formatMS(ms); got != want {
			t.Errorf("%v ms: %q, want %q", ms, got, want)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[float64]string{0: "0.00 B", 512: "512 B", 1000: "0.98 KiB", 20 << 20: "20.0 MiB", 5e9: "4.66 GiB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

// A result of everything that can go wrong, as people see it.
func TestLoadSummary(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	res := &loadgen.Result{
		Target: "http://h/", Address: "10.0.0.1:80", Mode: "open", Seconds: 10, ThroughputPerS: f(90), BytesIn: 20480,
		Connections: loadgen.Connections{Requested: 5, Established: 4, Opened: 9, ClosedByServer: 4, Failed: loadgen.ConnectFailures{Refused: 7, LocalPorts: 1}},
		Requests: loadgen.Requests{OK: 900, Non2xx: 12, InFlight: 3, Errors: loadgen.Errors{Timeout: 2, Protocol: 1},
			Drained: loadgen.Drained{OK: 2, Abandoned: 1}},
		Status:    map[string]int64{"200": 900, "503": 12},
		LatencyMS: &loadgen.Latency{Min: 1, P50: 2, P75: 3, P90: 4, P95: 5, P99: 6, P999: 7, Max: 1008, Mean: 2.5, Stddev: 0.5},
		Open: &loadgen.Open{OfferedPerS: 100, Scheduled: 1000, NotStarted: 80, Late: 5, PacingMS: &loadgen.Latency{P99: 0.2},
			LatencyFromSendMS: &loadgen.Latency{Min: 1, P50: 1, P75: 1, P90: 1, P95: 1, P99: 1, P999: 1, Max: 1, Mean: 1}},
		Warmup:   &loadgen.Warmup{Seconds: 2, Requests: 200, Errors: 1},
		Engine:   &loadgen.Engine{Kind: "epoll", Loops: 1, CPUUserS: 0.004, CPUSystemS: 0.006, CPUUSPerRequest: f(11), LagP99MS: f(0.1), LagMaxMS: f(2), MaxRSSBytes: 18 << 20},
		Examples: map[string]string{"status 503": "pool queue full", "protocol": "bad chunk size", "connect refused": "connection refused"},
		Warnings: []string{"connections: only 4 of 5 were established"},
	}
	const want = `http://h/ (10.0.0.1:80), open loop, 5 connections, 10.0 s after 2.00 s of warm-up (200 requests, 1 errors)
  ok          900, 90.0/s, 2.00 KiB/s
  not 2xx     12 (503: 12 "pool queue full")
  in flight   3 at the end: 2 ok, 0 not 2xx, 0 errors, 1 abandoned
  latency     min 1.00 ms  p50 2.00 ms  p75 3.00 ms  p90 4.00 ms  p95 5.00 ms  p99 6.00 ms  p99.9 7.00 ms  max 1.01 s  mean 2.50 ms  ± 500 µs
  from send   min 1.00 ms  p50 1.00 ms  p75 1.00 ms  p90 1.00 ms  p95 1.00 ms  p99 1.00 ms  p99.9 1.00 ms  max 1.00 ms  mean 1.00 ms  ± 0.00 µs
  schedule    100/s offered, 90/s achieved; 1000 scheduled, 80 not started, 5 late; pacing p99 200 µs
  errors      timeout 2, protocol 1 (bad chunk size)
  connects    connect refused 7 (connection refused), local ports 1
  connections 4 of 5 established, 9 opened in all, 4 closed by the server in the window
  engine      epoll, loops: 1, 11.0 µs of CPU per request (0.00 cores), late p99 100 µs, max 2.00 ms, 18.0 MiB
warning: connections: only 4 of 5 were established
`
	var b strings.Builder
	if err := writeLoadSummary(&b, res); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
