package loadgen

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"loomlab/loadgen/evloop"
)

// Config describes one run of load. Its zero values mean the defaults.
type Config struct {
	URL         string   // http only; see Target
	Method      string   // GET, or POST with a body
	Headers     []string // "Name: value", as they are to be sent
	Body        []byte
	Targets     []Target // several paths with weights; empty: the URL's own
	NoKeepAlive bool     // a connection for every request

	Connections int           // of a closed loop: one request in flight on each
	Duration    time.Duration // of the window
	Requests    int64         // instead of Duration: exactly so many are sent
	Rate        float64       // open loop: requests per second, whatever the answers do
	MaxInFlight int           // open loop: connections may grow to this many; 0: Connections, or chosen from Rate

	Timeout time.Duration  // of a request from its send, and of a connect
	Warmup  time.Duration  // load before the lead-in
	LeadIn  *time.Duration // load before the window; nil: max(2 s, 5 × mean latency), none with Requests
	// Start, if not nil, holds the load in its warm-up until it delivers or is closed.
	Start <-chan struct{}

	// Part makes this one of several generators; Connections, Requests, Rate and
	// MaxInFlight are then those of all together, and Gates hold it until all can go on.
	Part  Part
	Gates Gates

	Engine string // auto, epoll, portable
	Loops  int    // event loops; 0: half of the CPUs
}

// Target is one path among several, chosen in proportion to its weight.
type Target struct {
	Weight float64
	Path   string // with query; begins with "/"
}

// Defaults and limits of a Config.
const (
	DefaultConnections = 10
	DefaultDuration    = 10 * time.Second
	DefaultTimeout     = 10 * time.Second

	MaxConnections = 1_000_000
	MaxRate        = 10_000_000 // per second
	MaxParts       = 1000       // generators that share one load
	maxAutoFlight  = 10_000     // connections of an open loop that nobody chose
)

func (c *Config) open() bool { return c.Rate != 0 }

// fill puts the defaults in.
func (c *Config) fill() {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Duration == 0 && c.Requests == 0 {
		c.Duration = DefaultDuration
	}
	if c.Method == "" {
		c.Method = "GET"
		if c.Body != nil {
			c.Method = "POST"
		}
	}
	c.fillConnections()
	if c.Loops == 0 {
		c.Loops = max(1, runtime.NumCPU()/2)
	}
}

// divide takes this generator's part of a load that is filled in.
func (c *Config) divide() {
	c.Connections = int(c.Part.share(int64(c.Connections)))
	c.MaxInFlight = int(c.Part.share(int64(c.MaxInFlight)))
	c.Requests = c.Part.share(c.Requests)
	c.Loops = min(c.Loops, c.Connections)
}

// fillConnections chooses how many connections there are and how far those of
// an open loop may grow: enough for answers of 100 ms at once, and for a server
// that stalls for a second.
func (c *Config) fillConnections() {
	if c.open() {
		if c.MaxInFlight == 0 {
			c.MaxInFlight = c.Connections
		}
		if c.MaxInFlight == 0 {
			c.MaxInFlight = min(max(int(c.Rate*1.25), 100), maxAutoFlight)
		}
		if c.Connections == 0 {
			c.Connections = min(max(int(c.Rate/10), DefaultConnections, c.Part.Of), c.MaxInFlight)
		}
	}
	if c.Connections == 0 {
		c.Connections = max(DefaultConnections, c.Part.Of)
		if c.Requests > 0 {
			c.Connections = int(min(c.Requests, int64(c.Connections)))
		}
	}
	if !c.open() {
		c.MaxInFlight = c.Connections
	}
}

// Validate says what is wrong with c, in terms of the flags of `loomlab load`.
func (c *Config) Validate() error {
	switch {
	case c.Connections < 0 || c.Connections > MaxConnections:
		return fmt.Errorf("-c %d: connections are 1 to %d", c.Connections, MaxConnections)
	case c.Duration < 0:
		return fmt.Errorf("-d %v: the duration is above 0, with a unit, such as 10s", c.Duration)
	case c.Requests < 0:
		return fmt.Errorf("-n %d: the number of requests is 1 or more", c.Requests)
	case c.Requests > 0 && c.Duration > 0:
		return errors.New("-n and -d: give one of them")
	case c.Requests > 0 && int64(c.Connections) > c.Requests:
		return fmt.Errorf("-n %d: at least one request for each of the %d connections of -c", c.Requests, c.Connections)
	case math.IsNaN(c.Rate) || c.Rate < 0 || c.Rate > MaxRate:
		return fmt.Errorf("-R %v: the rate is above 0 and at most %d per second", c.Rate, MaxRate)
	case c.MaxInFlight < 0 || c.MaxInFlight > MaxConnections:
		return fmt.Errorf("--max-in-flight %d: 1 to %d", c.MaxInFlight, MaxConnections)
	case c.MaxInFlight > 0 && !c.open():
		return errors.New("--max-in-flight: only with -R; a closed loop has one request in flight on each connection")
	case c.MaxInFlight > 0 && c.Connections > c.MaxInFlight:
		return fmt.Errorf("--max-in-flight %d: at least the %d connections of -c", c.MaxInFlight, c.Connections)
	case c.Timeout < 0:
		return fmt.Errorf("--timeout %v: above 0, with a unit, such as 10s", c.Timeout)
	case c.Warmup < 0:
		return fmt.Errorf("--warmup %v: 0 or more, with a unit, such as 5s", c.Warmup)
	case c.LeadIn != nil && *c.LeadIn < 0:
		return fmt.Errorf("--lead-in %v: 0 or more, with a unit, such as 2s", *c.LeadIn)
	case c.Engine != "" && !slices.Contains(evloop.Kinds, c.Engine):
		return fmt.Errorf("--engine %q: one of %s", c.Engine, strings.Join(evloop.Kinds, ", "))
	case c.Loops < 0 || c.Loops > 1024:
		return fmt.Errorf("--loops %d: 1 to 1024", c.Loops)
	}
	if err := c.validatePart(); err != nil {
		return err
	}
	_, err := newJob(*c)
	return err
}

// validatePart says what is wrong with the part: each has a connection at least.
func (c *Config) validatePart() error {
	p := c.Part
	switch {
	case p == (Part{}):
	case p.Of < 1 || p.Of > MaxParts || p.Index < 1 || p.Index > p.Of:
		return fmt.Errorf("--part %v: I/N, generator I of N, with I from 1 to N and N at most %d", p, MaxParts)
	case c.Connections > 0 && c.Connections < p.Of:
		return fmt.Errorf("--part %v: -c %d leaves no connection for some of the generators", p, c.Connections)
	case c.Requests > 0 && c.Requests < int64(p.Of):
		return fmt.Errorf("--part %v: -n %d leaves no request for some of the generators", p, c.Requests)
	case c.MaxInFlight > 0 && c.MaxInFlight < p.Of:
		return fmt.Errorf("--part %v: --max-in-flight %d leaves no connection for some of the generators", p, c.MaxInFlight)
	}
	return nil
}
