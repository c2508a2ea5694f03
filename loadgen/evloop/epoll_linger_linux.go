package evloop

import (
	"syscall"

	"golang.org/x/sys/unix"

	"loomlab/clock"
)

func (l *epollLoop) closeGracefully(c *Conn) {
	if c.broken {
		l.destroy(c)
		return
	}
	if c.eof { // nothing can be unread
		l.close(c)
		return
	}
	if len(c.out) == 0 && !c.writeClosed {
		shutdownWrite(c)
	}
	c.writeClosed = true
	l.lingerAs(c, stateLingering)
	l.lingerReady(c)
}

// lingerAs takes c from its handler while the kernel still has work with it. The
// new generation makes Refs stale; the poller learns it too.
func (l *epollLoop) lingerAs(c *Conn, state connState) {
	c.state = state
	c.gen++
	c.paused = false
	if err := l.control(unix.EPOLL_CTL_MOD, int(c.fd), connEvents, c.slot, c.gen); err != nil {
		l.destroy(c)
		return
	}
	l.lingers = append(l.lingers, linger{c.Ref(), clock.Now().Add(lingerTime), l.buffered(c)})
}

// lingerReady goes on with a connection that its handler has closed.
func (l *epollLoop) lingerReady(c *Conn) {
	if len(c.out) > 0 {
		l.flush(c)
		if c.broken {
			l.destroy(c)
			return
		}
	}
	if c.state == stateFlushing {
		if len(c.out) == 0 {
			l.destroy(c)
		}
		return
	}
	for c.state == stateLingering && !c.eof {
		n, errno := recv(c.fd, l.buf)
		if errno == syscall.EAGAIN {
			return
		}
		c.eof = n == 0
		c.drained += uint32(max(n, 0))
		if errno != 0 || c.drained > lingerBytes {
			l.destroy(c)
			return
		}
	}
	if c.state == stateLingering && len(c.out) == 0 {
		l.destroy(c)
	}
}

// lingerDue ends a connection whose linger time is over, unless it is still
// sending and got on since.
func (l *epollLoop) lingerDue(c *Conn, left int, now clock.Time) {
	if unsent := l.buffered(c); unsent > 0 && unsent < left {
		l.lingers = append(l.lingers, linger{c.Ref(), now.Add(lingerTime), unsent})
		return
	}
	l.destroy(c)
}
