package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"loomlab/clock"
	"loomlab/loadgen"
)

func loadCommand() *cli.Command {
	return &cli.Command{
		Name: "load", Category: helpTiers,
		Usage:     "drive an HTTP/1.1 server and say what it answered, how fast, and what the engine itself cost",
		ArgsUsage: "URL",
		Description: "A closed loop keeps one request in flight on each of -c connections; an open loop (-R) starts requests by the clock, whatever the answers do, and counts latency from the intended start. The window opens in live traffic: every connection is answered once, the first sends are spread over one latency, then comes a lead-in of max(2 s, 5 × mean latency). With -n exactly so many requests are sent, without a lead-in.\n" +
			"\n" +
			"Latencies are of answers with a 2xx status that completed inside the window. Failures are counted by class, and enter neither latency nor throughput.\n" +
			"\n" +
			"With --part this is one of several generators that share the load; all flags are those of the whole. It begins at a line `go AT` on stdin and opens its window at `open AT`, each once its events say armed and primed; AT is in seconds on their clock, and without it is now.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab load http://127.0.0.1:8080/ -c 100 -d 10s          # closed loop\n" +
			"  loomlab load http://127.0.0.1:8080/ -R 2000 -d 30s         # open loop, 2000 requests a second\n" +
			"  loomlab load http://127.0.0.1:8080/ -c 10 -n 5000 --json   # exactly 5000 requests\n" +
			"  loomlab load http://127.0.0.1:8080 --target 90%=/light --target 10%=/heavy\n" +
			"\n" +
			"Exit status:\n" +
			"  0  measured\n" +
			"  1  nothing succeeded, or fewer connections than asked\n" +
			"  2  usage\n" +
			"  130, 143  ended by SIGINT or SIGTERM, with the result so far",
		Flags:  loadFlags(),
		Action: runLoad,
	}
}

func runLoad(c *cli.Context) error {
	cfg, err := loadConfig(c)
	if err != nil {
		return usagef("load: %w", err)
	}
	ctx, stop := notifySignals(c.Context)
	defer stop()
	// A second Ctrl-C ends the process at once.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	followStdin(c, &cfg, cancel)
	observers, err := newLoadObservers(c, &cfg)
	if err != nil {
		return usagef("load: %w", err)
	}
	res, err := loadgen.Run(ctx, cfg, observers.observe())
	closeErr := observers.close()
	if res == nil {
		return usagef("load: %w", err)
	}
	err = errors.Join(err, closeErr, printLoadResult(c, res))
	return loadStatus(ctx, res, err)
}

// loadStatus is the exit status of a run that has a result.
func loadStatus(ctx context.Context, res *loadgen.Result, err error) error {
	cause := context.Cause(ctx)
	var ended endedBy
	var held *heldError
	switch {
	case errors.As(cause, &ended):
		return &statusError{code: 128 + int(ended.Signal.(syscall.Signal))}
	case errors.As(cause, &held):
		return failedf("load: %w", cause)
	case err != nil:
		return failedf("load: %w", err)
	case !res.Healthy():
		return &statusError{code: exitFailed}
	}
	return nil
}

// printLoadResult prints the result in the form that was asked for.
func printLoadResult(c *cli.Context, res *loadgen.Result) error {
	switch {
	case c.Bool("samples"):
		return writeLine(c.App.Writer, struct {
			loadgen.Event
			*loadgen.Result
		}{loadgen.Event{Event: "result", At: clock.Now().Seconds()}, res})
	case c.Bool("json"):
		return writeLine(c.App.Writer, res)
	}
	return writeLoadSummary(c.App.Writer, res)
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// loadObservers are those who follow a run while it goes on.
type loadObservers struct {
	each  []func(loadgen.Event)
	after []func() error
}

func newLoadObservers(c *cli.Context, cfg *loadgen.Config) (*loadObservers, error) {
	o := &loadObservers{}
	if path := c.String("hlog"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			return nil, fmt.Errorf("--hlog: %w", err)
		}
		log := newHlog(file)
		o.each = append(o.each, log.observe)
		o.after = append(o.after, func() error { return errors.Join(log.err, file.Close()) })
	}
	if c.Bool("samples") {
		o.each = append(o.each, func(e loadgen.Event) {
			// A reader that went away is no reason to stop measuring.
			_ = writeLine(c.App.Writer, e)
		})
	}
	if p := newLoadProgress(c.App.ErrWriter, cfg); p != nil {
		o.each = append(o.each, p.observe)
		o.after = append(o.after, p.close)
	}
	return o, nil
}

// observe is nil without observers: then the engine does not sample at all.
func (o *loadObservers) observe() func(loadgen.Event) {
	if len(o.each) == 0 {
		return nil
	}
	return func(e loadgen.Event) {
		for _, f := range o.each {
			f(e)
		}
	}
}

func (o *loadObservers) close() error {
	var errs []error
	for _, f := range o.after {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
