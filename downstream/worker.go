package downstream

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

// worker is one loop of the server: an [evloop.Handler] with all that its
// connections need, so that a request takes no lock and no allocation.
type worker struct {
	server *Server
	cfg    *Config
	loop   evloop.Loop
	ln     evloop.Listener
	addr   netip.AddrPort
	retry  clock.Time // when to listen again after "refuse", should that fail

	ok     *answers
	faulty []*answers // by fault; nil where the fault needs none
	start  clock.Time
	now    clock.Time // when the bytes being parsed were read, or the answer being sent began
	rnd    *rand.Rand
	dice   dice

	schedule schedule
	spare    []*session
	paused   []evloop.Ref // connections that read on when they have fewer answers to come
	paused2  []evloop.Ref // the spare of paused
	most     int32        // so many answers may be owed to one connection
	idle     int          // connections between requests, for MaxIdle
	account  account

	asked   atomic.Bool // somebody waits for a copy of the account
	periods atomic.Bool // and begins a new period of the series
	copies  chan account
	ended   chan struct{} // closed after the loop; the account is anybody's then

	mu      sync.Mutex
	replies []reply // to /lab/stats, made elsewhere
	replied atomic.Bool
}

// reply is a finished body for one connection.
type reply struct {
	ref  evloop.Ref
	body []byte
}

func newWorker(s *Server, index int) (*worker, error) {
	loop, err := evloop.New(s.cfg.Engine)
	if err != nil {
		return nil, err
	}
	w := &worker{
		server: s, cfg: &s.cfg, loop: loop, ok: s.ok, faulty: s.faulty, start: s.start,
		rnd:     rand.New(rand.NewPCG(s.cfg.Seed, uint64(2*index))),
		account: newAccount(len(s.cfg.Faults)),
		copies:  make(chan account, 1),
		ended:   make(chan struct{}),
		retry:   clock.Never,
		most:    int32(min(maxPending, 1+maxOwed/len(s.ok.get[formKeep]))),
	}
	// Faults have dice of their own: adding jitter must not move them.
	w.dice = dice{faults: s.cfg.Faults, done: s.done, rnd: rand.New(rand.NewPCG(s.cfg.Seed, uint64(2*index+1)))}
	return w, nil
}

// Due does what is due and says when the next duty is. It sleeps a little past
// it (Config.Coalesce), so that one wake-up serves several: never early, a
// fraction of a millisecond late.
func (w *worker) Due(now clock.Time) clock.Time {
	for {
		d, ok := w.schedule.take(now)
		if !ok {
			break
		}
		w.perform(&d)
	}
	if w.replied.Load() {
		w.deliverReplies()
	}
	if w.asked.Load() {
		w.publish()
	}
	soon := clock.Never
	if len(w.paused) > 0 {
		soon = w.resumePaused(now)
	}
	if w.retry != clock.Never {
		soon = min(soon, w.listenAgain(now))
	}
	return min(soon, w.schedule.next().Add(w.cfg.Coalesce))
}

// perform does one duty, unless its connection is gone.
func (w *worker) perform(d *duty) {
	c := d.ref.Conn()
	if c == nil {
		return
	}
	s := sessionOf(c)
	switch d.kind {
	case dutyAnswer:
		w.answer(c, s, d)
	case dutyRefusal:
		c.Write(d.out)
		w.end(c, s, d.cause)
		c.CloseGracefully()
	case dutyIdle:
		w.checkIdle(c, s, d)
	case dutyLifetime:
		if s.between() {
			w.end(c, s, causeLifetime)
			c.Close()
		} // else its last answer ends it
	}
}

// checkIdle ends a connection that has been between requests for the timeout,
// and else looks again when it could have been.
func (w *worker) checkIdle(c *evloop.Conn, s *session, d *duty) {
	now := clock.Now()
	idle := s.pending == 0 && !s.wantStats
	if idle && now.Sub(s.idleSince) >= w.cfg.IdleTimeout {
		w.end(c, s, causeIdle)
		c.Close()
		return
	}
	from := now
	if idle {
		from = s.idleSince
	}
	w.schedule.add(duty{due: from.Add(w.cfg.IdleTimeout), ref: d.ref, kind: dutyIdle}, false)
}

