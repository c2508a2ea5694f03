package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"loomlab/loadgen"
)

// tool is one load generator.
type tool struct {
	name string
	path string // empty: not on this machine
	hint string // how to get it
	run  func(path, url string, connections int, d time.Duration) (outcome, error)
}

// outcome is what one run of a tool did.
type outcome struct {
	requests   int64 // of its whole life, as its CPU time is
	cpu        time.Duration
	throughput float64         // per second, as the tool says
	result     *loadgen.Result // loomlab only
}

func (o outcome) perRequest() float64 {
	return float64(o.cpu) / 1e3 / float64(max(o.requests, 1))
}

func tools(binary string) []tool {
	return []tool{
		{"loomlab", binary, "", runLoomlab},
		{"wrk", find("wrk"), "package wrk", runWrk},
		{"bombardier", find("bombardier"), "go install github.com/codesenberg/bombardier@latest", runBombardier},
	}
}

func runLoomlab(path, url string, connections int, d time.Duration) (outcome, error) {
	out, cpu, err := cost(path, "load", url, "-c", strconv.Itoa(connections), "-d", d.String(), "--loops", "1", "--json")
	if err != nil {
		return outcome{}, err
	}
	var r loadgen.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return outcome{}, err
	}
	o := outcome{cpu: cpu, result: &r}
	q := r.Requests
	o.requests = q.OK + q.Non2xx + q.Errors.Total() + q.Drained.OK + q.Drained.Non2xx + q.Drained.Errors
	if r.Warmup != nil {
		o.requests += r.Warmup.Requests
	}
	if r.ThroughputPerS != nil {
		o.throughput = *r.ThroughputPerS
	}
	return o, nil
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in`)
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
)

func runWrk(path, url string, connections int, d time.Duration) (outcome, error) {
	out, cpu, err := cost(path, "-t1", "-c"+strconv.Itoa(connections), "-d"+seconds(d), url)
	if err != nil {
		return outcome{}, err
	}
	n, rate := wrkRequests.FindSubmatch(out), wrkRate.FindSubmatch(out)
	if n == nil || rate == nil {
		return outcome{}, fmt.Errorf("wrk said %q", out)
	}
	o := outcome{cpu: cpu}
	o.requests, _ = strconv.ParseInt(string(n[1]), 10, 64)
	o.throughput, _ = strconv.ParseFloat(string(rate[1]), 64)
	return o, nil
}

func runBombardier(path, url string, connections int, d time.Duration) (outcome, error) {
	out, cpu, err := cost(path, "-c", strconv.Itoa(connections), "-d", seconds(d), "-t", "10s", "-o", "json", "-p", "r", url)
	if err != nil {
		return outcome{}, err
	}
	var r struct {
		Result struct {
			Req1xx, Req2xx, Req3xx, Req4xx, Req5xx, Others int64
			RPS                                            struct{ Mean float64 }
		}
	}
	at := strings.IndexByte(string(out), '{')
	if at < 0 {
		return outcome{}, fmt.Errorf("bombardier said %q", out)
	}
	if err := json.Unmarshal(out[at:], &r); err != nil {
		return outcome{}, err
	}
	q := r.Result
	return outcome{requests: q.Req1xx + q.Req2xx + q.Req3xx + q.Req4xx + q.Req5xx + q.Others, cpu: cpu, throughput: q.RPS.Mean}, nil
}

// seconds is what wrk understands of a duration.
func seconds(d time.Duration) string { return fmt.Sprintf("%ds", max(1, int(d.Seconds()))) }
