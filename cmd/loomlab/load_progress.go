package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"loomlab/loadgen"
)

// loadProgress is a bar on a terminal: how far the window is, and the last second.
type loadProgress struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	seconds  bool // the bar counts milliseconds of the window, not answers
	total    int64
	text     atomic.Pointer[string]
}

// newLoadProgress is nil when w is no terminal.
func newLoadProgress(w io.Writer, cfg *loadgen.Config) *loadProgress {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	p := &loadProgress{total: cfg.Requests}
	if p.total == 0 {
		length := cfg.Duration
		if length == 0 {
			length = loadgen.DefaultDuration
		}
		p.seconds, p.total = true, length.Milliseconds()
	}
	p.say("connecting")
	p.progress = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(250*time.Millisecond))
	p.bar = p.progress.AddBar(p.total, mpb.BarRemoveOnComplete(),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return *p.text.Load() })))
	return p
}

func (p *loadProgress) say(format string, a ...any) {
	text := " " + fmt.Sprintf(format, a...)
	p.text.Store(&text)
}

func (p *loadProgress) observe(e loadgen.Event) {
	switch {
	case e.Event == "ready":
		p.say("lead-in")
	case e.State == "open":
		p.say("window")
	case e.Event == "window":
		p.bar.SetCurrent(p.total)
	case e.Event == "sample":
		s := e.Sample
		p50 := "-"
		if s.LatencyMS != nil {
			p50 = formatMS(s.LatencyMS.P50)
		}
		p.say("%s: %.0f/s, p50 %s, %d errors, %d in flight", s.Phase, float64(s.OK)/s.Seconds, p50, s.Errors, s.InFlight)
		if s.Phase == "window" && p.seconds {
			p.bar.IncrBy(int(s.Seconds * 1000))
		} else if s.Phase == "window" {
			p.bar.IncrBy(int(s.OK + s.Non2xx + s.Errors))
		}
	}
}

// close takes the bar off the terminal.
func (p *loadProgress) close() error {
	p.bar.Abort(true)
	p.progress.Wait()
	return nil
}
