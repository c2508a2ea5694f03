package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/downstream"
)

func downstreamCommand() *cli.Command {
	return &cli.Command{
		Name: "downstream", Category: helpTiers,
		Usage: "serve HTTP (and gRPC) that answers after a fixed delay, with the limits and faults of real downstreams",
		Description: "Every path is answered after --delay, /delay/{ms} after that many milliseconds, /lab/stats at once with the server's own account as JSON. SIGINT or SIGTERM ends it with a last account.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab downstream --delay 100ms\n" +
			"  loomlab downstream --jitter lognormal:p50=80ms,p99=400ms --max-requests 100 --max-idle 200\n" +
			"  loomlab downstream --fault reset-before@0.01 --fault status=503:20ms@0.05 --seed 7\n" +
			"  curl -s http://127.0.0.1:8081/lab/stats\n" +
			"\n" +
			"Exit status:\n" +
			"  130, 143  ended by SIGINT or SIGTERM\n" +
			"  1  it failed while serving\n" +
			"  2  usage, or the address is taken",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8081", Usage: "`ADDRESS:PORT`; port 0 takes a free one"},
			&cli.DurationFlag{Name: "delay", Value: 100 * time.Millisecond, Usage: "from the complete request to the first byte of the answer"},
			&cli.StringFlag{Name: "jitter", Usage: "vary the delay by `SHAPES`; " + downstream.JitterGrammar},
			&cli.StringSliceFlag{Name: "fault", Usage: "hurt clients by a `FAULT` (repeatable; the first that applies wins): " + downstream.FaultGrammar},
			&cli.Uint64Flag{Name: "seed", Usage: "of jitter and faults, which are the same in every run with the same seed"},
			&cli.IntFlag{Name: "max-requests", Usage: "`N` requests per connection; the last answer says Connection: close (0: any number)"},
			&cli.BoolFlag{Name: "rude", Usage: "at --max-requests, close without announcing it"},
			&cli.DurationFlag{Name: "idle-timeout", Usage: "close connections that are idle between requests for so long (0: never)"},
			&cli.IntFlag{Name: "max-idle", Usage: "`N` idle connections; the surplus is closed after its answer, as JDK HttpServer does (0: any number)"},
			&cli.StringFlag{Name: "max-conns", Usage: "`N[:MODE]` connections; one more has to wait (in the backlog), or with reset or refuse as MODE meets that"},
			&cli.IntFlag{Name: "backlog", Usage: "listen backlog (0: the system's maximum)"},
			&cli.DurationFlag{Name: "lifetime", Usage: "close connections of this age, busy ones after their answer (0: never)"},
			&cli.IntFlag{Name: "status", Value: 200, Usage: "status of the answers"},
			&cli.IntFlag{Name: "body-size", Value: 2, Usage: "`BYTES` of body, beginning with \"ok\""},
			&cli.BoolFlag{Name: "chunked", Usage: "send the body chunked"},
			&cli.StringFlag{Name: "grpc", Usage: "`ADDRESS:PORT` of the gRPC service lab.Hello/Say"},
			&cli.DurationFlag{Name: "grpc-delay", Usage: "delay of the gRPC service"},
			&cli.IntFlag{Name: "loops", Usage: "event loops, a thread each (0: half the CPUs)"},
			&cli.StringFlag{Name: "engine", Value: "auto", Usage: "event `LOOP`: auto, epoll or portable"},
			&cli.DurationFlag{Name: "coalesce", Value: downstream.DefaultCoalesce, Usage: "oversleep the first due answer by so much, so that one wake-up serves several; 0 is not at all"},
			&cli.BoolFlag{Name: "json", Usage: "print the account as JSON lines: ready, stats once a second, exit"},
		},
		Action: runDownstream,
	}
}

func runDownstream(c *cli.Context) error {
	cfg, err := downstreamConfig(c)
	if err != nil {
		return usagef("%w", err)
	}
	// The Go runtime has raised the soft limit on descriptors to the hard one.
	server, err := downstream.New(cfg)
	if err != nil {
		return downstreamBindError(err)
	}
	ctx, stop := notifySignals(c.Context)
	defer stop()
	sayReachable(c.App.ErrWriter, server.Addr())
	if c.Bool("json") {
		err = server.ServeLines(ctx, c.App.Writer)
	} else {
		fmt.Fprintf(c.App.Writer, "listening on %s\n", server.URL())
		if grpc := server.GRPCAddr(); grpc != "" {
			fmt.Fprintf(c.App.Writer, "gRPC on %s\n", grpc)
		}
		err = server.Serve(ctx)
		printDownstreamAccount(c, server.Stats())
	}
	if err != nil {
		return failedf("downstream: %w", err)
	}
	var ended endedBy
	if errors.As(context.Cause(ctx), &ended) {
		return &statusError{code: 128 + int(ended.Signal.(syscall.Signal))}
	}
	return nil
}

