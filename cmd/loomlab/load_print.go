package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"loomlab/loadgen"
)

// writeLoadSummary prints a result for people: what was measured, then only what
// there is to say.
func writeLoadSummary(w io.Writer, res *loadgen.Result) error {
	p := &summaryPrinter{w: w}
	p.head(res)
	p.answers(res)
	p.line("latency", latencyText(res.LatencyMS))
	if o := res.Open; o != nil {
		if o.LatencyFromSendMS != nil && res.LatencyMS != nil && differ(o.LatencyFromSendMS, res.LatencyMS) {
			p.line("from send", latencyText(o.LatencyFromSendMS))
		}
		p.line("schedule", openText(res))
	}
	p.targets(res)
	p.failures(res)
	p.connections(res)
	p.engine(res)
	for _, text := range res.Warnings {
		p.printf("warning: %s\n", text)
	}
	return p.err
}

type summaryPrinter struct {
	w   io.Writer
	err error
}

func (p *summaryPrinter) printf(format string, a ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, a...)
	}
}

func (p *summaryPrinter) line(name, text string) {
	if text != "" {
		p.printf("  %-12s%s\n", name, text)
	}
}

func (p *summaryPrinter) head(res *loadgen.Result) {
	loop := "closed loop"
	if res.Mode == "open" {
		loop = "open loop"
	}
	p.printf("%s (%s), %s, %d connections, %s", res.Target, res.Address, loop, res.Connections.Requested, formatMS(res.Seconds*1000))
	if wu := res.Warmup; wu != nil {
		p.printf(" after %s of warm-up (%d requests, %d errors)", formatMS(wu.Seconds*1000), wu.Requests, wu.Errors)
	}
	p.printf("\n")
}

func (p *summaryPrinter) answers(res *loadgen.Result) {
	q := res.Requests
	text := fmt.Sprintf("%d", q.OK)
	if res.ThroughputPerS != nil {
		text += fmt.Sprintf(", %.1f/s, %s/s", *res.ThroughputPerS, formatBytes(float64(res.BytesIn)/res.Seconds))
	}
	p.line("ok", text)
	if q.Non2xx > 0 {
		var parts []string
		for _, status := range slices.Sorted(maps.Keys(res.Status)) {
			if status[0] == '2' {
				continue
			}
			part := fmt.Sprintf("%s: %d", status, res.Status[status])
			if body := res.Examples["status "+status]; body != "" {
				part += fmt.Sprintf(" %q", body)
			}
			parts = append(parts, part)
		}
		p.line("not 2xx", fmt.Sprintf("%d (%s)", q.Non2xx, strings.Join(parts, ", ")))
	}
	if q.InFlight > 0 {
		d := q.Drained
		p.line("in flight", fmt.Sprintf("%d at the end: %d ok, %d not 2xx, %d errors, %d abandoned", q.InFlight, d.OK, d.Non2xx, d.Errors, d.Abandoned))
	}
}

func (p *summaryPrinter) targets(res *loadgen.Result) {
	for _, t := range res.Targets {
		p.line(fmt.Sprintf("%.3g%%", t.Weight*100), fmt.Sprintf("%s: %d ok, %d not 2xx, %d errors; %s", t.Target, t.OK, t.Non2xx, t.Errors, latencyText(t.LatencyMS)))
	}
}

// failures prints the errors by class, those that there are.
func (p *summaryPrinter) failures(res *loadgen.Result) {
	e := res.Requests.Errors
	text := classes(res, []class{{"timeout", e.Timeout}, {"reset", e.Reset}, {"eof", e.EOF}, {"protocol", e.Protocol}, {"other", e.Other}})
	p.line("errors", text)
	f := res.Connections.Failed
	p.line("connects", classes(res, []class{{"connect refused", f.Refused}, {"connect timeout", f.Timeout}, {"local ports", f.LocalPorts}, {"descriptors", f.FDLimit}, {"connect", f.Other}}))
}

