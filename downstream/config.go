// Package downstream is the tier behind the system under test: an HTTP/1.1
// server that answers after a delay, and a precise instrument. The delay is
// counted from the complete request to the first byte of its answer, it is
// never early, and how late it was is measured; the limits and faults by which
// real downstreams hurt their clients can be switched on one by one; and every
// connection and request is accounted for.
//
// The usual steps: fill a [Config], bind with [New], tell clients [Server.URL],
// and call [Server.Serve]. [Server.Stats] may be asked at any time; the
// difference of two (see [Stats.Sub]) describes the time between.
//
// Paths: every path is answered after the configured delay; /delay/{ms} after
// that many milliseconds; /lab/stats at once with the [Stats], and without
// counting as a request. Pipelined requests wait side by side and are answered
// in order, none before the ones sent before it.
//
// Limits: plain HTTP/1.1, and gRPC with one method; what a request says beside its
// path and its framing changes nothing.
package downstream

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"loomlab/loadgen/evloop"
)

// Config says how a downstream behaves. Its zero value answers "ok" at once, on
// a free port of 127.0.0.1, without limits or faults.
type Config struct {
	Listen string // ADDRESS:PORT; "" is 127.0.0.1:0, port 0 a free one
	Engine string // event loop: auto, epoll or portable
	Loops  int    // 0: half the CPUs, one where limits count over all connections

	Delay  time.Duration
	Jitter Jitter
	Faults []Fault
	// Seed makes jitter and faults repeatable: the n-th request that a loop sees
	// has the same fate in every run.
	Seed uint64
	// Coalesce is by how much the server oversleeps the first due answer, so
	// that one wake-up serves all that came due meanwhile: CPU for lateness. 0 is
	// DefaultCoalesce; negative is none.
	Coalesce time.Duration

	Status  int    // 0: 200
	Body    []byte // nil: "ok"
	Chunked bool   // send the body chunked (to HTTP/1.0 clients: with its length)

	// MaxRequests is how many requests a connection may make; 0: any number. The
	// last answer says Connection: close, unless Rude.
	MaxRequests int
	Rude        bool
	IdleTimeout time.Duration // between requests, never during one; 0: none
	// MaxIdle is how many connections may be idle between requests; one more is
	// closed after its answer, as JDK HttpServer's maxIdleConnections does. 0: any.
	MaxIdle      int
	MaxConns     int           // 0: any number
	MaxConnsMode string        // what happens to one more: wait, reset or refuse
	Backlog      int           // of the listening socket; 0: the system's maximum
	Lifetime     time.Duration // of a connection; busy ones end with their answer; 0: none

	GRPC      string        // ADDRESS:PORT of the gRPC service lab.Hello; "": none
	GRPCDelay time.Duration // its own delay
}

// DefaultCoalesce is the usual [Config.Coalesce].
const DefaultCoalesce = 200 * time.Microsecond

// MaxConnsModes are the values of [Config.MaxConnsMode]: leave further clients
// in the backlog, accept and reset them, or close the listening socket, so that
// they are refused.
var MaxConnsModes = []string{"wait", "reset", "refuse"}

// maxDelay bounds delays; beyond it a number is a mistake.
const maxDelay = time.Hour

// Check reports every mistake in c at once.
func (c Config) Check() error {
	_, err := c.check()
	return err
}

// check fills defaults in and reports every mistake at once.
func (c *Config) check() (netip.AddrPort, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Engine == "" {
		c.Engine = "auto"
	}
	if c.Status == 0 {
		c.Status = 200
	}
	if c.Body == nil {
		c.Body = []byte("ok")
	}
	if c.MaxConnsMode == "" {
		c.MaxConnsMode = "wait"
	}
	if c.Coalesce == 0 {
		c.Coalesce = DefaultCoalesce
	}
	c.Coalesce = max(c.Coalesce, 0)
	single := c.MaxIdle > 0 || c.MaxConns > 0
	var errs []error
	if single && c.Loops > 1 {
		errs = append(errs, errors.New("max idle and max connections count over all connections: they need one loop"))
	}
	if c.Loops == 0 {
		c.Loops = max(1, runtime.NumCPU()/2)
		if single {
			c.Loops = 1
		}
	}
	addr, err := parseListen(c.Listen)
	if err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains(evloop.Kinds, c.Engine) {
		errs = append(errs, fmt.Errorf("event loop %q: use %s", c.Engine, strings.Join(evloop.Kinds, ", ")))
	}
	return addr, errors.Join(append(errs, c.ranges()...)...)
}

// parseListen reads ADDRESS:PORT. "localhost" is 127.0.0.1, and no address at all
// is every one of this machine (IPv4). Other names are not looked up.
func parseListen(text string) (netip.AddrPort, error) {
	numeric := text
	switch host, port, _ := net.SplitHostPort(text); host {
	case "localhost":
		numeric = "127.0.0.1:" + port
	case "":
		numeric = "0.0.0.0:" + port
	}
	addr, err := netip.ParseAddrPort(numeric)
	if err != nil {
		return addr, fmt.Errorf("listen address %q: use ADDRESS:PORT, such as 127.0.0.1:8081 or [::1]:0", text)
	}
	return addr, nil
}

// ranges reports the numbers that make no sense.
func (c *Config) ranges() (errs []error) {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"delay", c.Delay}, {"gRPC delay", c.GRPCDelay}, {"idle timeout", c.IdleTimeout}, {"lifetime", c.Lifetime}} {
		if d.d < 0 || d.d > maxDelay && d.name != "lifetime" && d.name != "idle timeout" {
			errs = append(errs, fmt.Errorf("%s %v: use 0 to %v", d.name, d.d, maxDelay))
		}
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"max requests", c.MaxRequests}, {"max idle", c.MaxIdle}, {"max connections", c.MaxConns}, {"backlog", c.Backlog}, {"loops", c.Loops}} {
		if n.n < 0 {
			errs = append(errs, fmt.Errorf("%s %d: must not be negative", n.name, n.n))
		}
	}
	if c.Status < 200 || c.Status > 599 {
		errs = append(errs, fmt.Errorf("status %d: use 200 to 599", c.Status))
	}
	if !slices.Contains(MaxConnsModes, c.MaxConnsMode) {
		errs = append(errs, fmt.Errorf("max connections mode %q: use wait, reset or refuse", c.MaxConnsMode))
	}
	return errs
}
