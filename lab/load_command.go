package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"loomlab/clock"
	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// A load generator of somebody else's takes our engine's place where the
// experiment gives its command line. It prints one JSON object, last, with at
// least seconds, requests and latency_ms; see [parseLoadResult]. Whatever else it
// prints goes to the log of the load. It may print our engine's JSON lines before
// ({"event": "window", "state": "open", "at": …}, on the host's monotonic clock):
// then the probes are cut to its window exactly, else to the last seconds before
// its result.

const (
	commandSampling = 500 * time.Millisecond // of the tiers: nobody tells when the window opens
	commandOutput   = 4 << 20                // bytes of its output that are kept
)

// runCommand measures with the load command. Our engine warms the rung up first,
// so that the SUT is as warm as it would be under our engine.
func (w *window) runCommand(ctx context.Context) {
	f := w.f
	if w.job.warm && !w.warmUp(ctx) {
		return
	}
	values := experiment.Placeholders{"run_dir": f.lab.dir.Path()}
	maps.Copy(values, f.site(record.TierLoad).placeholders(f.sut))
	argv, err := f.plan.LoadCommandArgv(*f.sut, f.url, w.job.Rung(), values)
	if err != nil {
		w.fail("%v", err)
		return
	}
	f.watch.phase("window")
	w.say("load command")
	said := &commandLines{window: w, log: f.lab.log("load")}
	sampled := f.watch.often(commandSampling)
	ended := w.drive(ctx, []child{{place: f.launcher(record.TierLoad), argv: argv, lines: said.line}}, false)
	sampled()
	if !ended || ctx.Err() != nil {
		return
	}
	w.endRSS, w.peakRSS = f.rss(), f.peakRSS()
	result, unavailable, err := parseLoadResult(said.text.Bytes(), w.job.Rung())
	if err != nil {
		w.fail("the load command %s: %v%s", w.loads[0].cause(), err, w.loads[0].lastWords())
		return
	}
	result.Target, result.Started = f.url+f.sut.Path, w.began.UTC()
	w.result = result
	for field, reason := range unavailable {
		w.cell.Unavailable[field] = reason
	}
	if w.opened == 0 || w.closed == 0 {
		w.opened, w.closed = said.last-result.Seconds, said.last
		w.before, w.after = nil, nil
	}
}

// warmUp warms the rung up with our engine, which measures nothing here. It is
// false when the cell has failed.
func (w *window) warmUp(ctx context.Context) bool {
	f := w.f
	var last *record.LoadResult
	argv := f.plan.EngineArgv(*f.sut, f.url, w.job.Rung(), true)
	ok := w.drive(ctx, []child{{place: f.launcher(record.TierLoad), argv: argv, lines: func(b []byte) {
		var e record.LoadEvent
		if json.Unmarshal(b, &e) != nil {
			return
		}
		switch {
		case e.Event == "ready":
			f.watch.phase("warmup")
			w.say("warm-up")
		case e.Event == "sample" && e.Sample != nil:
			w.sample(e)
			if !w.warmedAt.IsZero() {
				w.loads[0].interrupt()
			}
		case e.Event == "result":
			var r record.LoadResult
			if json.Unmarshal(b, &r) == nil {
				last = &r
			}
		}
	}}}, true)
	f.watch.remove(record.TierLoad)
	if !ok || ctx.Err() != nil {
		return ok
	}
	if w.warmedAt.IsZero() {
		w.fail("the load engine %s while it warmed up for the load command%s", w.loads[0].cause(), w.loads[0].lastWords())
		return false
	}
	w.joinWarmup(last)
	f.watch.begin(record.Point{SUT: w.job.SUT, Fork: w.job.Fork, Connections: w.job.Connections, Round: w.job.Round, Phase: "settle"})
	w.say("settling")
	w.cell.Settle = f.settle(ctx)
	return true
}

// commandLines follows the output of a load command.
type commandLines struct {
	window *window
	log    io.Writer
	text   bytes.Buffer
	last   float64 // when the last line of JSON came, in clock seconds
}

func (c *commandLines) line(b []byte) {
	var e record.LoadEvent
	if json.Unmarshal(b, &e) == nil && e.Event != "" && e.Event != "result" {
		c.window.line(b)
		return
	}
	_, _ = fmt.Fprintf(c.log, "%s\n", b) // as the other tiers: a lost line of a log is no reason to stop
	c.last = clock.Now().Seconds()
	if c.text.Len()+len(b) < commandOutput {
		c.text.Write(b)
		c.text.WriteByte('\n')
	}
}

