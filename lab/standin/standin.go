// Package standin holds small systems under test written in Go. Each behaves
// like one of the models that the lab compares, with the model's real limits
// rather than an imitation of its numbers:
//
//   - [Threads] is thread-per-request: a bounded pool of operating system
//     threads, each blocking in read(2) while it waits for the downstream, and a
//     queue before it (Tomcat with 200 threads).
//   - [Goroutines] is a cheap thread per request on an ordinary blocking stack,
//     net/http on both sides (virtual threads).
//   - [EventLoop] is one event loop per core that serves clients and calls the
//     downstream without ever blocking (WebFlux on Netty).
//
// All of them serve GET /call (one GET to the downstream, whose body is the
// answer), /hello (no downstream), /io-test (as /call, to the downstream's
// /delay/100) and /lab/exceptions (JSON counts, see [Exceptions]); any other
// path is a 404. The faults of [Config] give each of them a known bottleneck.
//
// What all models share with the real ones: a client that goes away does not
// cancel the downstream call made for it, and a call that fails on a kept-alive
// connection before the first byte of its answer is tried once more, on a new
// connection, because the downstream may have closed the idle connection just
// then. Any other failure is a 500 with the reason, counted as an exception.
//
// The usual steps: fill a [Config], call [Serve], and cancel its context. Limits:
// they show what a model does with waiting, not what a JVM costs: their CPU and
// memory say nothing of Spring.
package standin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"runtime"
	"time"
)

// Model names how a stand-in waits for the downstream.
type Model string

// The models.
const (
	Threads    Model = "threads"
	Goroutines Model = "goroutines"
	EventLoop  Model = "event-loop"
)

// ErrCrash is what Serve returns when Config.ExitAfter has passed.
var ErrCrash = errors.New("crashed on purpose (--exit-after)")

// Config is one stand-in. The zero value of every fault means none of it.
type Config struct {
	Listen string // host:port; port 0 takes a free one
	Model  Model

	// Workers is the number of threads of the Threads model.
	Workers int
	// Downstream is the http URL that /call gets; empty: /call answers 500.
	Downstream string
	// Pool is the most connections to the downstream; calls beyond it queue.
	// 0 is no limit. The event-loop model splits it over its loops, and runs on
	// no more loops than there are connections in the pool.
	Pool int

	// MaxConns is the most accepted connections; others wait unaccepted in the
	// kernel's backlog, as Tomcat's do beyond 8192. 0 is no limit.
	MaxConns int
	// Backlog is the length of the kernel's accept queue; 0 is the system's
	// maximum. The kernel rounds and caps it (net.core.somaxconn).
	Backlog int
	// KeepAliveRequests closes a connection after so many requests, as Tomcat
	// does after 100. 0 is never.
	KeepAliveRequests int

	// CPUPerRequest is the CPU time that each request burns, as a fixed amount
	// of work calibrated at the start.
	CPUPerRequest time.Duration
	// HotThread makes one single thread burn all of CPUPerRequest.
	HotThread bool
	// Lock is a lock that all requests share.
	Lock Lock
	// Alloc is the number of bytes that each request allocates and holds until
	// it is answered.
	Alloc int
	// ErrorRate is the share of requests answered 500 instead of served, 0 to
	// 1; which ones is decided by Seed.
	ErrorRate float64
	Seed      uint64
	// NotReadyFor answers 503 to everything for so long after the start.
	NotReadyFor time.Duration
	// ExitAfter makes Serve return ErrCrash after so long.
	ExitAfter time.Duration

	// Ready, if set, is called once with the bound address when the stand-in
	// accepts connections.
	Ready func(net.Addr)
}

// Validate says what is wrong with c in one line, named by the flag.
func (c Config) Validate() error {
	switch c.Model {
	case Threads, Goroutines, EventLoop:
	default:
		return fmt.Errorf("--model %q: want threads, goroutines or event-loop", c.Model)
	}
	if _, err := net.ResolveTCPAddr("tcp", c.Listen); err != nil || c.Listen == "" {
		return fmt.Errorf("--listen %q: want HOST:PORT", c.Listen)
	}
	if c.Downstream != "" {
		if u, err := url.Parse(c.Downstream); err != nil || u.Scheme != "http" || u.Hostname() == "" {
			return fmt.Errorf("--downstream %q: want http://HOST:PORT", c.Downstream)
		}
	}
	for _, n := range []struct {
		flag       string
		value      int
		least, top int
	}{
		{"--workers", c.Workers, 1, 20000},
		{"--pool", c.Pool, 0, 1 << 20},
		{"--max-conns", c.MaxConns, 0, 1 << 20},
		{"--backlog", c.Backlog, 0, 1 << 16},
		{"--keep-alive-requests", c.KeepAliveRequests, 0, math.MaxInt32},
		{"--alloc", c.Alloc, 0, 1 << 28},
	} {
		if n.flag == "--workers" && c.Model != Threads {
			continue
		}
		if n.value < n.least || n.value > n.top {
			return fmt.Errorf("%s %d: want %d to %d", n.flag, n.value, n.least, n.top)
		}
	}
	for _, d := range []struct {
		flag       string
		value, top time.Duration
	}{
		{"--cpu-per-request", c.CPUPerRequest, time.Second},
		{"--lock", c.Lock.Hold, 10 * time.Second},
		{"--not-ready-for", c.NotReadyFor, 24 * time.Hour},
		{"--exit-after", c.ExitAfter, 24 * time.Hour},
	} {
		if d.value < 0 || d.value > d.top {
			return fmt.Errorf("%s %v: want 0s to %v", d.flag, d.value, d.top)
		}
	}
	if !(c.ErrorRate >= 0 && c.ErrorRate <= 1) {
		return fmt.Errorf("--error-rate %v: want 0 to 1", c.ErrorRate)
	}
	if c.HotThread && c.CPUPerRequest == 0 {
		return errors.New("--hot-thread: needs --cpu-per-request, the work that the one thread does")
	}
	return nil
}

// Serve runs a stand-in until ctx ends (it then returns nil), until it cannot
// listen, or until Config.ExitAfter. It waits for no request in flight: like a
// process that ends, it drops its connections.
//
// Descriptors: the Go runtime raises the soft limit of open files to the hard
// one when a process starts, so there is nothing left to raise here.
func Serve(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	ln, err := listen(cfg.Listen, cfg.Backlog, cfg.MaxConns)
	if err != nil {
		return err
	}
	defer ln.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := newService(cfg, ctx.Done())
	if err != nil {
		return err
	}
	if cfg.ExitAfter > 0 {
		crash := time.AfterFunc(cfg.ExitAfter, func() { cancel(ErrCrash) })
		defer crash.Stop()
	}
	serve := map[Model]func(context.Context, *listener, *service) error{
		Threads:    serveThreads,
		Goroutines: serveGoroutines,
		EventLoop:  serveEventLoop,
	}[cfg.Model]
	if cfg.Ready != nil {
		cfg.Ready(ln.Addr())
	}
	err = serve(ctx, ln, s)
	if errors.Is(context.Cause(ctx), ErrCrash) {
		return ErrCrash
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// cores is how many loops or threads can run at once.
func cores() int { return runtime.GOMAXPROCS(0) }
