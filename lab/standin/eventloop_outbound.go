package standin

import (
	"errors"
	"io"
	"net"

	"github.com/panjf2000/gnet/v2"
)

// loop is one event loop's pool of connections to the downstream. Only the loop
// itself touches it.
type loop struct {
	*eventLoops
	el      gnet.EventLoop
	idle    []*outbound // the last used at the end
	open    int         // connections open or being made
	limit   int         // of open; 0 is none
	pending fifo        // requests that wait for a connection
}

// outbound is a connection to the downstream, made for one request and kept for
// others.
type outbound struct {
	gnet.Conn
	loop   *loop
	in     *inbound // the request being answered; nil while idle
	at     int      // its place in loop.idle
	reused bool     // the connection has served a request before
	down   download
}

// acquire gets in its call a connection: an idle one, a new one, or the next to
// be free.
func (l *loop) acquire(in *inbound) {
	if last := len(l.idle) - 1; last >= 0 {
		out := l.idle[last]
		l.idle = l.idle[:last]
		out.reused, out.in = true, in
		out.send()
		return
	}
	if l.limit > 0 && l.open >= l.limit {
		l.pending.push(in)
		return
	}
	l.connect(in)
}

// connect makes a connection for in. The dial blocks in a goroutine of its own,
// because gnet has no other; it happens once per connection, not per request.
func (l *loop) connect(in *inbound) {
	if !l.mayDial() {
		return // the stand-in is ending, and in with it
	}
	l.open++
	out := &outbound{loop: l, in: in}
	go func() {
		defer l.dials.Done()
		if err := out.dial(); err != nil {
			l.later(func() { out.closed(err) })
		}
	}()
}

// dial returns nil when OnOpen has run.
func (out *outbound) dial() error {
	var dialer net.Dialer
	ctx := gnet.NewContext(out.loop.ctx, out)
	c, err := dialer.DialContext(ctx, "tcp", out.loop.addr.String())
	if err != nil {
		return err
	}
	enrolled, err := out.loop.el.Enroll(ctx, c)
	if err != nil {
		c.Close()
		return err
	}
	return (<-enrolled).Err
}

// send writes the request of out.in. If the write fails, gnet has called closed
// by the time it returns.
func (out *outbound) send() {
	out.down.reset()
	_, _ = out.Write(out.in.call.request)
}

func (out *outbound) traffic() gnet.Action {
	b, _ := out.Peek(-1)
	if out.in == nil {
		return gnet.Close // an answer to nothing
	}
	n, done, err := out.down.feed(b)
	out.Discard(n)
	switch {
	case err != nil:
		out.fail(err)
		return gnet.Close
	case !done:
		return gnet.None
	}
	out.complete()
	if !out.down.frame.KeepAlive {
		return gnet.Close
	}
	out.free()
	return gnet.None
}

// complete answers the request with the finished download.
func (out *outbound) complete() {
	in := out.in
	out.in = nil
	in.finish(out.loop.outcome(out.down.body()))
}

func (out *outbound) fail(err error) {
	in := out.in
	out.in = nil
	in.finish(out.loop.outcome(nil, err))
}

// free gives the connection to the request that has waited longest.
func (out *outbound) free() {
	l := out.loop
	if in := l.next(); in != nil {
		out.reused, out.in = true, in
		out.send()
		return
	}
	out.at = len(l.idle)
	l.idle = append(l.idle, out)
}

// next is the request that has waited longest of those still wanted.
func (l *loop) next() *inbound {
	for {
		in := l.pending.pop()
		if in == nil || !in.gone {
			return in
		}
		in.finish(reply{}) // its client has gone: nothing is written
	}
}

// closed follows the end of the connection, or of the attempt to make it.
func (out *outbound) closed(err error) {
	l := out.loop
	l.open--
	if l.faults.over() {
		return // the loops are closing everything: no failure of the downstream
	}
	switch in := out.in; {
	case in == nil:
		l.forget(out)
	case out.completedByClose(err):
		out.complete()
	case out.reused && !out.down.frame.Started() && !in.retried:
		in.retried, out.in = true, nil
		l.connect(in)
	default:
		out.fail(asReadError(out, err))
	}
	if l.limit == 0 || l.open < l.limit {
		if in := l.next(); in != nil {
			l.connect(in)
		}
	}
}

// completedByClose says that the answer had no length and ended with the
// connection.
func (out *outbound) completedByClose(err error) bool {
	return errors.Is(err, io.EOF) && out.down.frame.Started() && out.down.eof() == nil
}

// asReadError words the loss of a connection as the other models do.
func asReadError(out *outbound, err error) error {
	if out.Conn == nil {
		return err // of the dial, already in those words
	}
	if err == nil || errors.Is(err, io.EOF) {
		if out.down.frame.Started() {
			return io.ErrUnexpectedEOF
		}
		return io.EOF
	}
	return &net.OpError{Op: "read", Net: "tcp", Err: err}
}

// forget takes a closed connection out of the idle ones.
func (l *loop) forget(out *outbound) {
	last := len(l.idle) - 1
	if out.at > last || l.idle[out.at] != out {
		return // it was not idle: closed after its answer
	}
	l.idle[out.at] = l.idle[last]
	l.idle[out.at].at = out.at
	l.idle = l.idle[:last]
}

// fifo is a queue of requests.
type fifo struct {
	items []*inbound
	head  int
}

func (q *fifo) push(in *inbound) { q.items = append(q.items, in) }

// pop returns nil when the queue is empty.
func (q *fifo) pop() *inbound {
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		return nil
	}
	in := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head > 1024 && 2*q.head > len(q.items) {
		q.items = append(q.items[:0], q.items[q.head:]...)
		q.head = 0
	}
	return in
}
