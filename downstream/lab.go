package downstream

import (
	"bytes"
	"net/http"

	"loomlab/loadgen/evloop"
)

// lab serves a path of the lab's own. It reports whether b, what came after the
// request, was put aside until the answer is there.
func (w *worker) lab(c *evloop.Conn, s *session, b []byte) bool {
	s.lab = true
	if target, _, _ := bytes.Cut(s.req.Target(), []byte("?")); string(target) != "/lab/stats" || s.stuck {
		s.deaf = true
		s.pending++
		w.owe(c, s, duty{due: w.now, ref: c.Ref(), kind: dutyRefusal, cause: causeCloseAsked, out: w.server.notFound}, false, w.now)
		return false
	}
	s.held = append([]byte(nil), b...)
	s.wantStats = true
	c.PauseRead()
	w.sendOwed(c, s)
	return true
}

// sendOwed does what had to wait for the answers before it.
func (w *worker) sendOwed(c *evloop.Conn, s *session) {
	if s.pending > 0 {
		return
	}
	if s.owed100 {
		s.owed100 = false
		c.Write(continueAnswer)
	}
	if s.wantStats {
		ref := c.Ref()
		// The account is collected from all loops, which this one must not wait for.
		go func() { w.postReply(reply{ref, w.server.statsJSON()}) }()
	}
}

func (w *worker) postReply(r reply) {
	w.mu.Lock()
	w.replies = append(w.replies, r)
	w.mu.Unlock()
	w.replied.Store(true)
	w.loop.Wake()
}

// deliverReplies answers /lab/stats and goes on with what came after it.
func (w *worker) deliverReplies() {
	w.replied.Store(false)
	w.mu.Lock()
	replies := w.replies
	w.replies = nil
	w.mu.Unlock()
	for _, r := range replies {
		c := r.ref.Conn()
		if c == nil {
			continue
		}
		s := sessionOf(c)
		f := formKeep
		switch {
		case s.req.HTTP10 && s.req.KeepAlive:
			f = formKeep10
		case !s.req.KeepAlive:
			f = formClose
		}
		c.Write(newAnswers(http.StatusOK, "application/json", r.body, false).pick(f, s.req.Head))
		s.wantStats = false
		if !s.req.KeepAlive {
			w.end(c, s, causeCloseAsked)
			c.CloseGracefully()
			continue
		}
		s.req.Reset()
		w.readOn(c, s)
	}
}