type class struct {
	name string
	n    int64
}

func classes(res *loadgen.Result, all []class) string {
	var parts []string
	for _, c := range all {
		if c.n == 0 {
			continue
		}
		part := fmt.Sprintf("%s %d", c.name, c.n)
		if example := res.Examples[c.name]; example != "" {
			part += fmt.Sprintf(" (%s)", example)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func (p *summaryPrinter) connections(res *loadgen.Result) {
	c := res.Connections
	text := fmt.Sprintf("%d of %d established", c.Established, c.Requested)
	if c.ClosedByServer > 0 || c.Opened > int64(c.Requested) {
		text += fmt.Sprintf(", %d opened in all, %d closed by the server in the window", c.Opened, c.ClosedByServer)
	}
	if l := res.ConnectMS; l != nil {
		text += fmt.Sprintf("; connect p50 %s, max %s", formatMS(l.P50), formatMS(l.Max))
	}
	p.line("connections", text)
}

func (p *summaryPrinter) engine(res *loadgen.Result) {
	e := res.Engine
	if e == nil || res.Seconds == 0 {
		return
	}
	text := fmt.Sprintf("%s, loops: %d", e.Kind, e.Loops)
	if e.CPUUSPerRequest != nil {
		text += fmt.Sprintf(", %.1f µs of CPU per request (%.2f cores)", *e.CPUUSPerRequest, (e.CPUUserS+e.CPUSystemS)/res.Seconds)
	}
	if e.LagP99MS != nil {
		text += fmt.Sprintf(", late p99 %s, max %s", formatMS(*e.LagP99MS), formatMS(*e.LagMaxMS))
	}
	if e.MaxRSSBytes > 0 {
		text += ", " + formatBytes(float64(e.MaxRSSBytes))
	}
	p.line("engine", text)
}

func latencyText(l *loadgen.Latency) string {
	if l == nil {
		return "none: no ok answer"
	}
	var parts []string
	for _, v := range []struct {
		name  string
		value float64
	}{{"min", l.Min}, {"p50", l.P50}, {"p75", l.P75}, {"p90", l.P90}, {"p95", l.P95}, {"p99", l.P99}, {"p99.9", l.P999}, {"max", l.Max}, {"mean", l.Mean}, {"±", l.Stddev}} {
		parts = append(parts, v.name+" "+formatMS(v.value))
	}
	return strings.Join(parts, "  ")
}

func openText(res *loadgen.Result) string {
	o := res.Open
	achieved := 0.0
	if res.ThroughputPerS != nil {
		achieved = *res.ThroughputPerS
	}
	text := fmt.Sprintf("%.6g/s offered, %.6g/s achieved; %d scheduled, %d not started, %d late", o.OfferedPerS, achieved, o.Scheduled, o.NotStarted, o.Late)
	if o.PacingMS != nil {
		text += fmt.Sprintf("; pacing p99 %s", formatMS(o.PacingMS.P99))
	}
	return text
}

// differ says whether two distributions are told apart at three digits.
func differ(a, b *loadgen.Latency) bool {
	return formatMS(a.P50) != formatMS(b.P50) || formatMS(a.P99) != formatMS(b.P99) || formatMS(a.Max) != formatMS(b.Max)
}

// formatMS shows milliseconds in a fitting unit, with three or four digits.
func formatMS(ms float64) string {
	for _, u := range []struct {
		below float64 // in ms, after rounding to three digits
		scale float64
		unit  string
	}{{0.9995, 1000, "µs"}, {999.5, 1, "ms"}, {119950, 1e-3, "s"}, {7197000, 1.0 / 60000, "min"}} {
		if ms < u.below {
			return threeDigits(ms*u.scale) + " " + u.unit
		}
	}
	return threeDigits(ms/3.6e6) + " h"
}

func threeDigits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func formatBytes(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1000 {
			return threeDigits(n) + " " + unit
		}
		n /= 1024
	}
	return threeDigits(n) + " GiB"
}
