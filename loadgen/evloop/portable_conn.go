package evloop

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// portableRead is the size of a connection's read buffer.
const portableRead = 16 << 10

// netSock is the socket behind one generation of a portable Conn: one goroutine
// reads for as long as it lives, another writes while there is something to write.
type netSock struct {
	loop       *portableLoop
	c          *Conn // nil once detached; only the loop looks
	cancelDial context.CancelFunc
	ack        chan struct{} // tells the reader that its data was consumed
	held       *netEvent     // came while reading was paused; only the loop looks

	mu         sync.Mutex
	conn       *net.TCPConn // nil while connecting
	out        []byte       // to be written
	writing    bool         // the writer runs
	inWriter   int          // bytes that the writer has taken and not finished
	closeWrite bool         // half-close when all is written
	closeAll   bool         // close when all is written
	linger     bool         // closed gracefully: the reader throws away what comes
	readDone   bool         // the reader has ended
}

// start makes s serve conn.
func (s *netSock) start(conn *net.TCPConn) {
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	s.loop.goWork(s.read)
	s.kick()
}

// kick starts the writer if there is something to do and it does not run.
func (s *netSock) kick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && !s.writing && (len(s.out) > 0 || s.closeWrite || s.closeAll) {
		s.writing = true
		s.loop.goWork(s.flush)
	}
}

// read posts what arrives, one buffer at a time.
func (s *netSock) read() {
	buf := make([]byte, portableRead)
	for {
		n, err := s.conn.Read(buf)
		if n > 0 {
			s.loop.post(netEvent{kind: evData, sock: s, data: buf[:n]})
			select {
			case <-s.ack:
			case <-s.loop.ctx.Done():
				return
			}
		}
		s.mu.Lock()
		lingers := s.linger
		s.mu.Unlock()
		if lingers && err == nil {
			// The deadline is set already; how it ends makes no difference.
			_, _ = io.CopyN(io.Discard, s.conn, lingerBytes)
			err = io.EOF
		}
		if err == nil {
			continue
		}
		s.readEnded(err)
		return
	}
}

// readEnded tells the loop why reading ended. A lingering connection is over
// with it, unless the writer is still at work.
func (s *netSock) readEnded(err error) {
	s.mu.Lock()
	s.readDone = true
	lingers, writing := s.linger, s.writing
	s.mu.Unlock()
	switch {
	case lingers && writing:
	case errors.Is(err, io.EOF) && !lingers:
		s.loop.post(netEvent{kind: evEOF, sock: s})
	default:
		s.loop.post(netEvent{kind: evFailed, sock: s, err: err})
	}
}

// flush writes until nothing is left, then does what was asked for the end.
func (s *netSock) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	for len(s.out) > 0 {
		b, s.out = s.out, b[:0]
		err := s.writeUnlocked(b)
		if err != nil {
			s.writing, s.out = false, nil
			s.loop.post(netEvent{kind: evFailed, sock: s, err: err})
			return
		}
	}
	s.writing = false
	switch {
	case s.closeAll || s.linger && s.readDone:
		s.loop.post(netEvent{kind: evFailed, sock: s, err: net.ErrClosed})
	case s.closeWrite:
		s.closeWrite = false
		_ = s.conn.CloseWrite() // fails only on a broken connection, which the reader reports
	}
}

// writeUnlocked writes b in pieces, so that a deadline means lack of progress.
func (s *netSock) writeUnlocked(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), readBuffer)]
		if s.closeAll || s.linger {
			_ = s.conn.SetWriteDeadline(time.Now().Add(lingerTime))
		}
		s.inWriter = len(b)
		s.mu.Unlock()
		_, err := s.conn.Write(piece)
		s.mu.Lock()
		if err != nil {
			s.inWriter = 0
			return err
		}
		b = b[len(piece):]
	}
	s.inWriter = 0
	return nil
}

// abandon closes at once, whatever is buffered. It is the end of every netSock.
func (s *netSock) abandon() {
	delete(s.loop.socks, s)
	if s.cancelDial != nil {
		s.cancelDial()
	}
	s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
	}
}

// release lets a reader go on whose data nobody wants any more.
func (s *netSock) release() {
	if s.held != nil {
		data := s.held.data != nil
		s.held = nil
		if data {
			s.ack <- struct{}{}
		}
	}
}

// arrived delivers data or the peer's end.
func (l *portableLoop) arrived(s *netSock, e netEvent) {
	c := s.c
	if c != nil && c.paused {
		s.held = &e
		return
	}
	if c != nil {
		if e.kind == evEOF {
			c.eof = true
			l.handler.EOF(c)
			return
		}
		l.handler.Data(c, e.data)
	}
	if e.kind == evData {
		s.ack <- struct{}{}
	}
}

func (l *portableLoop) resumeRead(c *Conn) {
	if e := c.sock.held; e != nil {
		c.sock.held = nil
		l.post(*e)
	}
}

func (l *portableLoop) write(c *Conn, b []byte) {
	s := c.sock
	s.mu.Lock()
	s.out = append(s.out, b...)
	s.mu.Unlock()
	s.kick()
}

func (l *portableLoop) closeWrite(c *Conn) {
	s := c.sock
	s.mu.Lock()
	s.closeWrite = true
	s.mu.Unlock()
	s.kick()
}

func (l *portableLoop) close(c *Conn) {
	s := c.sock
	s.mu.Lock()
	busy := s.conn != nil && (s.writing || len(s.out) > 0)
	if busy {
		s.closeAll = true
		// The writer may be inside a Write already.
		_ = s.conn.SetWriteDeadline(time.Now().Add(lingerTime))
	}
	s.mu.Unlock()
	l.detach(c)
	if busy {
		s.release()
	} else {
		s.abandon()
	}
}

func (l *portableLoop) closeGracefully(c *Conn) {
	s := c.sock
	s.mu.Lock()
	if s.readDone {
		s.mu.Unlock()
		l.close(c)
		return
	}
	s.linger, s.closeWrite = true, true
	_ = s.conn.SetDeadline(time.Now().Add(lingerTime))
	s.mu.Unlock()
	l.detach(c)
	s.release()
	s.kick()
}

func (l *portableLoop) reset(c *Conn) {
	s := c.sock
	s.mu.Lock()
	if s.conn != nil {
		_ = s.conn.SetLinger(0) // then every way of closing is a reset
	}
	s.mu.Unlock()
	l.close(c)
}

func (l *portableLoop) buffered(c *Conn) int {
	s := c.sock
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.out) + s.inWriter
}

func (l *portableLoop) local(c *Conn) netip.AddrPort {
	return sockAddr(c.sock, (*net.TCPConn).LocalAddr)
}

func (l *portableLoop) remote(c *Conn) netip.AddrPort {
	return sockAddr(c.sock, (*net.TCPConn).RemoteAddr)
}

func sockAddr(s *netSock, end func(*net.TCPConn) net.Addr) netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return netip.AddrPort{}
	}
	a, ok := end(s.conn).(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), a.AddrPort().Port())
}
