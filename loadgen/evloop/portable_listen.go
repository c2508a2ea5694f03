package evloop

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// netListener is a listening socket of a portableLoop.
type netListener struct {
	loop     *portableLoop
	ln       *net.TCPListener
	held     []*net.TCPConn // accepted while paused; only the loop looks
	backoffs int64

	mu     sync.Mutex
	resume *sync.Cond // paused or closed changed
	paused bool
	closed bool
}

func (l *portableLoop) Listen(addr netip.AddrPort, backlog int, reusePort bool) (Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		if !reusePort {
			return nil
		}
		return setReusePort(c)
	}}
	network := "tcp6"
	if addr.Addr().Unmap().Is4() {
		network = "tcp4"
	}
	ln, err := lc.Listen(context.Background(), network, addr.String())
	if err != nil {
		return nil, err
	}
	tcp := ln.(*net.TCPListener)
	if backlog > 0 { // package net took the system's maximum
		if err := setBacklog(tcp, backlog); err != nil {
			ln.Close()
			return nil, err
		}
	}
	n := &netListener{loop: l, ln: tcp}
	n.resume = sync.NewCond(&n.mu)
	l.listeners[n] = struct{}{}
	l.goWork(n.accept)
	return n, nil
}

// accept runs in a goroutine of its own.
func (n *netListener) accept() {
	for n.mayAccept() {
		conn, err := n.ln.AcceptTCP()
		switch {
		case err == nil:
			n.loop.post(netEvent{kind: evAccepted, listener: n, conn: conn})
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.ECONNABORTED), isTimeout(err): // Pause interrupts
		default:
			n.loop.post(netEvent{kind: evBackoff, listener: n})
			select {
			case <-time.After(acceptBackoff):
			case <-n.loop.ctx.Done():
			}
		}
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// mayAccept waits while n is paused; false once it is closed.
func (n *netListener) mayAccept() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.paused && !n.closed {
		n.resume.Wait()
	}
	return !n.closed
}

// accepted delivers a connection on the loop.
func (n *netListener) accepted(conn *net.TCPConn) {
	n.mu.Lock()
	paused, closed := n.paused, n.closed
	n.mu.Unlock()
	switch {
	case closed:
		conn.Close()
	case paused: // it slipped in before Pause
		n.held = append(n.held, conn)
	default:
		c := n.loop.take(stateOpen)
		c.sock.start(conn)
		n.loop.handler.Opened(c)
	}
}

func (n *netListener) Addr() netip.AddrPort {
	a := n.ln.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

func (n *netListener) Backoffs() int64 { return n.backoffs }

func (n *netListener) Pause() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = true
	_ = n.ln.SetDeadline(time.Now()) // fails only when closed
}

func (n *netListener) Resume() {
	n.mu.Lock()
	n.paused = false
	_ = n.ln.SetDeadline(time.Time{})
	n.resume.Signal()
	n.mu.Unlock()
	for _, conn := range n.held {
		n.loop.post(netEvent{kind: evAccepted, listener: n, conn: conn})
	}
	n.held = nil
}

func (n *netListener) Close() {
	n.mu.Lock()
	n.closed = true
	n.resume.Signal()
	n.mu.Unlock()
	n.ln.Close()
	for _, conn := range n.held {
		conn.Close()
	}
	n.held = nil
	delete(n.loop.listeners, n)
}
