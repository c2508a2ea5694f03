// Package evloop is the small event loop that the load engine and the
// downstream share: one goroutine, many connections, completion-style events.
//
// The usual steps: make a [Loop] with [New], give it listeners with Listen or
// connections with Dial, and call Run with a [Handler]. All handler methods run
// on the loop's goroutine, one at a time, so a handler needs no locks and keeps
// its own counters. Only Stop and Wake may be called from elsewhere.
//
// Two implementations stand behind the same interface: epoll on Linux
// (non-blocking sockets, one thread per loop, no allocation per event) and a
// portable one of net and goroutines. Limits: TCP only, one thread a loop, and no
// timers: a handler says when it wants to be called ([Handler]'s Due).
package evloop

import (
	"fmt"
	"net/netip"
	"time"

	"loomlab/clock"
)

// Handler reacts to the events of one loop.
type Handler interface {
	// Due does whatever is due at now and returns when it wants to be called
	// next (clock.Never: not before Wake). It is called before every poll, so
	// it must be cheap when nothing is due. Timers belong to the handler, which
	// knows best how to order them (a FIFO for a fixed delay, a heap otherwise).
	Due(now clock.Time) clock.Time
	// Opened says that c was accepted or that its Dial succeeded.
	Opened(c *Conn)
	// Data brings bytes that arrived on c. b is the loop's own buffer, valid
	// until Data returns. The handler may Write or Close c, or Dial, inside.
	Data(c *Conn, b []byte)
	// EOF says that the peer will send no more. c can still be written to
	// until the handler closes it: a half-closed client gets its answer.
	EOF(c *Conn)
	// Failed says that c is gone (connect failed: the error of connect; later:
	// reset or broken). The loop has already closed it; Refs to it are stale.
	// errors.Is finds the system's error in err (syscall.ECONNREFUSED and so on).
	Failed(c *Conn, err error)
}

// Loop is one event loop. Its methods but Stop and Wake are for its own
// goroutine: before Run, or inside a Handler method.
type Loop interface {
	// Kind names the implementation in results: "epoll" or "portable".
	Kind() string
	// Run delivers events to h until Stop; it closes every connection and
	// listener before it returns, without events. An error is one of the poller
	// itself. A loop that is not wanted after all is freed by Stop, then Run.
	Run(h Handler) error
	// Stop makes Run return soon. Wake makes the loop call Due soon. Both may
	// be called from any goroutine, any number of times, also after Run.
	Stop()
	Wake()
	// Dial starts a connection; Opened or Failed follows, never from inside
	// Dial itself. source, if valid, is the local address to bind.
	Dial(to netip.AddrPort, source netip.Addr) *Conn
	// Listen accepts connections on addr with the given backlog (0: the
	// system's maximum). Port 0 takes a free one. reusePort lets several loops
	// share the port (SO_REUSEPORT).
	Listen(addr netip.AddrPort, backlog int, reusePort bool) (Listener, error)
}

// Listener is a listening socket of one loop. TCP_NODELAY is on for whatever it
// accepts. When descriptors run out it waits acceptBackoff and tries again: what
// is connected keeps being served, and clients wait in the backlog meanwhile.
type Listener interface {
	Addr() netip.AddrPort
	// Pause stops accepting and leaves clients in the backlog; Resume goes on.
	Pause()
	Resume()
	// Close refuses further clients. Those in the backlog are reset.
	Close()
	// Backoffs counts how often accept failed for want of descriptors or memory
	// and waited.
	Backoffs() int64
}

const (
	// acceptBackoff is how long a listener rests after accept failed.
	acceptBackoff = 20 * time.Millisecond
	// lingerTime bounds how long a closed connection may go on without progress
	// in sending what was buffered, and how long CloseGracefully waits for the
	// peer's end.
	lingerTime = 2 * time.Second
	// lingerBytes bounds what CloseGracefully reads and throws away meanwhile.
	lingerBytes = 4 << 20
	// readBuffer is the size of the buffer that Data gets its bytes from.
	readBuffer = 64 << 10
)

// Kinds are the values that New knows.
var Kinds = []string{"auto", "epoll", "portable"}

// New returns a loop of the given kind: "auto" (the best here), "epoll" or
// "portable".
func New(kind string) (Loop, error) {
	switch kind {
	case "auto", "":
		if haveEpoll {
			return newEpoll()
		}
		return newPortable(), nil
	case "epoll":
		return newEpoll()
	case "portable":
		return newPortable(), nil
	}
	return nil, fmt.Errorf("unknown event loop %q: use auto, epoll or portable", kind)
}
