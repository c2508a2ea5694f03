package standin

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listener is a TCP listener with the two limits of a real connector: the
// length of the kernel's queue, and a number of open connections beyond which
// it stops accepting. Whoever gets a connection from Accept calls release once
// after closing it.
type listener struct {
	*net.TCPListener
	slots  chan struct{} // one token per open connection; nil without a limit
	closed chan struct{}
	once   sync.Once
}

func listen(addr string, backlog, maxConns int) (*listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &listener{TCPListener: ln.(*net.TCPListener), closed: make(chan struct{})}
	if maxConns > 0 {
		l.slots = make(chan struct{}, maxConns)
	}
	if backlog > 0 {
		if err := l.setBacklog(backlog); err != nil {
			ln.Close()
			return nil, err
		}
	}
	return l, nil
}

// setBacklog calls listen(2) again, which on a listening socket only changes
// the length of its queue; package net always asks for the maximum.
func (l *listener) setBacklog(n int) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var listenErr error
	if err := raw.Control(func(fd uintptr) { listenErr = unix.Listen(int(fd), n) }); err != nil {
		return err
	}
	return listenErr
}

// Accept waits for a free slot first and for a connection then, so that a
// connection beyond the limit stays in the kernel's queue.
func (l *listener) Accept() (net.Conn, error) {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	c, err := l.TCPListener.Accept()
	if err != nil {
		l.release()
		return nil, err
	}
	return c, nil
}

func (l *listener) release() {
	if l.slots != nil {
		<-l.slots
	}
}

// Close may be called more than once.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// acceptAll gives every connection to serve until the listener is closed. When
// descriptors run out it waits a little and goes on, as real acceptors do.
func (l *listener) acceptAll(ctx context.Context, serve func(net.Conn)) error {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			serve(c)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED):
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
		default:
			return err
		}
	}
}
