package downstream

import (
	"bytes"

	"loomlab/clock"
	"loomlab/loadgen/evloop"
)

// answer sends what is due on a connection, in whatever way its fault wants.
func (w *worker) answer(c *evloop.Conn, s *session, d *duty) {
	w.now = clock.Now()
	if d.pos == 0 {
		late := w.now.Sub(d.due)
		// In range by construction; what is beyond an hour is not worth a panic.
		_ = w.account.lateness.RecordValue(late.Microseconds())
	}
	if d.fault == nil || d.fault.kind == faultStatus {
		c.Write(d.out)
		w.answered(c, s, d.cause)
		return
	}
	switch d.fault.kind {
	case faultResetBefore:
		w.abort(c, s)
	case faultResetDuring:
		c.Write(d.out[:(len(d.out)+1)/2])
		w.abort(c, s)
	case faultResetAfter:
		c.Write(d.out)
		w.settleOne(s)
		w.abort(c, s)
	case faultTruncate:
		c.Write(truncated(d.out))
		w.end(c, s, causeFault)
		c.CloseGracefully()
	case faultMalformed:
		c.Write(malformedAnswer)
		w.end(c, s, causeFault)
		c.CloseGracefully()
	case faultTrickle:
		w.trickle(c, s, d)
	}
}

// abort resets the connection; what it was still owed is lost.
func (w *worker) abort(c *evloop.Conn, s *session) {
	w.end(c, s, causeFault)
	c.Reset()
}

// truncated is the head and half of the body.
func truncated(out []byte) []byte {
	body := bytes.Index(out, []byte("\r\n\r\n")) + 4
	return out[:body+(len(out)-body)/2]
}

// trickle sends one byte and comes back for the next.
func (w *worker) trickle(c *evloop.Conn, s *session, d *duty) {
	c.Write(d.out[d.pos : d.pos+1])
	if d.pos++; int(d.pos) == len(d.out) {
		w.answered(c, s, d.cause)
		return
	}
	again := *d
	again.due = d.due.Add(d.fault.pace)
	w.schedule.add(again, false)
}

// settleOne takes one answer off the books.
func (w *worker) settleOne(s *session) {
	s.pending--
	s.measured--
	w.account.pass(w.now)
	w.account.inFlight--
	w.account.answered++
}

// answered goes on after a complete answer: close, or wait for the next request.
func (w *worker) answered(c *evloop.Conn, s *session, why cause) {
	w.settleOne(s)
	switch {
	case why != causeNone:
		w.end(c, s, why)
		if why == causeMaxRequests && w.cfg.Rude {
			c.Close()
		} else {
			c.CloseGracefully()
		}
		return
	case s.pending > 0:
		return
	case s.eof:
		w.end(c, s, causePeer)
		c.Close()
		return
	}
	s.idleSince = w.now
	if s.owed100 || s.wantStats {
		w.sendOwed(c, s)
	}
	if !s.parsing && s.between() {
		w.becomeIdle(c, s)
	}
}

// becomeIdle counts an idle connection, or closes it if there are enough.
func (w *worker) becomeIdle(c *evloop.Conn, s *session) {
	if w.cfg.MaxIdle == 0 || s.lab || s.idle {
		return
	}
	if w.idle >= w.cfg.MaxIdle {
		w.end(c, s, causeMaxIdle)
		c.Close() // as the JDK does: a request on its way meets a RST
		return
	}
	s.idle = true
	w.idle++
}
