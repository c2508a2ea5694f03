package standin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"time"
)

// service is what all models share: the paths, the faults and the exceptions.
type service struct {
	cfg        Config
	faults     *faults
	exceptions Exceptions
	addr       *net.TCPAddr // of the downstream; nil without one
	host       string       // its host:port as the URL has it
	call       *call        // for /call
	ioTest     *call        // for /io-test
}

// call is one GET to the downstream: its URL, and the request on the wire.
type call struct {
	url     string
	request []byte
}

// reply is what a request gets back.
type reply struct {
	status int
	body   []byte
}

func newService(cfg Config, ended <-chan struct{}) (*service, error) {
	s := &service{cfg: cfg}
	if cfg.Downstream != "" {
		u, err := url.Parse(cfg.Downstream)
		if err != nil {
			return nil, err
		}
		if u.Path == "" {
			u.Path = "/"
		}
		s.host = u.Host
		if u.Port() == "" {
			s.host = net.JoinHostPort(u.Hostname(), "80")
		}
		if s.addr, err = net.ResolveTCPAddr("tcp", s.host); err != nil {
			return nil, err
		}
		s.call, s.ioTest = newCall(u), newCall(u.JoinPath("delay/100"))
	}
	s.faults = newFaults(cfg, ended)
	return s, nil
}

func newCall(u *url.URL) *call {
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\n\r\n", u.RequestURI(), u.Host)
	return &call{url: u.String(), request: []byte(request)}
}

// errNoDownstream is why /call fails without --downstream.
var errNoDownstream = errors.New("no --downstream was given")

// route decides what a request wants: a final reply, or (with final false) the
// work of a request, which ends with the call if there is one.
func (s *service) route(method, target []byte) (r reply, c *call, final bool) {
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		target = target[:i]
	}
	if s.cfg.NotReadyFor > 0 && time.Now().Before(s.faults.readyFrom) {
		return reply{http.StatusServiceUnavailable, []byte("not ready")}, nil, true
	}
	switch string(method) {
	case http.MethodGet, http.MethodHead:
	default:
		return reply{http.StatusMethodNotAllowed, []byte("method not allowed")}, nil, true
	}
	switch string(target) {
	case "/lab/exceptions":
		return reply{http.StatusOK, s.exceptions.JSON()}, nil, true
	case "/hello":
	case "/call":
		c = s.call
	case "/io-test":
		c = s.ioTest
	default:
		return reply{http.StatusNotFound, []byte("not found")}, nil, true
	}
	if s.faults.fails() {
		return s.failure(errInjected), nil, true
	}
	if c == nil && string(target) != "/hello" {
		return s.failure(errNoDownstream), nil, true
	}
	return reply{http.StatusOK, []byte("hello")}, c, false
}

// answer serves one request on the caller's own stack, as the blocking models
// do; get makes the call to the downstream and blocks until it is answered.
func (s *service) answer(method, target []byte, get func(*call) ([]byte, error)) reply {
	r, c, final := s.route(method, target)
	if final {
		return r
	}
	held := s.faults.allocate()
	defer runtime.KeepAlive(held)
	s.faults.hold()
	if s.faults.lock.AroundCall {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
	}
	s.faults.burn()
	if c == nil {
		return r
	}
	return s.outcome(get(c))
}

// outcome is the reply to a request whose call gave body or err.
func (s *service) outcome(body []byte, err error) reply {
	if err != nil {
		return s.failure(err)
	}
	return reply{http.StatusOK, body}
}

// failure counts err and makes it the reason of a 500.
func (s *service) failure(err error) reply {
	kind := kindOf(err)
	s.exceptions.Record(kind, err)
	return reply{http.StatusInternalServerError, []byte(kind + ": " + root(err).Error())}
}

// statusError is an answer of the downstream that a client library would throw.
type statusError int

func (e statusError) Error() string {
	return strconv.Itoa(int(e)) + " " + http.StatusText(int(e))
}

// kindOf names what failed, as an application sees it.
func kindOf(err error) string {
	var status statusError
	var op *net.OpError
	switch {
	case errors.Is(err, errInjected):
		return "InjectedError"
	case errors.Is(err, errNoDownstream):
		return "ConfigError"
	case errors.As(err, &status):
		return "StatusError"
	case errors.As(err, &op) && op.Op == "dial":
		return "ConnectError"
	case errors.As(err, &op) && op.Op == "write":
		return "WriteError"
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "ReadError"
	}
	return "ProtocolError"
}
