package downstream

import (
	"loomlab/clock"
	"loomlab/loadgen/evloop"
	"loomlab/loadgen/http1"
)

// session is the server's side of one connection: the Tag of its Conn. Sessions
// are reused.
type session struct {
	req       http1.Request
	opened    clock.Time
	idleSince clock.Time
	lastDue   clock.Time // no later answer may come before this
	requests  int64      // that counted
	pending   int32      // answers that are owed, of any kind
	measured  int32      // those of them that count as requests in flight
	held      []byte     // arrived and not parsed yet, while reading is paused

	deaf      bool // no further request is served; what comes is thrown away
	stuck     bool // an answer never comes, so neither do those behind it
	eof       bool // the client has half-closed
	idle      bool // counted by the worker as idle between requests
	lab       bool // asked for /lab/: limits on idle connections do not count it
	continued bool // 100 Continue was sent (or is owed) for this request
	owed100   bool // it waits for the answers before it
	wantStats bool // the stats wait for the answers before them
	paused    bool // too much is owed to read on
	parsing   bool // its requests are being read just now
}

// reset makes s fit for a new connection.
func (s *session) reset(now clock.Time) {
	*s = session{opened: now, idleSince: now}
	s.req.Reset()
}

// between says that no request is in progress, wholly or in part.
func (s *session) between() bool {
	return s.pending == 0 && s.req.Idle() && len(s.held) == 0 && !s.wantStats
}

// Limits on what one client may make the server remember.
const (
	maxPending  = 1024     // pipelined requests; reading pauses above
	maxOwed     = 16 << 20 // bytes of answers to them
	maxBuffered = 1 << 20  // bytes of answers that the client does not read
)

// sessionOf returns the session of a connection that has one.
func sessionOf(c *evloop.Conn) *session { return c.Tag.(*session) }