// downstreamConfig reads the flags, and reports every mistake at once.
func downstreamConfig(c *cli.Context) (downstream.Config, error) {
	cfg := downstream.Config{
		Listen: c.String("listen"), Engine: c.String("engine"), Loops: c.Int("loops"),
		Delay: c.Duration("delay"), Seed: c.Uint64("seed"), Coalesce: c.Duration("coalesce"),
		Status: c.Int("status"), Chunked: c.Bool("chunked"),
		MaxRequests: c.Int("max-requests"), Rude: c.Bool("rude"), IdleTimeout: c.Duration("idle-timeout"),
		MaxIdle: c.Int("max-idle"), Backlog: c.Int("backlog"), Lifetime: c.Duration("lifetime"),
		GRPC: c.String("grpc"), GRPCDelay: c.Duration("grpc-delay"),
	}
	if cfg.Coalesce == 0 {
		cfg.Coalesce = -1 // the Config's way to say none
	}
	var errs []error
	if c.Args().Present() {
		errs = append(errs, fmt.Errorf("downstream takes no argument: %q", c.Args().First()))
	}
	var err error
	if cfg.Jitter, err = downstream.ParseJitter(c.String("jitter")); err != nil {
		errs = append(errs, fmt.Errorf("--jitter: %w", err))
	}
	for _, text := range c.StringSlice("fault") {
		f, err := downstream.ParseFault(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--fault: %w", err))
		}
		cfg.Faults = append(cfg.Faults, f)
	}
	if cfg.MaxConns, cfg.MaxConnsMode, err = parseMaxConns(c.String("max-conns")); err != nil {
		errs = append(errs, err)
	}
	const maxBody = 64 << 20
	if n := c.Int("body-size"); n < 0 || n > maxBody {
		errs = append(errs, fmt.Errorf("--body-size %d: use 0 to %d", n, maxBody))
	} else {
		cfg.Body = bodyOf(n)
	}
	if err := cfg.Check(); err != nil {
		errs = append(errs, err)
	}
	return cfg, errors.Join(errs...)
}

// bodyOf is a body of n bytes.
func bodyOf(n int) []byte { return []byte(("ok" + strings.Repeat(".", n))[:n]) }

// parseMaxConns reads N or N:MODE.
func parseMaxConns(text string) (n int, mode string, err error) {
	if text == "" {
		return 0, "", nil
	}
	number, mode, _ := strings.Cut(text, ":")
	if n, err = strconv.Atoi(number); err != nil || n <= 0 {
		return 0, "", fmt.Errorf("--max-conns %q: write N, or N:MODE with one of %s", text, strings.Join(downstream.MaxConnsModes, ", "))
	}
	return n, mode, nil
}

// downstreamBindError says in one line why the server cannot start.
func downstreamBindError(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return usagef("%w: is another downstream still running there? (--listen 127.0.0.1:0 takes a free port)", err)
	}
	return usagef("%w", err)
}

// printDownstreamAccount is the last word for people.
func printDownstreamAccount(c *cli.Context, s downstream.Stats) {
	w := c.App.Writer
	fmt.Fprintf(w, "%d requests, %d answered, %d lost, at most %d in flight\n", s.Requests, s.Answered, s.Lost, s.InFlightMax)
	fmt.Fprintf(w, "%d connections, at most %d open", s.Connections.Accepted, s.Connections.Peak)
	for _, cause := range slices.Sorted(maps.Keys(s.Connections.Closed)) {
		if n := s.Connections.Closed[cause]; n > 0 {
			fmt.Fprintf(w, ", %d closed: %s", n, strings.ReplaceAll(cause, "_", " "))
		}
	}
	fmt.Fprintln(w)
	for _, fault := range slices.Sorted(maps.Keys(s.Faults)) {
		fmt.Fprintf(w, "fault %s: %d\n", fault, s.Faults[fault])
	}
	if l := s.LatenessMS; l != nil {
		fmt.Fprintf(w, "lateness p50 %.3f ms, p99 %.3f ms, max %.3f ms; %.1f s of CPU\n", l.P50, l.P99, l.Max, s.CPUUserS+s.CPUSystemS)
	}
}
