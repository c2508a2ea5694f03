package evloop

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// take returns a Conn for fd in the given state, registered with the poller.
func (l *epollLoop) take(fd int, state connState) (*Conn, error) {
	c := l.slot()
	if err := l.control(unix.EPOLL_CTL_ADD, fd, connEvents, c.slot, c.gen); err != nil {
		l.free = append(l.free, c.slot)
		return nil, err
	}
	c.fd, c.state = int32(fd), state
	return c, nil
}

// slot returns a free Conn, clean but for its generation.
func (l *epollLoop) slot() *Conn {
	if n := len(l.free); n > 0 {
		c := l.conns[l.free[n-1]]
		l.free = l.free[:n-1]
		*c = Conn{loop: l, gen: c.gen, slot: c.slot, fd: -1}
		return c
	}
	c := &Conn{loop: l, slot: int32(len(l.conns)), fd: -1}
	l.conns = append(l.conns, c)
	return c
}

// destroy ends c: descriptor, generation, slot.
func (l *epollLoop) destroy(c *Conn) {
	if c.fd >= 0 {
		closeFD(c.fd) // also takes it out of the poller
	}
	c.fd = -1
	c.state = stateFree
	c.gen++
	l.dropOut(c)
	l.retired = append(l.retired, c.slot)
}

// fail ends c and tells the handler why.
func (l *epollLoop) fail(c *Conn, err error) {
	l.destroy(c)
	l.handler.Failed(c, err)
}

// ready handles an event of an open connection.
func (l *epollLoop) ready(c *Conn, events uint32) {
	gen := c.gen
	if events&unix.EPOLLOUT != 0 && len(c.out) > 0 {
		l.flush(c)
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 || c.gen != gen {
		return
	}
	if c.eof || c.paused {
		// Nothing (more) to read now: an error is all that concerns the handler.
		c.unread = c.paused
		if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			if errno := socketError(int(c.fd)); errno != 0 {
				l.fail(c, errno)
			}
		}
		return
	}
	// A short read means an empty socket, and what comes later is a new edge;
	// only the peer's end (or an error) can already wait behind the data.
	l.readable(c, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
}

// readable reads until the socket is empty, c is closed or paused, or the others
// should have their turn. With toEnd, a short read does not end it.
func (l *epollLoop) readable(c *Conn, toEnd bool) {
	gen := c.gen
	for range readRounds {
		if c.paused {
			c.unread = true
			return
		}
		n, errno := recv(c.fd, l.buf)
		switch {
		case errno == syscall.EAGAIN:
			c.unread = false
			return
		case errno != 0:
			l.fail(c, errno)
			return
		case n == 0:
			c.eof, c.unread = true, false
			l.handler.EOF(c)
			return
		}
		l.handler.Data(c, l.buf[:n])
		if c.gen != gen {
			return
		}
		if n < len(l.buf) && !toEnd {
			c.unread = false
			return
		}
	}
	c.unread = true
	l.again(c)
}

// again puts c on the list of connections to read before the next poll.
func (l *epollLoop) again(c *Conn) {
	if !c.queued {
		c.queued = true
		l.unread = append(l.unread, c.Ref())
	}
}

// readAgain serves that list.
func (l *epollLoop) readAgain() {
	list := l.unread
	l.unread = l.unread2[:0]
	for _, ref := range list {
		if c := ref.Conn(); c != nil && c.state == stateOpen {
			c.queued = false
			if !c.eof {
				l.readable(c, true)
			}
		}
	}
	l.unread2 = list
}

func (l *epollLoop) resumeRead(c *Conn) {
	if c.unread {
		l.again(c)
	}
}

func (l *epollLoop) write(c *Conn, b []byte) {
	if len(c.out) == 0 && c.state == stateOpen {
		n, errno := send(c.fd, b)
		if errno == 0 {
			return
		}
		if errno != syscall.EAGAIN {
			l.breakConn(c, errno)
			return
		}
		b = b[n:]
	}
	if c.out == nil {
		if n := len(l.spare); n > 0 {
			c.out, l.spare = l.spare[n-1], l.spare[:n-1]
		}
	}
	c.out = append(c.out, b...)
}

// breakConn remembers that c failed under its handler's hands.
func (l *epollLoop) breakConn(c *Conn, err error) {
	c.broken = true
	l.dropOut(c)
	l.broken = append(l.broken, brokenConn{c.Ref(), err})
}

// flush sends what is buffered, as far as the socket takes it.
func (l *epollLoop) flush(c *Conn) {
	n, errno := send(c.fd, c.out[c.sent:])
	c.sent += uint32(n)
	if errno == syscall.EAGAIN {
		return
	}
	if errno != 0 {
		l.breakConn(c, errno)
		return
	}
	l.dropOut(c)
	if c.writeClosed {
		shutdownWrite(c)
	}
}

// dropOut gives the out-buffer back; big ones go to the collector.
func (l *epollLoop) dropOut(c *Conn) {
	if cap(c.out) > 0 && cap(c.out) <= readBuffer && len(l.spare) < 256 {
		l.spare = append(l.spare, c.out[:0])
	}
	c.out, c.sent = nil, 0
}

func (l *epollLoop) buffered(c *Conn) int { return len(c.out) - int(c.sent) }

func (l *epollLoop) closeWrite(c *Conn) {
	if len(c.out) == 0 && c.state == stateOpen {
		shutdownWrite(c)
	}
}

func (l *epollLoop) close(c *Conn) {
	if c.state == stateOpen && len(c.out) > 0 && !c.broken {
		l.lingerAs(c, stateFlushing)
		return
	}
	l.destroy(c)
}

func (l *epollLoop) reset(c *Conn) {
	abort := unix.Linger{Onoff: 1}
	// Without SO_LINGER the close below is an ordinary one, no more.
	_ = unix.SetsockoptLinger(int(c.fd), unix.SOL_SOCKET, unix.SO_LINGER, &abort)
	l.destroy(c)
}

func (l *epollLoop) local(c *Conn) netip.AddrPort {
	sa, err := unix.Getsockname(int(c.fd))
	return addrPort(sa, err)
}

func (l *epollLoop) remote(c *Conn) netip.AddrPort {
	sa, err := unix.Getpeername(int(c.fd))
	return addrPort(sa, err)
}

// shutdownWrite sends FIN. It fails only if the connection is broken, which the
// next event tells.
func shutdownWrite(c *Conn) { _ = unix.Shutdown(int(c.fd), unix.SHUT_WR) }

// socketError takes the pending error of a socket, 0 if there is none.
func socketError(fd int) syscall.Errno {
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.Errno(v)
}
