package main

import (
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"

	"loomlab/clock"
	"loomlab/loadgen"
)

// hlog writes the window as an HdrHistogram log, an interval a second, which
// HistogramLogAnalyzer and HistogramLogProcessor read.
type hlog struct {
	log    *hdrhistogram.HistogramLogWriter
	w      io.Writer
	opened clock.Time
	err    error
}

func newHlog(w io.Writer) *hlog {
	return &hlog{log: hdrhistogram.NewHistogramLogWriter(w), w: w}
}

func (h *hlog) note(err error) {
	if h.err == nil {
		h.err = err
	}
}

func (h *hlog) observe(e loadgen.Event) {
	switch {
	case e.Event == "window" && e.State == "open":
		h.opened = clock.FromSeconds(e.At)
		h.note(h.log.OutputLogFormatVersion())
		h.note(h.log.OutputComment("[loomlab load; values are microseconds, Interval_Max is in milliseconds]"))
		h.note(h.log.OutputStartTime(h.opened.Wall().UnixMilli()))
		h.note(h.log.OutputLegend())
	case e.Event == "sample" && e.Sample.Phase == "window":
		h.interval(e)
	}
}

// interval writes one line. The library's own method divides the maximum as if
// values were nanoseconds.
func (h *hlog) interval(e loadgen.Event) {
	values := e.Sample.Histogram()
	if values == nil {
		return
	}
	payload, err := values.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		h.note(err)
		return
	}
	from := e.At - e.Sample.Seconds - h.opened.Seconds()
	_, err = fmt.Fprintf(h.w, "%.3f,%.3f,%.3f,%s\n", max(from, 0), e.Sample.Seconds, float64(values.Max())/1000, payload)
	h.note(err)
}
