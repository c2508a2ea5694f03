package downstream

import (
	"bytes"
	"errors"
	"time"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
	"loomlab/loadgen/http1"
)

// Data reads requests. The delay of each begins here, at its last byte.
func (w *worker) Data(c *evloop.Conn, b []byte) {
	s := sessionOf(c)
	if s.deaf || s.stuck && s.pending > w.most {
		return
	}
	if s.idle {
		s.idle = false
		w.idle--
	}
	w.now = clock.Now()
	w.parse(c, s, b)
}

// parse reads the requests in b.
func (w *worker) parse(c *evloop.Conn, s *session, b []byte) {
	ref := c.Ref()
	s.parsing = true
	for len(b) > 0 {
		if s.pending > w.most && !s.stuck || c.Buffered() > maxBuffered {
			s.held = append([]byte(nil), b...)
			w.pause(c, s)
			break
		}
		n, headDone, done, err := s.req.Parse(b)
		b = b[n:]
		if err != nil {
			w.refuse(c, s, err)
			return
		}
		if !done {
			if headDone && s.req.Expect100 && !s.continued {
				s.continued, s.owed100 = true, true
				w.sendOwed(c, s)
			}
			break
		}
		s.continued, s.owed100 = false, false
		if target := s.req.Target(); len(target) > 5 && string(target[:5]) == "/lab/" {
			if w.lab(c, s, b) {
				s.parsing = false
				return // the rest is read when this is answered
			}
		} else {
			w.request(c, s)
		}
		if ref.Conn() == nil || s.deaf {
			return
		}
	}
	s.parsing = false
	s.idleSince = w.now
	if s.between() && s.requests > 0 {
		w.becomeIdle(c, s)
	}
}

// readOn reads what arrived while reading was paused, and what arrives next.
func (w *worker) readOn(c *evloop.Conn, s *session) {
	if s.paused || s.wantStats {
		return
	}
	held := s.held
	s.held = nil
	w.now = clock.Now()
	c.ResumeRead()
	if len(held) > 0 {
		w.parse(c, s, held)
	}
}

// request takes a complete request that counts.
func (w *worker) request(c *evloop.Conn, s *session) {
	now := w.now
	a := &w.account
	a.began(now, now.Sub(clock.Time(w.server.lastRequest.Swap(int64(now)))).Seconds())
	s.requests++
	a.perConnMax = max(a.perConnMax, s.requests)
	if s.req.UpgradeH2C {
		a.upgradeH2C++
	}
	s.pending++
	s.measured++
	if s.stuck {
		s.req.Reset()
		return
	}
	d := duty{ref: c.Ref(), kind: dutyAnswer}
	f := w.formOf(s, &d, now)
	built, delay, fixed := w.ok, w.cfg.Delay, true
	if own, ok, asked := w.askedDelay(&s.req); asked {
		delay, fixed = own, false
		if !ok {
			built = w.server.badDelay
		}
	} else if w.cfg.Jitter.varies() {
		delay, fixed = w.cfg.Jitter.delay(delay, w.rnd), false
	}
	if len(w.dice.faults) > 0 {
		if i := w.dice.draw(now.Sub(w.start)); i >= 0 {
			d.fault = &w.dice.faults[i]
			a.faults[i]++
			if d.fault.delay >= 0 {
				delay, fixed = d.fault.delay, false
			}
			if w.faulty[i] != nil {
				built = w.faulty[i]
			}
		}
	}
	d.due = now.Add(delay)
	if w.cfg.Jitter.stall > 0 {
		d.due = w.start.Add(w.cfg.Jitter.hold(d.due.Sub(w.start)))
	}
	d.out = built.pick(f, s.req.Head)
	s.req.Reset()
	w.owe(c, s, d, fixed, now)
}

// owe puts an answer behind those that its connection already has to come.
func (w *worker) owe(c *evloop.Conn, s *session, d duty, fixed bool, now clock.Time) {
	d.due = max(d.due, s.lastDue)
	s.lastDue = d.due
	if d.fault != nil {
		switch d.fault.kind {
		case faultNever:
			s.stuck = true
			return
		case faultTrickle:
			s.lastDue = d.due.Add(time.Duration(len(d.out))*d.fault.pace + 1)
		}
	}
	if d.due <= now && s.pending == 1 {
		w.perform(&d) // at once, and nothing is before it
		return
	}
	w.schedule.add(d, fixed)
}

// formOf decides how the connection goes on after this request.
func (w *worker) formOf(s *session, d *duty, now clock.Time) form {
	cfg := w.cfg
	announce := true
	switch {
	case !s.req.KeepAlive:
		d.cause = causeCloseAsked
	case cfg.MaxRequests > 0 && s.requests >= int64(cfg.MaxRequests):
		d.cause, announce = causeMaxRequests, !cfg.Rude
	case cfg.Lifetime > 0 && now.Sub(s.opened) >= cfg.Lifetime:
		d.cause = causeLifetime
	}
	s.deaf = d.cause != causeNone
	closes := s.deaf && announce
	switch {
	case s.req.HTTP10 && closes:
		return formClose10
	case s.req.HTTP10:
		return formKeep10
	case closes:
		return formClose
	}
	return formKeep
}

// askedDelay reads the delay of /delay/{ms}.
func (w *worker) askedDelay(r *http1.Request) (d time.Duration, ok, asked bool) {
	const prefix = "/delay/"
	target := r.Target()
	if len(target) < len(prefix) || string(target[:len(prefix)]) != prefix {
		return 0, true, false
	}
	text := target[len(prefix):]
	if i := bytes.IndexByte(text, '?'); i >= 0 {
		text = text[:i]
	}
	d, ok = parseMillis(text)
	return d, ok, true
}

// parseMillis reads a decimal number of milliseconds, such as 100 or 0.25. It
// is strconv.ParseFloat without a string.
func parseMillis(text []byte) (time.Duration, bool) {
	d, unit, point, digits := time.Duration(0), time.Millisecond, false, 0
	for _, c := range text {
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return 0, false
		case point:
			unit /= 10
			d += time.Duration(c-'0') * unit
		default:
			d = d*10 + time.Duration(c-'0')*unit
		}
		if digits++; d > maxDelay {
			return 0, false
		}
	}
	return d, digits > 0
}

// refuse answers what is not a request, after what is owed before it.
func (w *worker) refuse(c *evloop.Conn, s *session, err error) {
	w.account.malformed++
	s.deaf = true
	s.pending++
	if s.stuck {
		return
	}
	out := w.server.badRequest
	if errors.Is(err, http1.ErrHeadTooLarge) {
		out = w.server.headTooLarge
	}
	w.owe(c, s, duty{due: w.now, ref: c.Ref(), kind: dutyRefusal, cause: causeMalformed, out: out}, false, w.now)
}
