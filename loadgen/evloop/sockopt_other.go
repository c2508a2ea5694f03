//go:build !unix

package evloop

import (
	"errors"
	"net"
	"syscall"
)

func setReusePort(syscall.RawConn) error {
	return errors.New("several loops on one port need SO_REUSEPORT, which this system lacks")
}

func setBacklog(*net.TCPListener, int) error {
	return errors.New("this system does not let the portable loop choose the backlog")
}
