//go:build unix

package evloop

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

func setReusePort(c syscall.RawConn) error {
	return onFD(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
}

// setBacklog calls listen again, which changes the backlog of a listening socket.
func setBacklog(ln *net.TCPListener, backlog int) error {
	c, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	return onFD(c, func(fd int) error { return unix.Listen(fd, backlog) })
}

func onFD(c syscall.RawConn, f func(fd int) error) error {
	var inner error
	if err := c.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
