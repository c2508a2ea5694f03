package loadgen

import (
	"errors"
	"os"
	"syscall"
)

// errorClass is why a request has no complete answer.
type errorClass uint8

const (
	errTimeout errorClass = iota
	errReset
	errEOF
	errProtocol
	errOther
	errClasses
)

var errorNames = [errClasses]string{"timeout", "reset", "eof", "protocol", "other"}

// classify sorts what broke an established connection.
func classify(err error) errorClass {
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return errReset
	case errors.Is(err, syscall.ETIMEDOUT):
		return errTimeout
	}
	return errOther
}

// connectClass is why a connection could not be made.
type connectClass uint8

const (
	connectRefused connectClass = iota
	connectTimeout
	connectLocalPorts
	connectFDLimit
	connectOther
	connectClasses
)

var connectNames = [connectClasses]string{"connect refused", "connect timeout", "local ports", "descriptors", "connect"}

// classifyConnect sorts the error of a connect. Running out of ports or
// descriptors is the client's fault, and classes of their own.
func classifyConnect(err error) connectClass {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return connectRefused
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, os.ErrDeadlineExceeded):
		return connectTimeout
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EADDRINUSE):
		return connectLocalPorts
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return connectFDLimit
	}
	return connectOther
}
