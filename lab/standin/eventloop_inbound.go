package standin

import (
	"context"
	"net/http"

	"github.com/panjf2000/gnet/v2"
)

// maxPipelined is how many bytes a client may send ahead of its answers.
const maxPipelined = 64 << 10

// inbound is a client's connection and the request that it is at. Its loop owns
// it. The steps of a request are named methods: traffic, begin, burn, get,
// reply; each leads to the next, at once or from a later event.
type inbound struct {
	gnet.Conn
	session
	loop    *loop
	busy    bool // a request is being served; what arrives stays in gnet's buffer
	gone    bool // the connection is closed
	retried bool
	call    *call
	held    []byte // the request's garbage
	out     []byte
}

// traffic takes requests while there are complete ones and none is served.
func (in *inbound) traffic() gnet.Action {
	for !in.busy {
		b, _ := in.Peek(-1)
		if len(b) == 0 {
			return gnet.None
		}
		n, _, done, err := in.Parse(b)
		if err != nil {
			in.Write([]byte(badRequest))
			return gnet.Close
		}
		in.Discard(n)
		if !done {
			return gnet.None
		}
		in.begin()
		if in.gone {
			return gnet.None
		}
	}
	if in.InboundBuffered() > maxPipelined {
		return gnet.Close
	}
	return gnet.None
}

func (in *inbound) begin() {
	r, c, final := in.loop.route(in.Method(), in.Target())
	if final {
		in.reply(r)
		return
	}
	f := in.loop.faults
	in.busy, in.retried, in.call = true, false, c
	in.held = f.allocate()
	f.hold()
	if !f.lock.AroundCall {
		in.burn()
		return
	}
	f.async.acquire(func() { in.loop.later(in.burn) })
}

// burn does the request's work in the loop, or waits for the hot thread to.
func (in *inbound) burn() {
	if hot := in.loop.faults.hot; hot != nil {
		hot.burn(func() { in.loop.later(in.get) })
		return
	}
	in.loop.faults.burn()
	in.get()
}

func (in *inbound) get() {
	if in.call == nil {
		in.finish(reply{http.StatusOK, []byte("hello")})
		return
	}
	in.loop.acquire(in)
}

// finish ends the request that begin began.
func (in *inbound) finish(r reply) {
	if in.loop.faults.lock.AroundCall {
		in.loop.faults.async.release()
	}
	in.busy, in.held = false, nil
	in.reply(r)
	if !in.gone && in.InboundBuffered() > 0 {
		in.Wake(nil) // a pipelined request: traffic goes on with it
	}
}

func (in *inbound) reply(r reply) {
	if in.gone {
		return
	}
	out, keepAlive := in.writeReply(in.out[:0], r, in.loop.cfg.KeepAliveRequests)
	in.out = out
	in.Reset()
	if _, err := in.Write(out); err == nil && !keepAlive {
		in.loop.el.Close(in.Conn)
	}
}

// later runs f in the loop; it may be called from any goroutine. Once the
// engine has stopped there is nobody left to run it for.
func (l *loop) later(f func()) {
	_ = l.el.Execute(context.Background(), gnet.RunnableFunc(func(context.Context) error {
		f()
		return nil
	}))
}
