package evloop

import "net/netip"

// Conn is one connection of a loop. A Conn is reused after it was closed; hold
// a [Ref] instead of a pointer across events.
type Conn struct {
	// Tag is the handler's own state of this connection. The loop clears it
	// when the Conn is reused.
	Tag any

	loop connLoop
	out  []byte   // what the socket did not take yet
	sock *netSock // portable only
	gen  uint32
	fd   int32  // epoll only
	slot int32  // epoll only: index in the loop's table
	sent uint32 // bytes of out that are sent already
	// drained counts what a lingering connection threw away.
	drained uint32
	state   connState
	// broken remembers that Write failed; Failed is on its way.
	broken      bool
	eof         bool // the peer's end was read
	writeClosed bool // CloseWrite or CloseGracefully was called
	paused      bool // PauseRead
	unread      bool // more may be waiting in the socket than was read
	queued      bool // stands in the loop's list of unread connections
}

// connState says what a connection is at.
type connState uint8

const (
	stateFree       connState = iota
	stateConnecting           // Dial was called
	stateOpen                 // Opened was delivered
	stateFlushing             // closed by the handler, still sending what was buffered
	stateLingering            // closed by the handler, reading until the peer's end
)

// connLoop is what an implementation does for its connections.
type connLoop interface {
	write(c *Conn, b []byte)
	closeWrite(c *Conn)
	close(c *Conn)
	closeGracefully(c *Conn)
	reset(c *Conn)
	buffered(c *Conn) int
	resumeRead(c *Conn)
	local(c *Conn) netip.AddrPort
	remote(c *Conn) netip.AddrPort
}

// Ref names one generation of a connection, so that a delayed answer cannot
// reach a later connection that got the same Conn or the same descriptor.
type Ref struct {
	c   *Conn
	gen uint32
}

// Ref returns a reference to this generation of c.
func (c *Conn) Ref() Ref { return Ref{c, c.gen} }

// Conn returns the connection, or nil if it was closed since.
func (r Ref) Conn() *Conn {
	if r.c == nil || r.c.gen != r.gen {
		return nil
	}
	return r.c
}

// usable says whether the handler still owns c: neither closed nor broken.
func (c *Conn) usable() bool {
	return (c.state == stateOpen || c.state == stateConnecting) && !c.broken
}

// Write sends b, buffering what the socket does not take; b may be reused after
// the call. An error of the socket arrives as Failed, later.
func (c *Conn) Write(b []byte) {
	if len(b) > 0 && c.usable() && !c.writeClosed {
		c.loop.write(c, b)
	}
}

// CloseWrite half-closes c after what is buffered.
func (c *Conn) CloseWrite() {
	if c.usable() && !c.writeClosed {
		c.writeClosed = true
		c.loop.closeWrite(c)
	}
}

// Close closes c after what is buffered was handed to the kernel; no event
// follows. If bytes of the peer are still unread, the kernel answers with RST,
// which can cost the peer the end of an answer: see CloseGracefully.
func (c *Conn) Close() {
	if c.state == stateOpen || c.state == stateConnecting {
		c.loop.close(c)
	}
}

// CloseGracefully is how a server refuses to go on: it half-closes after what
// is buffered, reads and forgets a bounded amount until the peer closes too,
// and then closes. For the handler c is closed at once; no event follows.
func (c *Conn) CloseGracefully() {
	if c.state == stateOpen {
		c.loop.closeGracefully(c)
	} else {
		c.Close()
	}
}

// Reset closes c with RST (SO_LINGER 0); no event follows. What the kernel has
// taken still reaches the peer as a rule, what is buffered need not.
func (c *Conn) Reset() {
	if c.state == stateOpen || c.state == stateConnecting {
		c.loop.reset(c)
	}
}

// Buffered is the number of written bytes that wait for the socket.
func (c *Conn) Buffered() int { return c.loop.buffered(c) }

// PauseRead holds back Data and EOF, so that a peer that sends faster than it is
// served is stopped by TCP's own flow control. ResumeRead lets them come again,
// never from inside ResumeRead itself.
func (c *Conn) PauseRead() { c.paused = true }

// ResumeRead undoes PauseRead.
func (c *Conn) ResumeRead() {
	if c.paused {
		c.paused = false
		c.loop.resumeRead(c)
	}
}

// Local is the address of this end; the zero AddrPort when it is not known.
func (c *Conn) Local() netip.AddrPort { return c.loop.local(c) }

// Remote is the address of the peer; the zero AddrPort when it is not known.
func (c *Conn) Remote() netip.AddrPort { return c.loop.remote(c) }