// parseLoadResult reads the object that a load command prints last: the last one
// that begins on a line of its own. It must hold
//
//	seconds     length of its window
//	requests    how many succeeded, or {ok, non_2xx, errors}; errors is a number, or by class
//	latency_ms  {mean, p50, p99, max} at least
//
// and may hold whatever `loomlab load --json` does. What it leaves out is null;
// unavailable says so, by field.
func parseLoadResult(output []byte, rung record.Rung) (r *record.LoadResult, unavailable map[string]string, err error) {
	raw, err := lastObject(output)
	if err != nil {
		return nil, nil, err
	}
	if missing := missingOf(raw, "seconds", "requests", "latency_ms"); missing != "" {
		return nil, nil, fmt.Errorf("its result has no %s", missing)
	}
	if latency, ok := raw["latency_ms"].(map[string]any); !ok {
		return nil, nil, errors.New("its latency_ms is no object")
	} else if missing := missingOf(latency, "mean", "p50", "p99", "max"); missing != "" {
		return nil, nil, fmt.Errorf("its latency_ms has no %s", missing)
	}
	requests, ok := raw["requests"].(map[string]any)
	if !ok {
		requests = map[string]any{"ok": raw["requests"]}
		raw["requests"] = requests
	}
	if n, isNumber := requests["errors"].(json.Number); isNumber {
		requests["errors"] = map[string]any{"other": n}
	}
	body, err := json.Marshal(raw)
	if err != nil {
		return nil, nil, err
	}
	r = &record.LoadResult{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, nil, fmt.Errorf("its result is not as it should be: %w", err)
	}
	if !(r.Seconds > 0) || r.Requests.OK < 0 {
		return nil, nil, fmt.Errorf("its result says %v requests in %v s", r.Requests.OK, r.Seconds)
	}
	return r, completeResult(r, raw, rung), nil
}

// completeResult fills in what follows from the rest, and says what is not there.
func completeResult(r *record.LoadResult, raw map[string]any, rung record.Rung) map[string]string {
	const silent = "the load command does not say"
	unavailable := map[string]string{}
	r.Mode = "closed"
	if rung.Rate > 0 {
		r.Mode = "open"
	}
	perS := float64(r.Requests.OK) / r.Seconds
	r.ThroughputPerS = &perS
	if q := &r.Requests; q.Sent == 0 {
		q.Sent = q.OK + q.Non2xx + q.Errors.Total() + q.InFlight - q.CarriedIn
	}
	if raw["connections"] == nil {
		r.Connections.Requested, r.Connections.Established, r.Connections.Answered = rung.Connections, rung.Connections, rung.Connections
		unavailable["load.connections"] = silent
	}
	if r.Connections.OpenedInWindow == nil {
		unavailable["load.connections.opened_in_window"] = silent
	}
	if connections, _ := raw["connections"].(map[string]any); connections["stuck"] == nil {
		unavailable["load.connections.stuck"] = silent
	}
	latency, _ := raw["latency_ms"].(map[string]any)
	for _, key := range []string{"min", "stddev", "p75", "p90", "p95", "p999"} {
		if latency[key] == nil {
			unavailable["load.latency_ms."+key] = silent
		}
	}
	if r.Histogram == "" {
		unavailable["load.histogram"] = silent
	}
	return unavailable
}

// missingOf is the first of keys without a value.
func missingOf(object map[string]any, keys ...string) string {
	at := slices.IndexFunc(keys, func(key string) bool { return object[key] == nil })
	if at < 0 {
		return ""
	}
	return keys[at]
}

// lastObject decodes the last JSON object of a text that begins at the beginning
// of a line.
func lastObject(text []byte) (map[string]any, error) {
	lines := strings.SplitAfter(string(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if !strings.HasPrefix(lines[i], "{") {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(strings.Join(lines[i:], "")))
		dec.UseNumber()
		var object map[string]any
		if err := dec.Decode(&object); err != nil {
			return nil, fmt.Errorf("the JSON that it printed last cannot be read: %w", err)
		}
		return object, nil
	}
	return nil, errors.New("it printed no JSON object with its result")
}

// often takes detailed samples of every tier until the function that it returns is called.
func (w *watch) often(interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		every(ctx, interval, w.takeDetailed)
	}()
	return func() {
		cancel()
		<-done
	}
}
