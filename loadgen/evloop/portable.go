package evloop

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"loomlab/clock"
)

// portableLoop stands on package net: goroutines block on behalf of the loop and
// post what happened; the loop's own goroutine delivers it. It costs several
// times what epoll costs and exists for systems without it.
type portableLoop struct {
	handler   Handler
	socks     map[*netSock]struct{}
	listeners map[*netListener]struct{}
	free      []*Conn
	retired   []*Conn

	ctx     context.Context // ends the goroutines
	cancel  context.CancelFunc
	workers sync.WaitGroup
	notify  chan struct{} // holds one token when queue or flags changed
	stopped atomic.Bool

	mu     sync.Mutex
	queue  []netEvent
	queue2 []netEvent // the spare of queue
}

// netEvent is what a goroutine tells the loop. Exactly one of listener and sock
// is set.
type netEvent struct {
	kind     netEventKind
	sock     *netSock
	listener *netListener
	conn     *net.TCPConn // accepted, or connected
	data     []byte       // the reader waits until it was consumed
	err      error
}

type netEventKind uint8

const (
	evAccepted netEventKind = iota
	evBackoff
	evConnected
	evData
	evEOF
	evFailed
)

func newPortable() Loop {
	l := &portableLoop{
		socks:     map[*netSock]struct{}{},
		listeners: map[*netListener]struct{}{},
		notify:    make(chan struct{}, 1),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *portableLoop) Kind() string { return "portable" }

func (l *portableLoop) Stop() {
	l.stopped.Store(true)
	l.Wake()
}

func (l *portableLoop) Wake() {
	select {
	case l.notify <- struct{}{}:
	default:
	}
}

// post is for the goroutines.
func (l *portableLoop) post(e netEvent) {
	l.mu.Lock()
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	l.Wake()
}

// goWork starts a goroutine that Run waits for at its end.
func (l *portableLoop) goWork(f func()) {
	l.workers.Add(1)
	go func() {
		defer l.workers.Done()
		f()
	}()
}

func (l *portableLoop) Run(h Handler) error {
	defer l.closeAll()
	l.handler = h
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !l.stopped.Load() {
		now := clock.Now()
		next := h.Due(now)
		l.retire()
		switch {
		case next <= now:
		case next == clock.Never:
			<-l.notify
		default:
			timer.Reset(next.Sub(clock.Now()))
			select {
			case <-l.notify:
			case <-timer.C:
			}
		}
		l.deliver()
	}
	return nil
}

// deliver hands the posted events to the handler.
func (l *portableLoop) deliver() {
	l.mu.Lock()
	events := l.queue
	l.queue = l.queue2[:0]
	l.mu.Unlock()
	for _, e := range events {
		l.dispatch(e)
	}
	clear(events)
	l.queue2 = events
}

func (l *portableLoop) dispatch(e netEvent) {
	switch e.kind {
	case evAccepted:
		e.listener.accepted(e.conn)
	case evBackoff:
		e.listener.backoffs++
	case evConnected:
		l.connected(e.sock, e.conn)
	case evData, evEOF:
		l.arrived(e.sock, e)
	case evFailed:
		c := e.sock.c
		e.sock.abandon()
		if c != nil {
			l.detach(c)
			l.handler.Failed(c, e.err)
		}
	}
}

func (l *portableLoop) retire() {
	for _, c := range l.retired {
		c.Tag = nil
		l.free = append(l.free, c)
	}
	l.retired = l.retired[:0]
}

func (l *portableLoop) closeAll() {
	l.cancel()
	for ln := range l.listeners {
		ln.Close()
	}
	for s := range l.socks {
		if s.c != nil {
			l.detach(s.c)
		}
		s.abandon()
	}
	l.workers.Wait()
	// Whoever connected too late is still in the queue.
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.queue {
		if e.conn != nil {
			e.conn.Close()
		}
	}
	l.queue = nil
}

// Dial connects in a goroutine; the outcome is posted.
func (l *portableLoop) Dial(to netip.AddrPort, source netip.Addr) *Conn {
	c := l.take(stateConnecting)
	s := c.sock
	ctx, cancel := context.WithCancel(l.ctx)
	s.cancelDial = cancel
	d := net.Dialer{KeepAlive: -1}
	if source.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: source.AsSlice(), Zone: source.Zone()}
	}
	l.goWork(func() {
		defer cancel()
		conn, err := d.DialContext(ctx, "tcp", to.String())
		if err != nil {
			l.post(netEvent{kind: evFailed, sock: s, err: err})
			return
		}
		l.post(netEvent{kind: evConnected, sock: s, conn: conn.(*net.TCPConn)})
	})
	return c
}

// connected takes the outcome of a dial.
func (l *portableLoop) connected(s *netSock, conn *net.TCPConn) {
	c := s.c
	if c == nil { // closed meanwhile
		conn.Close()
		return
	}
	c.state = stateOpen
	s.start(conn)
	l.handler.Opened(c)
}

// take returns a clean Conn with a netSock of its own.
func (l *portableLoop) take(state connState) *Conn {
	var c *Conn
	if n := len(l.free); n > 0 {
		c = l.free[n-1]
		l.free = l.free[:n-1]
		*c = Conn{loop: l, gen: c.gen}
	} else {
		c = &Conn{loop: l}
	}
	c.state = state
	c.sock = &netSock{loop: l, c: c, ack: make(chan struct{}, 1)}
	l.socks[c.sock] = struct{}{}
	return c
}

// detach takes c from its handler; its netSock may still have to finish.
func (l *portableLoop) detach(c *Conn) {
	c.sock.c = nil
	c.state = stateFree
	c.gen++
	l.retired = append(l.retired, c)
}
