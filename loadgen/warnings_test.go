package loadgen

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"
)

// Each doubt has its word, and a sound result has none.
func TestWarnings(t *testing.T) {
	sound := func() (*run, *Result, *counts) {
		j, err := newJob(Config{URL: "http://127.0.0.1:1/", Connections: 10, Duration: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		j.cfg.Loops = 2
		r := &run{job: j, opened: 1}
		return r, &Result{
			Seconds:     10,
			Connections: Connections{Requested: 10, Established: 10, Answered: 10},
			Requests:    Requests{Sent: 1000, OK: 1000},
			SlotSeconds: number(100),
			Engine:      &Engine{Loops: 2, CPUUserS: 1, LagP99MS: number(1)},
		}, newCounts(1)
	}
	r, res, c := sound()
	if w := r.warnings(res, c); len(w) != 0 {
		t.Errorf("a sound result: %v", w)
	}
	for word, spoil := range map[string]func(*run, *Result, *counts){
		"engine_saturated":   func(_ *run, res *Result, _ *counts) { res.Engine.CPUSystemS = 16.5 },
		"engine_late":        func(_ *run, res *Result, _ *counts) { res.Engine.LagP99MS = number(6) },
		"slot_time":          func(_ *run, res *Result, _ *counts) { res.SlotSeconds = number(98) },
		"timeout":            func(r *run, _ *Result, _ *counts) { r.job.cfg.Timeout = time.Minute },
		"rate_not_sustained": func(_ *run, res *Result, _ *counts) { res.Open = &Open{Scheduled: 1000, NotStarted: 11} },
		"local_ports":        func(_ *run, res *Result, _ *counts) { res.Connections.Failed.LocalPorts = 1 },
		"fd_limit":           func(_ *run, res *Result, _ *counts) { res.Connections.Failed.FDLimit = 1 },
		"connections":        func(_ *run, res *Result, _ *counts) { res.Connections.Established = 9 },
		"stuck":              func(_ *run, res *Result, _ *counts) { n := int64(1); res.Connections.Stuck = &n },
		"syn_retry":          func(r *run, _ *Result, _ *counts) { r.workers = []*worker{{slowConnects: 1}} },
		"few":                func(_ *run, res *Result, _ *counts) { res.Requests.OK = 99 },
		"degraded":           func(_ *run, res *Result, _ *counts) { res.Requests.Non2xx = 11 },
		"failed":             func(_ *run, res *Result, _ *counts) { res.Requests.Errors.Reset = 1001 },
		"redirects":          func(_ *run, _ *Result, c *counts) { c.status[301] = 1 },
		"retried":            func(_ *run, _ *Result, c *counts) { c.retried = 1 },
		"unsolicited":        func(_ *run, _ *Result, c *counts) { c.unsolicited = 1 },
		"interrupted":        func(r *run, _ *Result, _ *counts) { r.interrupted = true },
	} {
		r, res, c := sound()
		spoil(r, res, c)
		if w := r.warnings(res, c); len(w) != 1 || !strings.HasPrefix(w[0], word+":") && !strings.HasPrefix(w[0], word+" ") {
			t.Errorf("%s: %v", word, w)
		}
	}
}

func TestHealthy(t *testing.T) {
	res := Result{Requests: Requests{OK: 1}, Connections: Connections{Requested: 2, Established: 2, Answered: 2}, RequestedS: number(1)}
	if !res.Healthy() {
		t.Error("a sound result")
	}
	for name, spoil := range map[string]func(*Result){
		"nothing succeeded": func(r *Result) { r.Requests.OK = 0 },
		"not established":   func(r *Result) { r.Connections.Established = 1 },
		"never answered":    func(r *Result) { r.Connections.Answered = 1 },
	} {
		bad := res
		spoil(&bad)
		if bad.Healthy() {
			t.Error(name)
		}
	}
}

// Every key is always there, also when nothing was measured, and nothing is NaN.
func TestResultIsCompleteJSON(t *testing.T) {
	s := newRaw(t, answerAll(okAnswer))
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, cfg := range []Config{
		{URL: s.url, Requests: 20},
		{URL: s.url, Rate: 50, Duration: 200 * time.Millisecond, LeadIn: lead(0)},
		{URL: "http://" + closed.Addr().String() + "/", Duration: time.Second},
	} {
		res, err := Run(context.Background(), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		for _, key := range strings.Fields(`schema target address mode started seconds requested_s connections requests throughput_per_s
			status bytes_in slot_seconds latency_ms connect_ms open targets warmup engine histogram examples warnings`) {
			value, ok := keys[key]
			if !ok {
				t.Errorf("%s: no key %s", cfg.URL, key)
			}
			if list := key == "targets" || key == "warnings"; list && value == nil {
				t.Errorf("%s: %s is null, not an empty list", cfg.URL, key)
			}
		}
	}
}
