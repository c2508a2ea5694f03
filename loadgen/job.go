package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"
)

// job is what a run sends and where to, shared by all loops and never changed
// once they run.
type job struct {
	cfg      Config // what this process does of the load
	whole    int    // connections of all generators
	endpoint endpoint
	addr     netip.AddrPort
	requests [][]byte // by target
	targets  []Target // at least one; weights add up to 1
	head     bool     // the method is HEAD
	// retryable says that a request may be sent twice when the server had closed
	// the connection before it came (RFC 9110 9.2.2: idempotent methods).
	retryable bool
}

// newJob makes a job without resolving its host.
func newJob(cfg Config) (*job, error) {
	cfg.fill()
	e, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	j := &job{whole: cfg.Connections, endpoint: e, head: cfg.Method == "HEAD"}
	cfg.divide()
	j.cfg = cfg
	switch cfg.Method {
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE":
		j.retryable = true
	}
	if err := j.setTargets(); err != nil {
		return nil, err
	}
	for _, h := range cfg.Headers {
		name, value, _ := strings.Cut(h, ":")
		if strings.EqualFold(name, "connection") && strings.EqualFold(strings.TrimSpace(value), "close") {
			j.cfg.NoKeepAlive = true
		}
	}
	for _, t := range j.targets {
		request, err := requestBytes(&j.cfg, &e, t.Path)
		if err != nil {
			return nil, err
		}
		j.requests = append(j.requests, request)
	}
	return j, nil
}

func (j *job) setTargets() error {
	if len(j.cfg.Targets) == 0 {
		j.targets = []Target{{Weight: 1, Path: j.endpoint.path}}
		return nil
	}
	total := 0.0
	for _, t := range j.cfg.Targets {
		if !(t.Weight > 0) || math.IsInf(t.Weight, 0) || !strings.HasPrefix(t.Path, "/") || checkPath(t.Path) != nil {
			return fmt.Errorf("--target %v=%s: a weight above 0 and a path, such as 50%%=/light", t.Weight, t.Path)
		}
		total += t.Weight
	}
	for _, t := range j.cfg.Targets {
		j.targets = append(j.targets, Target{Weight: t.Weight / total, Path: t.Path})
	}
	return nil
}

// resolve looks the host up, once for the whole run. If it has several addresses
// (localhost: one of each family) the first that takes a connection is used.
func (j *job) resolve(ctx context.Context) error {
	e := &j.endpoint
	if ip, err := netip.ParseAddr(e.host); err == nil {
		j.addr = netip.AddrPortFrom(ip.Unmap(), e.port)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", e.host)
	if e.host == "localhost" { // whatever the hosts file says (RFC 6761)
		found = append(found, netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback())
		err = nil
	}
	if err != nil {
		return fmt.Errorf("URL %q: %w", j.cfg.URL, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("URL %q: %w", j.cfg.URL, errors.New("the host has no address"))
	}
	j.addr = netip.AddrPortFrom(found[0].Unmap(), e.port)
	if len(found) == 1 {
		return nil
	}
	dialer := net.Dialer{Timeout: 2 * time.Second}
	for _, ip := range found {
		addr := netip.AddrPortFrom(ip.Unmap(), e.port)
		conn, err := dialer.DialContext(ctx, "tcp", addr.String())
		if err == nil {
			conn.Close()
			j.addr = addr
			return nil
		}
	}
	return nil // all refuse: the engine will say how
}

// share is loop i's part of this process's total.
func (j *job) share(total int64, i int) int64 { return share(total, int64(j.cfg.Loops), int64(i)) }

// The loops of all generators have one numbering: number is which of all requests
// (or connections) the loop's own k-th is.
func (j *job) number(loop int, k int64) int64 {
	own := k*int64(j.cfg.Loops) + int64(loop)
	return own*j.cfg.Part.of() + j.cfg.Part.index()
}

// stride is how far apart two numbers of one loop are.
func (j *job) stride() int64 { return int64(j.cfg.Loops) * j.cfg.Part.of() }
