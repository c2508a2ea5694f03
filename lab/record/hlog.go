package record

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// writeHlogHead starts an HdrHistogram interval log. Times in it are seconds
// since the run started; values are microseconds, so HdrHistogram's tools want
// an output value unit ratio of 1000 to show milliseconds.
func writeHlogHead(w io.Writer, started time.Time) error {
	log := hdr.NewHistogramLogWriter(w)
	return errors.Join(
		log.OutputLogFormatVersion(),
		log.OutputComment("[Values are microseconds; Interval_Max is in milliseconds]"),
		log.OutputStartTime(started.UnixMilli()),
		log.OutputLegend(),
	)
}

// writeHlogCell adds the latencies of one cell under its tag. The stored payload
// is written as it is: the library's writer would encode it again, and divides
// the maximum as if values were nanoseconds.
func writeHlogCell(w io.Writer, started time.Time, c *Cell) error {
	if c.Load == nil || c.Load.Histogram == "" {
		return nil
	}
	var maxMS float64
	if c.Load.LatencyMS != nil {
		maxMS = c.Load.LatencyMS.Max
	}
	since := max(0, c.Load.Started.Sub(started).Seconds())
	_, err := fmt.Fprintf(w, "Tag=%s,%.3f,%.3f,%.3f,%s\n", c.tag(), since, c.Load.Seconds, maxMS, c.Load.Histogram)
	return err
}

// WriteHlog writes the latencies of every cell as an HdrHistogram log, a
// tag each: the run's latency.hlog, also of a run that was kept as a document.
func (s *Saved) WriteHlog(w io.Writer) error {
	if err := writeHlogHead(w, s.Run.Started); err != nil {
		return err
	}
	for i := range s.Cells {
		if err := writeHlogCell(w, s.Run.Started, &s.Cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// tag names the cell where commas and blanks are not allowed.
func (c *Cell) tag() string {
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || r == ',' || r == 0x7f {
			return '_'
		}
		return r
	}, c.SUT)
	rung := fmt.Sprintf("c%d", c.Connections)
	if c.Rate != 0 {
		rung += fmt.Sprintf("/rate%g", c.Rate)
	}
	return fmt.Sprintf("%s/f%d/%s/r%d", name, c.Fork, rung, c.Round)
}

// DecodeHistogram reads the histogram of a load result (µs).
func DecodeHistogram(encoded string) (*hdr.Histogram, error) {
	if encoded == "" {
		return nil, errors.New("no histogram was stored")
	}
	return hdr.Decode([]byte(encoded))
}

// MergeHistograms adds up the histograms of cells (µs). It fails when one of them
// has none: percentiles of the others alone would be of something else.
func MergeHistograms(cells []*Cell) (*hdr.Histogram, error) {
	var merged *hdr.Histogram
	for _, c := range cells {
		if c.Load == nil {
			return nil, fmt.Errorf("%s: no load result", c.tag())
		}
		h, err := DecodeHistogram(c.Load.Histogram)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.tag(), err)
		}
		if merged == nil {
			merged = h
		} else if lost := merged.Merge(h); lost > 0 {
			return nil, fmt.Errorf("%s: %d values are out of range", c.tag(), lost)
		}
	}
	return merged, nil
}

// FromHistogram summarises a histogram of microseconds in milliseconds, to its
// three digits: a percentile is the upper edge of its bucket, where the load
// engine says the middle. Nil when it is empty.
func FromHistogram(h *hdr.Histogram) *Latency {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	at := func(percentile float64) float64 { return ms(h.ValueAtPercentile(percentile)) }
	return &Latency{
		Min: ms(h.Min()), Mean: h.Mean() / 1000, Stddev: h.StdDev() / 1000,
		P50: at(50), P75: at(75), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9),
		Max: ms(h.Max()),
	}
}
