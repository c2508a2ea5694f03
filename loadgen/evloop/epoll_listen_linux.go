package evloop

import (
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"loomlab/clock"
)

// acceptBatch is how many connections one event accepts at most, so that a burst
// of clients does not keep the connected ones waiting.
const acceptBatch = 128

// epollListener is a level-triggered listening socket of an epollLoop.
type epollListener struct {
	loop      *epollLoop
	fd        int
	slot      int32
	addr      netip.AddrPort
	paused    bool
	restUntil clock.Time // 0: not resting
	backoffs  int64
}

func (l *epollLoop) Listen(addr netip.AddrPort, backlog int, reusePort bool) (Listener, error) {
	fd, err := listen(addr, backlog, reusePort)
	if err != nil {
		return nil, err
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		unix.Close(fd)
		return nil, wrap("getsockname", err)
	}
	slot := len(l.listens)
	for i, ln := range l.listens { // a handler may close and listen again for ever
		if ln == nil {
			slot = i
			break
		}
	}
	ln := &epollListener{loop: l, fd: fd, slot: listenSlot - int32(slot), addr: addrPort(sa, nil)}
	if err := l.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, ln.slot, 0); err != nil {
		unix.Close(fd)
		return nil, wrap("epoll_ctl", err)
	}
	if slot == len(l.listens) {
		l.listens = append(l.listens, nil)
	}
	l.listens[slot] = ln
	return ln, nil
}

// listen opens the socket. What it accepts inherits TCP_NODELAY on Linux, which
// saves a call per connection.
func listen(addr netip.AddrPort, backlog int, reusePort bool) (int, error) {
	sa, family := sockaddr(addr)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, wrap("socket", err)
	}
	options := []struct{ level, option int }{
		{unix.SOL_SOCKET, unix.SO_REUSEADDR},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY},
	}
	if reusePort {
		options = append(options, struct{ level, option int }{unix.SOL_SOCKET, unix.SO_REUSEPORT})
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.option, 1); err != nil {
			unix.Close(fd)
			return -1, wrap("setsockopt", err)
		}
	}
	if err := unix.Bind(fd, sa); err != nil {
		unix.Close(fd)
		return -1, wrap("bind", err)
	}
	if backlog <= 0 {
		backlog = 1<<31 - 1 // the kernel cuts it to net.core.somaxconn
	}
	if err := unix.Listen(fd, backlog); err != nil {
		unix.Close(fd)
		return -1, wrap("listen", err)
	}
	return fd, nil
}

// accept takes what waits in the backlog, a batch at most: the listener is
// level-triggered, so the rest is reported again.
func (ln *epollListener) accept() {
	l := ln.loop
	for range acceptBatch {
		if ln.fd < 0 || ln.paused || ln.restUntil != 0 { // a handler may do that
			return
		}
		fd, errno := accept4(ln.fd)
		switch errno {
		case 0:
		case syscall.EAGAIN:
			return
		case syscall.EINTR, syscall.ECONNABORTED:
			continue
		default:
			ln.rest()
			return
		}
		c, err := l.take(fd, stateOpen)
		if err != nil { // out of memory or epoll watches
			unix.Close(fd)
			ln.rest()
			return
		}
		l.handler.Opened(c)
	}
}

func accept4(fd int) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(n), errno
}

// rest stops accepting for a while: out of descriptors, the kernel would report
// the waiting client again and again.
func (ln *epollListener) rest() {
	ln.backoffs++
	ln.restUntil = clock.Now().Add(acceptBackoff)
	ln.update()
}

// update tells the poller whether this listener wants to hear of clients.
func (ln *epollListener) update() {
	if ln.fd < 0 {
		return
	}
	events := uint32(unix.EPOLLIN)
	if ln.paused || ln.restUntil != 0 {
		events = 0
	}
	// Fails only for want of kernel memory; accept then finds nothing and rests.
	_ = ln.loop.control(unix.EPOLL_CTL_MOD, ln.fd, events, ln.slot, 0)
}

func (ln *epollListener) Addr() netip.AddrPort { return ln.addr }
func (ln *epollListener) Backoffs() int64      { return ln.backoffs }

func (ln *epollListener) Pause() {
	ln.paused = true
	ln.update()
}

func (ln *epollListener) Resume() {
	ln.paused = false
	ln.update()
}

func (ln *epollListener) Close() {
	if ln.fd < 0 {
		return
	}
	unix.Close(ln.fd)
	ln.fd = -1
	ln.restUntil = 0
	ln.loop.listens[listenSlot-ln.slot] = nil
}

// zoneID is the index of the interface that an IPv6 zone names.
func zoneID(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	return 0
}
