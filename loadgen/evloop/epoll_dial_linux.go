package evloop

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

func (l *epollLoop) Dial(to netip.AddrPort, source netip.Addr) *Conn {
	fd, err := connect(to, source)
	if err == nil {
		var c *Conn
		if c, err = l.take(fd, stateConnecting); err == nil {
			return c // the poller reports the outcome, also when it is known already
		}
		unix.Close(fd)
	}
	c := l.slot()
	c.state = stateConnecting
	l.breakConn(c, err)
	return c
}

// connect starts a non-blocking connect.
func connect(to netip.AddrPort, source netip.Addr) (int, error) {
	sa, family := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := bindSource(fd, source); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if err := unix.Connect(fd, sa); err != nil && err != syscall.EINPROGRESS && err != syscall.EINTR {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// bindSource binds the local address but leaves the choice of the port to
// connect: one source address then has all its ports for each destination, not
// for all of them together.
func bindSource(fd int, source netip.Addr) error {
	if !source.IsValid() {
		return nil
	}
	// Old kernels do not know it; then bind chooses the port.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	sa, _ := sockaddr(netip.AddrPortFrom(source, 0))
	return unix.Bind(fd, sa)
}

// connected takes the outcome of a connect.
func (l *epollLoop) connected(c *Conn, events uint32) {
	if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		return
	}
	// SO_ERROR is the only way to learn why; without ERR or HUP there is nothing
	// to learn, and the call is saved.
	if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		errno := socketError(int(c.fd))
		if errno == 0 {
			errno = syscall.ECONNRESET
		}
		l.fail(c, errno)
		return
	}
	c.state = stateOpen
	gen := c.gen
	l.handler.Opened(c)
	if c.gen != gen {
		return
	}
	if len(c.out) > 0 {
		l.flush(c)
	} else if c.writeClosed {
		shutdownWrite(c)
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP) != 0 && c.gen == gen {
		l.ready(c, events&^unix.EPOLLOUT)
	}
}

// sockaddr converts an address; the family is that of the socket it needs.
func sockaddr(a netip.AddrPort) (unix.Sockaddr, int) {
	addr := a.Addr().Unmap()
	if addr.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: addr.As4()}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: addr.As16(), ZoneId: zoneID(addr.Zone())}, unix.AF_INET6
}

func addrPort(sa unix.Sockaddr, err error) netip.AddrPort {
	if err != nil {
		return netip.AddrPort{}
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}
