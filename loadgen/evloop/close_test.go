package evloop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestHalfClosedClientGetsAnswer(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{eof: func(c *Conn) {
			c.Write([]byte("late answer"))
			c.Close()
		}})
		c := dial(t, addr)
		c.Write([]byte("question"))
		c.CloseWrite()
		if got, err := io.ReadAll(c); string(got) != "late answer" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
	})
}

func TestCloseWriteThenReadOn(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		got := make(chan string, 1)
		h := &scripted{
			opened: func(c *Conn) { c.Write([]byte("bye")); c.CloseWrite(); c.Write([]byte("ignored")) },
			data:   func(_ *Conn, b []byte) { got <- string(b) },
		}
		addr, _ := serve(t, kind, h)
		c := dial(t, addr)
		if b, err := io.ReadAll(c); string(b) != "bye" || err != nil {
			t.Fatalf("got %q, %v", b, err)
		}
		c.Write([]byte("still here"))
		if s := receive(t, got); s != "still here" {
			t.Fatalf("got %q", s)
		}
	})
}

func TestResetIsSeenOnBothSides(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		failed := make(chan error, 1)
		h := &scripted{
			data:   func(c *Conn, _ []byte) { c.Reset() },
			failed: func(_ *Conn, err error) { failed <- err },
		}
		addr, _ := serve(t, kind, h)

		ours := dial(t, addr)
		ours.Write([]byte("x"))
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after Reset the client saw %v", err)
		}
		theirs := dial(t, addr)
		theirs.SetLinger(0)
		theirs.Close()
		if err := receive(t, failed); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after the client's reset Failed brought %v", err)
		}
	})
}

// A Ref to a closed connection is nil although a later connection got the same
// Conn (and on epoll the same descriptor).
func TestStaleRef(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		opened := make(chan *Conn, 1)
		closed := make(chan struct{}, 1)
		h := &scripted{
			opened: func(c *Conn) { opened <- c },
			eof:    func(c *Conn) { c.Close(); closed <- struct{}{} },
		}
		addr, _ := serve(t, kind, h)

		first := dial(t, addr)
		c1 := receive(t, opened)
		var ref Ref
		var fd1 int32
		h.do(t, func() { ref, fd1 = c1.Ref(), c1.fd; c1.Tag = "first" })
		first.Close()
		receive(t, closed)

		dial(t, addr)
		c2 := receive(t, opened)
		h.do(t, func() {
			if c1 != c2 || fd1 != c2.fd {
				t.Errorf("the second connection should reuse Conn and descriptor: %p %p, %d %d", c1, c2, fd1, c2.fd)
			}
			if ref.Conn() != nil {
				t.Error("the stale Ref leads to the new connection")
			}
			if c2.Tag != nil {
				t.Errorf("the new connection has the tag %v", c2.Tag)
			}
			if c2.Ref().Conn() != c2 {
				t.Error("a fresh Ref does not lead to its connection")
			}
		})
		if (Ref{}).Conn() != nil {
			t.Error("the zero Ref leads somewhere")
		}
	})
}

func TestHugeWriteToSlowReader(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		const size = 20 << 20
		pattern := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		h := &scripted{opened: func(c *Conn) {
			c.Write(pattern[:size/2])
			c.Write(pattern[size/2:])
			if c.Buffered() == 0 {
				t.Error("the socket took 20 MiB at once")
			}
			c.Close() // must not lose what is buffered
		}}
		addr, _ := serve(t, kind, h)
		c := dial(t, addr)
		time.Sleep(50 * time.Millisecond) // let the socket fill
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, pattern) {
			t.Fatalf("%d of %d bytes, %v, equal %v", len(got), size, err, bytes.Equal(got, pattern))
		}
	})
}

// A server that answers and refuses the rest must not lose its answer to the RST
// that an ordinary close with unread data causes.
func TestCloseGracefullyKeepsAnswer(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		h := &scripted{data: func(c *Conn, _ []byte) {
			c.Write([]byte("too much"))
			c.CloseGracefully()
			if c.Ref().Conn() == nil {
				t.Error("a Ref made now should be of the present generation")
			}
			c.Write([]byte("ignored"))
			c.Close()
		}}
		addr, _ := serve(t, kind, h)
		for range 20 {
			c := dial(t, addr)
			sent := make(chan error, 1)
			go func() {
				_, err := c.Write(make([]byte, 1<<20))
				c.CloseWrite()
				sent <- err
			}()
			if err := receive(t, sent); err != nil {
				t.Fatalf("write: %v", err)
			}
			if got, err := io.ReadAll(c); string(got) != "too much" || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
		}
	})
}

// Stop and Wake come from anywhere, any number of times, also after the end.
func TestStopFromElsewhere(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		h := &scripted{data: echo}
		loop, err := New(kind)
		if err != nil {
			t.Fatal(err)
		}
		h.loop = loop
		ln, err := loop.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- loop.Run(h) }()
		clients := []*net.TCPConn{dial(t, ln.Addr()), dial(t, ln.Addr())}
		for _, c := range clients { // both are accepted
			c.Write([]byte("x"))
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { loop.Wake(); loop.Stop(); loop.Wake() })
		}
		group.Wait()
		if err := receive(t, ended); err != nil {
			t.Fatal(err)
		}
		loop.Stop()
		loop.Wake()
		for _, c := range clients {
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("a connection survived Stop")
			}
		}
		if _, err := net.DialTimeout("tcp", ln.Addr().String(), patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the listener survived Stop: %v", err)
		}
	})
}
