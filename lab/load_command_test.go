package lab

import (
	"math"
	"strings"
	"testing"

	"loomlab/lab/record"
	"loomlab/lab/verdict"
)

const leastResult = `{"seconds": 2, "requests": 500, "latency_ms": {"mean": 10, "p50": 9, "p99": 20, "max": 21}}`

func TestParseLoadResult(t *testing.T) {
	r, unavailable, err := parseLoadResult([]byte("warming up\n{\"progress\": 1}\n"+leastResult+"\n"), record.Rung{Connections: 5})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests.OK != 500 || r.Requests.Sent != 500 || *r.ThroughputPerS != 250 || r.Mode != "closed" || r.Connections.Answered != 5 ||
		r.LatencyMS.P99 != 20 || !math.IsNaN(r.LatencyMS.P75) || invalid(r, nil) != "" {
		t.Errorf("%+v, %+v", r, r.LatencyMS)
	}
	for _, field := range []string{"load.latency_ms.p75", "load.latency_ms.min", "load.histogram", "load.connections"} {
		if unavailable[field] == "" {
			t.Errorf("no reason for %s in %v", field, unavailable)
		}
	}
	if unavailable["load.latency_ms.p50"] != "" {
		t.Errorf("%v", unavailable)
	}
	p75, _ := record.MetricNamed("p75_ms")
	c := record.Cell{Status: "ok", Load: r, Unavailable: unavailable}
	if p75.Of(&c) != nil || p75.Why(&c) != "the load command does not say" {
		t.Errorf("p75: %v, %s", p75.Of(&c), p75.Why(&c))
	}
	if d := verdict.Doubts(c, verdict.Circumstances{}); len(d) != 1 || d[0].Kind != "thin-p99" {
		t.Errorf("doubts %+v", d)
	}
}

func TestParseLoadResultInFull(t *testing.T) {
	text := `{
  "seconds": 10, "requests": {"ok": 90, "non_2xx": 4, "errors": 6},
  "connections": {"requested": 10, "established": 9, "answered": 9},
  "latency_ms": {"min": 1, "mean": 2, "stddev": 1, "p50": 2, "p75": 3, "p90": 3, "p95": 3, "p99": 4, "p999": 5, "max": 6},
  "engine": null, "anything": [1]
}
bye
`
	r, unavailable, err := parseLoadResult([]byte(text), record.Rung{Rate: 10})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests.Errors.Other != 6 || r.Requests.Sent != 100 || r.Mode != "open" || r.LatencyMS.P75 != 3 || unavailable["load.latency_ms.p75"] != "" ||
		unavailable["load.connections"] != "" || !strings.HasPrefix(invalid(r, nil), "only 9 of 10") {
		t.Errorf("%+v, %v", r, unavailable)
	}
	ours := `{"event": "result", "at": 3, "seconds": 1, "requests": {"carried_in": 2, "sent": 9, "ok": 8, "errors": {"timeout": 1}, "in_flight": 2}, "latency_ms": {"mean": 2, "p50": 2, "p99": 4, "max": 6}}`
	if r, _, err = parseLoadResult([]byte(ours), record.Rung{Connections: 1}); err != nil || r.Requests.Sent != 9 || r.Requests.Errors.Timeout != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestParseLoadResultRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "it printed no JSON object",
		"no results":                    "it printed no JSON object",
		"{}":                            "its result has no seconds",
		`{"seconds": 1, "requests": 5}`: "its result has no latency_ms",
		`{"seconds": 1, "requests": 5, "latency_ms": null}`:                                               "its result has no latency_ms",
		`{"seconds": 1, "requests": 5, "latency_ms": 3}`:                                                  "its latency_ms is no object",
		`{"seconds": 1, "requests": 5, "latency_ms": {"mean": 1, "p50": 1, "max": 2}}`:                    "its latency_ms has no p99",
		`{"seconds": 0, "requests": 5, "latency_ms": {"mean": 1, "p50": 1, "p99": 2, "max": 2}}`:          "5 requests in 0 s",
		`{"seconds": "1", "requests": 5, "latency_ms": {"mean": 1, "p50": 1, "p99": 2, "max": 2}}`:        "not as it should be",
		`{"seconds": 1, "requests": "many", "latency_ms": {"mean": 1, "p50": 1, "p99": 2, "max": 2}}`:     "not as it should be",
		`{"seconds": 1, "requests": 5, "latency_ms": {"mean": 1, "p50": 1, "p99": 2, "max":`:              "cannot be read",
		`{"seconds": 1, "requests": {"ok": -5}, "latency_ms": {"mean": 1, "p50": 1, "p99": 2, "max": 2}}`: "-5 requests",
	} {
		if r, _, err := parseLoadResult([]byte(text), record.Rung{Connections: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %+v; want %s", text, err, r, want)
		}
	}
}

func FuzzParseLoadResult(f *testing.F) {
	f.Add([]byte(leastResult))
	f.Add([]byte("{\n"))
	f.Add([]byte(`{"seconds": 1e308, "requests": {"errors": {}}, "latency_ms": {"mean": 1e999}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, _, err := parseLoadResult(text, record.Rung{Connections: 1})
		if err == nil && (r == nil || !(r.Seconds > 0) || r.ThroughputPerS == nil) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

// A server that is slow to accept is told from one that is slow to answer.
func TestInvalidNamesTheAcceptQueue(t *testing.T) {
	r := &record.LoadResult{}
	r.Requests.OK = 10
	r.Connections.Requested, r.Connections.Established, r.Connections.Answered = 10, 10, 4
	for waiting, want := range map[int64]string{
		0: "only 4 of 10 connections got an answer before the window",
		5: "only 4 of 10 connections got an answer before the window: the SUT had not accepted 5 of them yet; give it longer (--warmup 60s) or threads that only accept",
	} {
		if got := invalid(r, &record.AcceptQueues{SUT: &waiting}); got != want {
			t.Errorf("%d waiting: %s", waiting, got)
		}
	}
}
