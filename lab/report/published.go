package report

import (
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// withDrain reports whether the author counted answers that came after the window.
func (b *builder) withDrain() bool {
	return b.exp.Source != nil && b.exp.Source.Counting == "with-drain"
}

// publish puts the author's figures beside ours, counted the same way.
func (b *builder) publish(c *Cell, m record.Metric, sut string, rung record.Rung) {
	if m.Name == record.Throughput && b.withDrain() || m.Name == record.ThroughputWithDrain && !b.withDrain() {
		return
	}
	at := slices.IndexFunc(b.exp.Published, func(p record.Published) bool { return p.SUT == sut && p.Rung() == rung })
	if at < 0 {
		return
	}
	published := &b.exp.Published[at]
	c.Published, c.PublishedWords = m.PublishedIn(published)
	c.Ratio = c.ratioToPublished()
	switch m.Name {
	case record.Throughput, record.ThroughputWithDrain:
		if text := b.aboveCeiling(published); text != "" {
			c.PublishedNotes = append(c.PublishedNotes, b.note(text))
		}
	case record.HeapAfterGC:
		if len(c.Published) > 0 {
			c.PublishedNotes = append(c.PublishedNotes, b.note("published as heap in use at one moment, garbage included: another quantity than heap after GC"))
		}
	}
}

// ratioToPublished is ours ÷ the author's, each the median of what there is.
func (c *Cell) ratioToPublished() *float64 {
	ours, published := c.Summary, record.Over(c.Published)
	if ours == nil {
		var values []float64
		for _, p := range c.Points {
			if p.Value != nil {
				values = append(values, *p.Value)
			}
		}
		ours = record.Over(values)
	}
	if ours == nil || published == nil {
		return nil
	}
	return ratioTo(&ours.Median, &published.Median)
}

// aboveCeiling explains published figures that Little's law does not allow inside
// a window, with the arithmetic (METHOD rule 1). It explains; it refutes nobody.
func (b *builder) aboveCeiling(p *record.Published) string {
	limit, arithmetic := b.ceiling(p)
	if limit == 0 {
		return ""
	}
	var above []string
	var most float64
	for _, v := range p.Throughput {
		if v > limit {
			above, most = append(above, plain(v)), max(most, v)
		}
	}
	if len(above) == 0 {
		return ""
	}
	text := fmt.Sprintf("published %s/s, above the ceiling of %s", strings.Join(above, " and "), arithmetic)
	window := b.publishedWindow(p.SUT)
	drain := quotient(float64(p.Connections), window)
	switch {
	case !b.withDrain() || window == 0:
		return text + ": how the author counted is not known"
	case most-limit <= 1.25*drain:
		return fmt.Sprintf("%s: about %d answers that came after the %s s window were counted too, %d ÷ %s s = %s/s too many",
			text, p.Connections, plain(window), p.Connections, plain(window), plain(drain))
	default:
		return fmt.Sprintf("%s: answers counted after the %s s window explain about %d ÷ %s s = %s/s of it, not the rest",
			text, plain(window), p.Connections, plain(window), plain(drain))
	}
}

// ceiling is the lowest throughput limit that the experiment itself states.
func (b *builder) ceiling(p *record.Published) (perS float64, arithmetic string) {
	at := slices.IndexFunc(b.exp.SUTs, func(s record.SUT) bool { return s.Name == p.SUT })
	if at < 0 {
		return 0, ""
	}
	s, calls := b.exp.SUTs[at], 1.0
	downstream := b.exp.Downstream
	if s.Downstream != nil {
		downstream = s.Downstream
	}
	if s.Calls != nil {
		calls = *s.Calls
	}
	delay := s.Limits.Held.Seconds()
	switch {
	case downstream != nil && downstream.Jitter != "":
		return 0, ""
	case downstream != nil && s.Limits.Held == 0, downstream != nil && s.Calls != nil:
		delay += downstream.Delay.Seconds() * calls
	}
	if delay <= 0 {
		return 0, ""
	}
	for _, limit := range []struct {
		n    int
		what string
	}{{s.Limits.Workers, "worker threads"}, {s.Limits.ClientPool, "pooled client connections"}, {p.Connections, "connections"}} {
		if most := float64(limit.n) / delay; limit.n > 0 && (perS == 0 || most < perS) {
			perS = most
			arithmetic = fmt.Sprintf("%d %s ÷ %s s = %s/s", limit.n, limit.what, plain(delay), plain(most))
		}
	}
	return perS, arithmetic
}

// publishedWindow is how long the author measured a SUT, in seconds; 0 where that
// was a number of requests.
func (b *builder) publishedWindow(sut string) float64 {
	if b.exp.Source != nil && b.exp.Source.Window > 0 {
		return b.exp.Source.Window.Seconds()
	}
	return b.exp.LoadOf(sut).Duration.Seconds()
}

func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
