package loadgen

import (
	"net"
	"os"
	"syscall"
	"testing"
)

func TestClassify(t *testing.T) {
	wrap := func(e error) error { return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", e)} }
	for errno, want := range map[syscall.Errno]connectClass{
		syscall.ECONNREFUSED: connectRefused, syscall.ETIMEDOUT: connectTimeout,
		syscall.EADDRNOTAVAIL: connectLocalPorts, syscall.EADDRINUSE: connectLocalPorts,
		syscall.EMFILE: connectFDLimit, syscall.ENFILE: connectFDLimit, syscall.EHOSTUNREACH: connectOther,
	} {
		if got := classifyConnect(wrap(errno)); got != want {
			t.Errorf("%v: %s, want %s", errno, connectNames[got], connectNames[want])
		}
	}
	for errno, want := range map[syscall.Errno]errorClass{
		syscall.ECONNRESET: errReset, syscall.EPIPE: errReset, syscall.ETIMEDOUT: errTimeout, syscall.EBADF: errOther,
	} {
		if got := classify(wrap(errno)); got != want {
			t.Errorf("%v: %s, want %s", errno, errorNames[got], errorNames[want])
		}
	}
}
