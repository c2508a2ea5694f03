package standin

import (
	"context"
	"log"
	"net"
	"sync"

	"github.com/panjf2000/gnet/v2"
)

// eventLoops is the model of an event loop per core, on gnet. A client's
// connection and the connections to the downstream that serve it live in the
// same loop, so a request never changes threads and takes no lock.
//
// Note: gnet can listen by itself, but then neither the length of the kernel's
// queue nor the number of accepted connections can be limited. So connections
// are accepted as in the other models and handed to the loops.
//
// gnet closes a connection whose peer half-closes: such a client gets no answer.
type eventLoops struct {
	gnet.BuiltinEventEngine
	*service
	ln     *listener
	client *gnet.Client
	ctx    context.Context // of Serve

	mu       sync.Mutex
	loops    map[gnet.EventLoop]*loop
	limits   []int // the shares of Config.Pool
	dials    sync.WaitGroup
	stopping bool // no more dials
}

func serveEventLoop(ctx context.Context, ln *listener, s *service) error {
	n := cores()
	if s.cfg.Pool > 0 {
		n = min(n, s.cfg.Pool) // every loop needs a connection of its own
	}
	e := &eventLoops{service: s, ln: ln, ctx: ctx, loops: map[gnet.EventLoop]*loop{}, limits: split(s.cfg.Pool, n)}
	var err error
	e.client, err = gnet.NewClient(e, gnet.WithNumEventLoop(n), gnet.WithTCPNoDelay(gnet.TCPNoDelay), gnet.WithLogger(quiet{}))
	if err != nil {
		return err
	}
	if err := e.client.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	err = ln.acceptAll(ctx, func(c net.Conn) {
		// On success OnClose releases the slot.
		if _, err := e.client.EnrollContext(c, &inbound{}); err != nil {
			ln.release()
		}
	})
	if stopErr := e.stop(); err == nil {
		err = stopErr
	}
	return err
}

// stop lets the dials come to their end before the loops that they report to.
func (e *eventLoops) stop() error {
	e.mu.Lock()
	e.stopping = true
	e.mu.Unlock()
	e.dials.Wait()
	return e.client.Stop()
}

// mayDial says whether a dial may begin, and if so expects its dials.Done.
func (e *eventLoops) mayDial() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.stopping {
		e.dials.Add(1)
	}
	return !e.stopping
}

// split shares total out to n loops as evenly as it goes; 0 is no limit.
func split(total, n int) []int {
	shares := make([]int, n)
	for i := range shares {
		shares[i] = total / n
		if i < total%n {
			shares[i]++
		}
	}
	return shares
}

// loopOf finds our side of a gnet loop, and makes it for the loop's first
// connection.
func (e *eventLoops) loopOf(el gnet.EventLoop) *loop {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.loops[el]
	if l == nil {
		l = &loop{eventLoops: e, el: el, limit: e.limits[len(e.loops)]}
		e.loops[el] = l
	}
	return l
}

// OnOpen, OnTraffic and OnClose are gnet's events; all run in the loop of c.

// OnOpen ties a new connection to its loop.
func (e *eventLoops) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	switch x := c.Context().(type) {
	case *inbound:
		x.Conn, x.loop = c, e.loopOf(c.EventLoop())
		x.Reset()
	case *outbound:
		x.Conn = c
		x.send()
	}
	return nil, gnet.None
}

// OnTraffic passes on the bytes that came.
func (e *eventLoops) OnTraffic(c gnet.Conn) gnet.Action {
	switch x := c.Context().(type) {
	case *inbound:
		return x.traffic()
	case *outbound:
		return x.traffic()
	}
	return gnet.Close
}

// OnClose cleans up after either side.
func (e *eventLoops) OnClose(c gnet.Conn, err error) gnet.Action {
	switch x := c.Context().(type) {
	case *inbound:
		x.gone = true
		e.ln.release()
	case *outbound:
		x.closed(err)
	}
	return gnet.None
}

// quiet drops gnet's running commentary and keeps its errors.
type quiet struct{}

func (quiet) Debugf(string, ...any)          {}
func (quiet) Infof(string, ...any)           {}
func (quiet) Warnf(string, ...any)           {}
func (quiet) Errorf(format string, a ...any) { log.Printf("gnet: "+format, a...) }
func (quiet) Fatalf(format string, a ...any) { log.Fatalf("gnet: "+format, a...) }
