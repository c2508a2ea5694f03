package standin

import (
	"bytes"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// blockingPool keeps connections to the downstream as plain blocking sockets:
// the thread that uses one sleeps in the kernel until its answer is there.
// Package net cannot do that, since its sockets never block a thread.
type blockingPool struct {
	to     *net.TCPAddr
	tokens chan struct{} // one per connection in use; nil without a limit

	mu     sync.Mutex
	idle   []*blockingConn // the last used at the end
	open   map[*blockingConn]struct{}
	closed bool
}

// blockingConn is used by one thread at a time.
type blockingConn struct {
	fd   int
	down download
	buf  [4096]byte
}

func newBlockingPool(to *net.TCPAddr, limit int) *blockingPool {
	p := &blockingPool{to: to, open: map[*blockingConn]struct{}{}}
	if limit > 0 {
		p.tokens = make(chan struct{}, limit)
	}
	return p
}

// get makes the call and blocks its thread until the answer is there. While all
// connections of a limited pool are in use it waits for one.
func (p *blockingPool) get(c *call) ([]byte, error) {
	if p.tokens != nil {
		p.tokens <- struct{}{}
		defer func() { <-p.tokens }()
	}
	conn := p.takeIdle()
	reused := conn != nil
	for {
		if conn == nil {
			var err error
			if conn, err = p.connect(); err != nil {
				return nil, err
			}
		}
		err := conn.exchange(c.request)
		if err == nil {
			body, err := conn.down.body()
			body = bytes.Clone(body) // the next user of conn overwrites it
			p.put(conn)
			return body, err
		}
		started := conn.down.frame.Started()
		p.discard(conn)
		if !reused || started {
			return nil, err
		}
		conn, reused = nil, false
	}
}

func (p *blockingPool) takeIdle() *blockingConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

// put keeps conn for the next call if the downstream lets it live.
func (p *blockingPool) put(conn *blockingConn) {
	p.mu.Lock()
	keep := conn.down.frame.KeepAlive && !p.closed
	if keep {
		p.idle = append(p.idle, conn)
	}
	p.mu.Unlock()
	if !keep {
		p.discard(conn)
	}
}

func (p *blockingPool) discard(conn *blockingConn) {
	p.mu.Lock()
	delete(p.open, conn)
	unix.Close(conn.fd) // under the lock, so that close never shuts another's descriptor
	p.mu.Unlock()
}

// close wakes every thread that waits for an answer and lets go of the rest.
func (p *blockingPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.open {
		unix.Shutdown(conn.fd, unix.SHUT_RDWR)
	}
	for _, conn := range p.idle {
		delete(p.open, conn)
		unix.Close(conn.fd)
	}
	p.idle = nil
}

// connect makes a connection. The pool knows its socket before connect(2), so
// that close can end even that.
func (p *blockingPool) connect() (*blockingConn, error) {
	failed := func(err error) (*blockingConn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: p.to, Err: err}
	}
	family, to := sockaddr(p.to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return failed(os.NewSyscallError("socket", err))
	}
	unix.CloseOnExec(fd)
	conn := &blockingConn{fd: fd}
	if !p.admit(conn) {
		unix.Close(fd)
		return failed(net.ErrClosed)
	}
	if err = unix.Connect(fd, to); err == unix.EINTR {
		err = finishConnect(fd)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err != nil {
		p.discard(conn)
		return failed(os.NewSyscallError("connect", err))
	}
	return conn, nil
}

func (p *blockingPool) admit(conn *blockingConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.open[conn] = struct{}{}
	}
	return !p.closed
}

func sockaddr(a *net.TCPAddr) (family int, sa unix.Sockaddr) {
	if ip4 := a.IP.To4(); ip4 != nil {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip4)}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
}

// finishConnect waits for a connect that a signal interrupted: it goes on in
// the kernel and must not be called again.
func finishConnect(fd int) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		if err != nil && err != unix.EINTR {
			return err
		}
		if n > 0 {
			break
		}
	}
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	return err
}

// exchange sends a request and reads its answer into c.down.
func (c *blockingConn) exchange(request []byte) error {
	c.down.reset()
	for len(request) > 0 {
		n, err := unix.Write(c.fd, request)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		}
		request = request[n:]
	}
	for {
		n, err := unix.Read(c.fd, c.buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
		case n == 0:
			return c.down.eof()
		}
		if _, done, err := c.down.feed(c.buf[:n]); done || err != nil {
			return err
		}
	}
}
