package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"loomlab/lab/standin"
)

func standinCommand() *cli.Command {
	return &cli.Command{
		Name: "standin", Category: helpTiers,
		Usage: "a small system under test that behaves like thread-per-request, virtual threads or an event loop",
		Description: "Serves GET /call (one GET to the downstream), /hello, /io-test (the downstream's /delay/100) and /lab/exceptions (counts as JSON) until a signal ends it. The flags from --cpu-per-request on are faults: each gives the stand-in a bottleneck whose name is known.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab standin --model threads --workers 50 --downstream http://127.0.0.1:8081\n" +
			"  loomlab standin --model event-loop --listen 127.0.0.1:9000 --downstream http://127.0.0.1:8081\n" +
			"  loomlab run --sut 'a=loomlab standin --listen 127.0.0.1:{{port}} --downstream {{downstream}}'\n" +
			"\n" +
			"Exit status:\n" +
			"  130, 143  ended by SIGINT or SIGTERM\n" +
			"  2    usage, or the address is taken\n" +
			"  137  crashed by --exit-after",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8080", Usage: "`HOST:PORT` to serve on; port 0 takes a free one"},
			&cli.StringFlag{Name: "model", Value: "threads", Usage: "`MODEL`: threads (a pool of them), goroutines (one a request) or event-loop"},
			&cli.IntFlag{Name: "workers", Value: 200, Usage: "threads of the threads model"},
			&cli.StringFlag{Name: "downstream", Usage: "http `URL` that /call gets; without it /call answers 500"},
			&cli.IntFlag{Name: "pool", Usage: "most connections to the downstream, others wait (0: no limit)"},
			&cli.IntFlag{Name: "max-conns", Usage: "most accepted connections, others wait in the backlog (0: no limit)"},
			&cli.IntFlag{Name: "backlog", Usage: "length of the kernel's accept queue (0: the system's maximum)"},
			&cli.IntFlag{Name: "keep-alive-requests", Usage: "close a connection after `N` requests, as Tomcat does after 100 (0: never)"},
			&cli.DurationFlag{Name: "cpu-per-request", Usage: "CPU time that each request burns, calibrated at the start"},
			&cli.BoolFlag{Name: "hot-thread", Usage: "one single thread burns all of --cpu-per-request"},
			&cli.StringFlag{Name: "lock", Usage: "a lock that all requests share: `call|D`: held around CPU time and downstream call, or so long (3ms) before them"},
			&cli.IntFlag{Name: "alloc", Usage: "`BYTES` that each request allocates and holds until it is answered"},
			&cli.Float64Flag{Name: "error-rate", Usage: "share of requests answered 500, 0 to 1"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "decides which requests --error-rate fails"},
			&cli.DurationFlag{Name: "not-ready-for", Usage: "answer 503 to everything for so long after the start"},
			&cli.DurationFlag{Name: "exit-after", Usage: "crash with exit status 137 after so long"},
		},
		Action: runStandin,
	}
}

// exitKilled is the status of a process that SIGKILL ended, as a shell shows it.
const exitKilled = 137

// standinConfig reads the command line. Nothing was started when it fails.
func standinConfig(c *cli.Context) (standin.Config, error) {
	if c.Args().Present() {
		return standin.Config{}, fmt.Errorf("standin takes no argument, only flags: %q", c.Args().First())
	}
	lock, err := standin.ParseLock(c.String("lock"))
	if err != nil {
		return standin.Config{}, err
	}
	cfg := standin.Config{
		Listen:            c.String("listen"),
		Model:             standin.Model(c.String("model")),
		Workers:           c.Int("workers"),
		Downstream:        c.String("downstream"),
		Pool:              c.Int("pool"),
		MaxConns:          c.Int("max-conns"),
		Backlog:           c.Int("backlog"),
		KeepAliveRequests: c.Int("keep-alive-requests"),
		CPUPerRequest:     c.Duration("cpu-per-request"),
		HotThread:         c.Bool("hot-thread"),
		Lock:              lock,
		Alloc:             c.Int("alloc"),
		ErrorRate:         c.Float64("error-rate"),
		Seed:              c.Uint64("seed"),
		NotReadyFor:       c.Duration("not-ready-for"),
		ExitAfter:         c.Duration("exit-after"),
	}
	return cfg, cfg.Validate()
}

func runStandin(c *cli.Context) error {
	cfg, err := standinConfig(c)
	if err != nil {
		return usagef("%w", err)
	}
	cfg.Ready = func(addr net.Addr) {
		if at, err := netip.ParseAddrPort(addr.String()); err == nil {
			sayReachable(c.App.ErrWriter, at)
		}
		fmt.Fprintf(c.App.Writer, "listening on %s\n", addr)
	}
	ctx, stop := notifySignals(c.Context)
	defer stop()
	err = standin.Serve(ctx, cfg)
	var ended endedBy
	switch {
	case errors.Is(err, standin.ErrCrash):
		return &statusError{exitKilled, err}
	case err != nil:
		return usagef("%w", err)
	case errors.As(context.Cause(ctx), &ended):
		return &statusError{code: 128 + int(ended.Signal.(syscall.Signal))}
	}
	return nil
}

// sayReachable tells whoever listens beyond this machine, on request alone, that
// it does.
func sayReachable(w io.Writer, addr netip.AddrPort) {
	if !addr.Addr().Unmap().IsLoopback() {
		fmt.Fprintf(w, "loomlab: %s can be reached from other machines, and answers anyone\n", addr)
	}
}

// endedBy is the cause of a context that a signal ended.
type endedBy struct{ os.Signal }

func (e endedBy) Error() string { return e.Signal.String() }

// notifySignals ends the context on SIGINT and SIGTERM and keeps which it was.
func notifySignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			cancel(endedBy{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
