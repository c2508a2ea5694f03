package downstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"loomlab/clock"
)

// Server is a downstream that is bound to its port. Make it with [New].
type Server struct {
	cfg     Config
	start   clock.Time
	addr    netip.AddrPort
	workers []*worker
	grpc    *grpcServer // nil without

	ok           *answers
	faulty       []*answers
	badDelay     *answers
	done         []atomic.Bool // faults of "once" that have been
	lastRequest  atomic.Int64  // when the newest one came, as a clock.Time
	badRequest   []byte
	headTooLarge []byte
	notFound     []byte

	stop  context.CancelFunc
	ended chan struct{} // closed when Serve has returned

	mu      sync.Mutex // one collects at a time; guards served
	served  bool
	stopped context.Context
}

// New binds the ports of a downstream and answers nothing yet: clients wait in
// the backlog until [Server.Serve]. A port in use is an error here. A server
// that is never served must be closed all the same.
func New(cfg Config) (*Server, error) {
	addr, err := cfg.check()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, start: clock.Now(), ended: make(chan struct{})}
	s.lastRequest.Store(int64(s.start))
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.done = make([]atomic.Bool, len(cfg.Faults))
	s.prebuild()
	for i := range cfg.Loops {
		w, err := newWorker(s, i)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.workers = append(s.workers, w)
	}
	if err := s.listen(addr); err != nil {
		s.Close()
		return nil, fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	if cfg.GRPC != "" {
		if s.grpc, err = newGRPC(cfg.GRPC, cfg.GRPCDelay); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// prebuild makes the bytes of all answers.
func (s *Server) prebuild() {
	c := &s.cfg
	s.ok = newAnswers(c.Status, plainText, c.Body, c.Chunked)
	for i := range c.Faults {
		var a *answers
		if status := c.Faults[i].status; status != 0 {
			a = newAnswers(status, plainText, fmt.Appendf(nil, "fault: %s", c.Faults[i].text), false)
		}
		s.faulty = append(s.faulty, a)
	}
	refusal := func(status int, why string) []byte {
		return newAnswers(status, plainText, []byte(why), false).get[formClose]
	}
	s.badDelay = newAnswers(http.StatusBadRequest, plainText, []byte("/delay/{ms}: up to 3600000 milliseconds"), false)
	s.badRequest = refusal(http.StatusBadRequest, "malformed request")
	s.headTooLarge = refusal(http.StatusRequestHeaderFieldsTooLarge, "request head too large")
	s.notFound = refusal(http.StatusNotFound, "try /lab/stats")
}

// listen binds the port for every loop.
func (s *Server) listen(addr netip.AddrPort) error {
	first := s.workers[0]
	ln, err := first.loop.Listen(addr, s.cfg.Backlog, false)
	if err != nil {
		return err
	}
	s.addr = ln.Addr()
	first.ln, first.addr = ln, s.addr
	if len(s.workers) == 1 {
		return nil
	}
	// Several sockets share a port only if all of them agree to. The first one
	// was bound alone on purpose: sharing would succeed beside a stranger that
	// agrees too, such as another downstream that was left running.
	ln.Close()
	for _, w := range s.workers {
		if w.ln, err = w.loop.Listen(s.addr, s.cfg.Backlog, true); err != nil {
			return err
		}
		w.addr = s.addr
	}
	return nil
}

// URL is where clients reach the server, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.addr.String() }

// Addr is the bound address.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// GRPCAddr is the bound address of the gRPC service; "" without one.
func (s *Server) GRPCAddr() string {
	if s.grpc == nil {
		return ""
	}
	return s.grpc.ln.Addr().String()
}

// Serve answers until ctx is done or Close is called; then it closes all
// connections, in whatever state, and returns nil. It may be called once. An
// error is one of the system's.
func (s *Server) Serve(ctx context.Context) error {
	s.mu.Lock()
	closed, served := s.stopped.Err() != nil, s.served
	s.served = true
	s.mu.Unlock()
	switch {
	case closed:
		return nil
	case served:
		return errors.New("downstream: Serve was called before")
	}
	defer close(s.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	for _, w := range s.workers {
		group.Go(func() error {
			defer cancel() // one that fails ends them all
			defer close(w.ended)
			return w.loop.Run(w)
		})
	}
	if s.grpc != nil {
		group.Go(func() error {
			defer cancel()
			return s.grpc.serve()
		})
	}
	select {
	case <-ctx.Done():
	case <-s.stopped.Done():
	}
	s.stopAll()
	return group.Wait()
}

func (s *Server) stopAll() {
	for _, w := range s.workers {
		w.loop.Stop()
	}
	if s.grpc != nil {
		s.grpc.stop()
	}
}

// Close ends Serve and waits for its end, or frees a server that was never
// served.
func (s *Server) Close() error {
	s.mu.Lock()
	s.stop()
	served := s.served
	s.served = true
	s.mu.Unlock()
	if served {
		<-s.ended
		return nil
	}
	defer close(s.ended)
	s.stopAll()
	var errs []error
	for _, w := range s.workers {
		errs = append(errs, w.loop.Run(w)) // frees what the loop holds
		close(w.ended)
	}
	return errors.Join(errs...)
}

// collect adds up the accounts of all loops. newPeriod begins a new period of
// the in-flight peak.
func (s *Server) collect(newPeriod bool) account {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := newAccount(len(s.cfg.Faults))
	for _, w := range s.workers {
		a := w.copyAccount(s.served, newPeriod)
		sum.add(&a)
	}
	return sum
}

// copyAccount gets a copy of the account from the loop, if it runs.
func (w *worker) copyAccount(running, newPeriod bool) account {
	if !running {
		return w.account.clone()
	}
	if newPeriod {
		w.periods.Store(true)
	}
	w.asked.Store(true)
	w.loop.Wake()
	select {
	case a := <-w.copies:
		return a
	case <-w.ended:
		return w.account.clone()
	}
}
