package report

import (
	"fmt"
	"strings"

	"loomlab/lab/record"
)

func startLine(s record.Start) string {
	name := escape(s.SUT)
	if s.Error != "" {
		return fmt.Sprintf("%s did not start: %s", name, onItsLines(s.Error))
	}
	parts := []string{"ready"}
	if s.ReadyS != nil {
		parts[0] = fmt.Sprintf("ready after %s s", fixed(*s.ReadyS, 2))
	}
	if s.JVM != nil {
		parts = append(parts, "JDK "+escape(jvm(s.JVM)))
	}
	if s.IdleRSSBytes != nil {
		parts = append(parts, fmt.Sprintf("idle RSS %d MB", *s.IdleRSSBytes>>20))
	}
	if f := s.FirstRequest; f != nil {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("first request %d %s", f.Status, escape(f.Body)))+" in "+fixed(f.MS, 1)+" ms")
	}
	return name + ": " + strings.Join(parts, ", ")
}

// lineMetrics are what the line of a cell says, with the words after the figure.
var lineMetrics = []struct{ name, format string }{
	{record.Throughput, "%s/s"},
	{"p50_ms", "p50 %s ms"},
	{record.P99, "p99 %s ms"},
	{"errors", "errors %s"},
	{"sut_cpu_us", "SUT CPU %s µs/request"},
	{"rss_mb", "RSS %s MB"},
}

func cellLine(c *record.Cell) string {
	head := fmt.Sprintf("%s at %s, round %d", escape(c.SUT), rungTitle(c.Rung()), c.Round)
	if c.Fork > 1 {
		head += fmt.Sprintf(" of fork %d", c.Fork)
	}
	if c.Status != "ok" {
		return head + ": " + onItsLines(statusReason(Point{Status: c.Status, Reason: orElse(c.Reason, c.Status)}))
	}
	var parts []string
	for _, figure := range lineMetrics {
		m, _ := record.MetricNamed(figure.name)
		if v := m.Of(c); v != nil {
			parts = append(parts, fmt.Sprintf(figure.format, number(*v, m)))
		}
	}
	var kinds []string
	for _, d := range c.Doubts {
		if d.Metric == "" { // what concerns one figure waits for the table
			kinds = appendNew(kinds, d.Kind)
		}
	}
	if len(kinds) > 0 {
		parts = append(parts, "doubts: "+escape(strings.Join(kinds, " ")))
	}
	return head + ": " + orElse(strings.Join(parts, ", "), "no figures")
}