// Opened greets a client.
func (w *worker) Opened(c *evloop.Conn) {
	a := &w.account
	a.accepted++
	a.open++
	a.peak = max(a.peak, a.open)
	now := clock.Now()
	var s *session
	if n := len(w.spare); n > 0 {
		s, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		s = new(session)
	}
	s.reset(now)
	c.Tag = s
	if limit := int64(w.cfg.MaxConns); limit > 0 && a.open > limit {
		w.end(c, s, causeMaxConns)
		c.Reset()
		return
	}
	if w.cfg.IdleTimeout > 0 {
		w.schedule.add(duty{due: now.Add(w.cfg.IdleTimeout), ref: c.Ref(), kind: dutyIdle}, false)
	}
	if w.cfg.Lifetime > 0 {
		w.schedule.add(duty{due: now.Add(w.cfg.Lifetime), ref: c.Ref(), kind: dutyLifetime}, false)
	}
	w.full()
}

// end takes a connection out of the books. The caller closes it.
func (w *worker) end(c *evloop.Conn, s *session, why cause) {
	a := &w.account
	a.open--
	a.closed[why]++
	a.pass(clock.Now())
	a.inFlight -= int64(s.measured)
	a.lost += int64(s.measured)
	if s.idle {
		w.idle--
	}
	c.Tag = nil
	w.spare = append(w.spare, s)
	w.room()
}

// EOF notes that the client sends no more. It still gets what it is owed.
func (w *worker) EOF(c *evloop.Conn) {
	s := sessionOf(c)
	s.eof = true
	if s.pending == 0 || s.stuck {
		w.end(c, s, causePeer)
		c.Close()
	}
}

// Failed notes that a connection broke.
func (w *worker) Failed(c *evloop.Conn, _ error) {
	if s, ok := c.Tag.(*session); ok {
		w.end(c, s, causeReset)
	}
}

// full stops accepting when MaxConns says so.
func (w *worker) full() {
	if limit := int64(w.cfg.MaxConns); limit == 0 || w.account.open < limit || w.ln == nil {
		return
	}
	switch w.cfg.MaxConnsMode {
	case "wait":
		w.ln.Pause()
	case "refuse":
		w.account.backoffs += w.ln.Backoffs()
		w.ln.Close()
		w.ln = nil
	}
}

// room accepts again when MaxConns allows it.
func (w *worker) room() {
	if limit := int64(w.cfg.MaxConns); limit == 0 || w.account.open != limit-1 {
		return
	}
	switch {
	case w.ln == nil:
		w.retry = 0
	case w.cfg.MaxConnsMode == "wait":
		w.ln.Resume()
	}
}

// listenAgain reopens the port that "refuse" closed. Somebody else may have
// taken it meanwhile; then it is tried every 50 ms.
func (w *worker) listenAgain(now clock.Time) clock.Time {
	if now < w.retry {
		return w.retry
	}
	ln, err := w.loop.Listen(w.addr, w.cfg.Backlog, false)
	if err != nil {
		w.retry = now.Add(50 * time.Millisecond)
		return w.retry
	}
	w.ln, w.retry = ln, clock.Never
	return clock.Never
}

// pause stops reading from a client that is owed too much.
func (w *worker) pause(c *evloop.Conn, s *session) {
	if !s.paused {
		s.paused = true
		c.PauseRead()
		w.paused = append(w.paused, c.Ref())
	}
}

// resumePaused lets those read on that have caught up, and looks again soon.
func (w *worker) resumePaused(now clock.Time) clock.Time {
	list := w.paused
	w.paused = w.paused2[:0]
	for _, ref := range list {
		c := ref.Conn()
		if c == nil {
			continue
		}
		s := sessionOf(c)
		if s.pending > w.most/2 || c.Buffered() > maxBuffered/2 {
			w.paused = append(w.paused, ref)
			continue
		}
		s.paused = false
		w.readOn(c, s)
	}
	w.paused2 = list
	if len(w.paused) == 0 {
		return clock.Never
	}
	return now.Add(5 * time.Millisecond)
}

// publish gives a copy of the account to who asked for it.
func (w *worker) publish() {
	w.asked.Store(false)
	w.account.pass(clock.Now())
	a := w.account.clone()
	if w.ln != nil {
		a.backoffs += w.ln.Backoffs()
	}
	if w.periods.Swap(false) {
		w.account.inFlightPeak = w.account.inFlight
	}
	w.copies <- a // has room: one asks at a time
}
