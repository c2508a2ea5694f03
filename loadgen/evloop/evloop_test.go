package evloop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"loomlab/clock"
)

const patience = 10 * time.Second // for what should take milliseconds

// scripted is a Handler made of functions; nil ones do nothing. Functions given
// to do run on the loop.
type scripted struct {
	loop   Loop
	opened func(*Conn)
	data   func(*Conn, []byte)
	eof    func(*Conn)
	failed func(*Conn, error)

	mu   sync.Mutex
	todo []func()
}

func (h *scripted) Due(clock.Time) clock.Time {
	h.mu.Lock()
	todo := h.todo
	h.todo = nil
	h.mu.Unlock()
	for _, f := range todo {
		f()
	}
	return clock.Never
}

func (h *scripted) Opened(c *Conn) {
	if h.opened != nil {
		h.opened(c)
	}
}

func (h *scripted) Data(c *Conn, b []byte) {
	if h.data != nil {
		h.data(c, b)
	}
}

func (h *scripted) EOF(c *Conn) {
	if h.eof != nil {
		h.eof(c)
	} else {
		c.Close()
	}
}

func (h *scripted) Failed(c *Conn, err error) {
	if h.failed != nil {
		h.failed(c, err)
	}
}

// do runs f on the loop and waits for its end.
func (h *scripted) do(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	h.mu.Lock()
	h.todo = append(h.todo, func() { f(); close(done) })
	h.mu.Unlock()
	h.loop.Wake()
	receive(t, done)
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// eachKind runs f with both implementations where there are two.
func eachKind(t *testing.T, f func(t *testing.T, kind string)) {
	for _, kind := range []string{"epoll", "portable"} {
		if kind == "epoll" && !haveEpoll {
			continue
		}
		t.Run(kind, func(t *testing.T) { f(t, kind) })
	}
}

// serve runs h on a loop that listens, until the test ends.
func serve(t *testing.T, kind string, h *scripted) (addr netip.AddrPort, ln Listener) {
	t.Helper()
	start(t, kind, h, func() {
		var err error
		ln, err = h.loop.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 0, false)
		if err != nil {
			t.Fatal(err)
		}
	})
	return ln.Addr(), ln
}

// start runs h on a new loop until the test ends.
func start(t *testing.T, kind string, h *scripted, before func()) {
	t.Helper()
	loop, err := New(kind)
	if err != nil {
		t.Fatal(err)
	}
	if loop.Kind() != kind {
		t.Fatalf("got a loop of kind %q", loop.Kind())
	}
	h.loop = loop
	if before != nil {
		before()
	}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(h) }()
	t.Cleanup(func() {
		loop.Stop()
		if err := receive(t, ended); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func dial(t *testing.T, addr netip.AddrPort) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr.String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

func echo(c *Conn, b []byte) { c.Write(b) }

func TestEcho(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{data: echo})
		c := dial(t, addr)
		for _, size := range []int{1, 100, 70_000} {
			want := bytes.Repeat([]byte{'x', byte(size)}, size)
			go c.Write(want)
			got := make([]byte, len(want))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes: %v, equal %v", len(want), err, bytes.Equal(got, want))
			}
		}
	})
}

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

func TestPauseReadHoldsBackDataAndEnd(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		got := make(chan string, 10)
		opened := make(chan *Conn, 1)
		h := &scripted{
			opened: func(c *Conn) { c.PauseRead(); opened <- c },
			data:   func(_ *Conn, b []byte) { got <- string(b) },
			eof:    func(c *Conn) { got <- "EOF"; c.Close() },
		}
		addr, _ := serve(t, kind, h)
		client := dial(t, addr)
		c := receive(t, opened)
		client.Write([]byte("hello"))
		client.CloseWrite()
		select {
		case s := <-got:
			t.Fatalf("while paused came %q", s)
		case <-time.After(50 * time.Millisecond):
		}
		h.do(t, c.ResumeRead)
		if a, b := receive(t, got), receive(t, got); a != "hello" || b != "EOF" {
			t.Fatalf("after ResumeRead came %q and %q", a, b)
		}
	})
}

func TestThousandsOfConnections(t *testing.T) {
	const n = 2000
	needDescriptors(t, 2*n+200)
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{data: echo})

		answered := make(chan int, 1)
		count, failed := 0, 0
		client := &scripted{
			opened: func(c *Conn) { c.Write([]byte("ping")) },
			failed: func(_ *Conn, err error) { failed++; t.Errorf("client: %v", err) },
		}
		client.data = func(c *Conn, b []byte) {
			c.Tag = string(b)
			if count++; count == n {
				answered <- failed
			}
		}
		start(t, kind, client, nil)
		client.do(t, func() {
			for range n {
				client.loop.Dial(addr, netip.Addr{})
			}
		})
		receive(t, answered)
	})
}

func TestDialRefused(t *testing.T) {
	// A port that was just closed on this host is refused.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().(*net.TCPAddr).AddrPort()
	ln.Close()
	eachKind(t, func(t *testing.T, kind string) {
		failed := make(chan error, 1)
		inside := false
		h := &scripted{failed: func(c *Conn, err error) {
			if inside {
				t.Error("Failed came from inside Dial")
			}
			if c.Tag != "mine" {
				t.Errorf("Failed came with tag %v", c.Tag)
			}
			failed <- err
		}}
		start(t, kind, h, nil)
		h.do(t, func() {
			inside = true
			h.loop.Dial(addr, netip.Addr{}).Tag = "mine"
			inside = false
		})
		if err := receive(t, failed); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("got %v", err)
		}
	})
}

// An address that this host does not have stands for EADDRNOTAVAIL, the errno of
// exhausted local ports.
func TestDialFromForeignAddress(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{})
		failed := make(chan error, 1)
		h := &scripted{failed: func(_ *Conn, err error) { failed <- err }}
		start(t, kind, h, nil)
		h.do(t, func() { h.loop.Dial(addr, netip.MustParseAddr("192.0.2.1")) })
		if err := receive(t, failed); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestDialSourceAndAddresses(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		source := netip.MustParseAddr("127.0.0.1")
		if haveEpoll { // Linux has all of 127.0.0.0/8
			source = netip.MustParseAddr("127.0.0.77")
		}
		seen := make(chan netip.AddrPort, 1)
		addr, _ := serve(t, kind, &scripted{opened: func(c *Conn) { seen <- c.Remote() }})
		local := make(chan netip.AddrPort, 1)
		h := &scripted{opened: func(c *Conn) {
			if c.Remote() != addr {
				t.Errorf("Remote is %v, want %v", c.Remote(), addr)
			}
			local <- c.Local()
		}}
		start(t, kind, h, nil)
		h.do(t, func() { h.loop.Dial(addr, source) })
		got, mine := receive(t, seen), receive(t, local)
		if got.Addr() != source || got != mine {
			t.Fatalf("the server saw %v, the client is %v, want address %v", got, mine, source)
		}
	})
}

// What is written before the connection stands is sent once it does.
func TestWriteBeforeOpened(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		got := make(chan string, 1)
		addr, _ := serve(t, kind, &scripted{data: func(_ *Conn, b []byte) { got <- string(b) }})
		h := &scripted{}
		start(t, kind, h, nil)
		h.do(t, func() { h.loop.Dial(addr, netip.Addr{}).Write([]byte("early")) })
		if s := receive(t, got); s != "early" {
			t.Fatalf("got %q", s)
		}
	})
}

func TestDialThenCloseAtOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{})
		h := &scripted{
			opened: func(*Conn) { t.Error("Opened came for a closed connection") },
			failed: func(_ *Conn, err error) { t.Errorf("Failed came for a closed connection: %v", err) },
		}
		start(t, kind, h, nil)
		h.do(t, func() {
			h.loop.Dial(addr, netip.Addr{}).Close()
			h.loop.Dial(addr, netip.Addr{}).Reset()
		})
		time.Sleep(20 * time.Millisecond)
		h.do(t, func() {}) // the loop is alive and had its chance
	})
}

func TestIPv6(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		h := &scripted{data: echo}
		var ln Listener
		start(t, kind, h, func() {
			var err error
			if ln, err = h.loop.Listen(netip.MustParseAddrPort("[::1]:0"), 0, false); err != nil {
				t.Skipf("NO IPv6 HERE, not tested: %v", err)
			}
		})
		got := make(chan string, 1)
		client := &scripted{
			opened: func(c *Conn) { c.Write([]byte("six")) },
			data:   func(_ *Conn, b []byte) { got <- string(b) },
		}
		start(t, kind, client, nil)
		client.do(t, func() { client.loop.Dial(ln.Addr(), netip.Addr{}) })
		if s := receive(t, got); s != "six" {
			t.Fatalf("got %q", s)
		}
	})
}

func TestListenerPauseResumeClose(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		opened := make(chan struct{}, 10)
		h := &scripted{opened: func(*Conn) { opened <- struct{}{} }}
		addr, ln := serve(t, kind, h)
		h.do(t, ln.Pause)
		dial(t, addr) // connects: the backlog takes it
		select {
		case <-opened:
			t.Fatal("accepted while paused")
		case <-time.After(50 * time.Millisecond):
		}
		h.do(t, ln.Resume)
		receive(t, opened)

		h.do(t, ln.Close)
		if _, err := net.DialTimeout("tcp", addr.String(), patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("after Close a dial gives %v", err)
		}
		h.do(t, func() { // the port is free again
			again, err := h.loop.Listen(addr, 5, false)
			if err != nil || again.Addr() != addr {
				t.Errorf("Listen again: %v", err)
			}
		})
		dial(t, addr)
		receive(t, opened)
	})
}

func TestListenOnTakenPort(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{})
		h := &scripted{}
		start(t, kind, h, func() {
			if _, err := h.loop.Listen(addr, 0, false); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestReusePort(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		a, b := &scripted{}, &scripted{}
		var addr netip.AddrPort
		listen := func(h *scripted, on string) func() {
			return func() {
				if addr.IsValid() {
					on = addr.String()
				}
				ln, err := h.loop.Listen(netip.MustParseAddrPort(on), 0, true)
				if err != nil {
					t.Fatal(err)
				}
				addr = ln.Addr()
			}
		}
		start(t, kind, a, listen(a, "127.0.0.1:0"))
		start(t, kind, b, listen(b, ""))
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

func TestWakeCallsDue(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		h := &scripted{}
		start(t, kind, h, nil)
		for i := range 100 {
			ran := false
			h.do(t, func() { ran = true })
			if !ran {
				t.Fatalf("round %d: Due was not called", i)
			}
		}
	})
}

// timed is a handler with one appointment after another.
type timed struct {
	scripted
	at   clock.Time
	seen chan time.Duration
}

func (h *timed) Due(now clock.Time) clock.Time {
	if now >= h.at {
		select {
		case h.seen <- now.Sub(h.at):
		default:
		}
		h.at = now.Add(3 * time.Millisecond)
	}
	return h.at
}

func TestDueIsNeverEarlyAndComes(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		loop, err := New(kind)
		if err != nil {
			t.Fatal(err)
		}
		h := &timed{at: clock.Now().Add(5 * time.Millisecond), seen: make(chan time.Duration)}
		ended := make(chan error, 1)
		go func() { ended <- loop.Run(h) }()
		for range 20 {
			if late := receive(t, h.seen); late < 0 {
				t.Fatalf("called %v early", -late)
			}
		}
		loop.Stop()
		receive(t, ended)
	})
}

// A handler may close the connection, dial and write in every callback.
func TestReconnectFromCallbacks(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		addr, _ := serve(t, kind, &scripted{data: func(c *Conn, b []byte) { c.Write(b); c.CloseGracefully() }})
		done := make(chan struct{})
		client := &scripted{}
		rounds := 0
		again := func() { client.loop.Dial(addr, netip.Addr{}) }
		client.opened = func(c *Conn) { c.Write([]byte("once")) }
		client.eof = func(c *Conn) {
			c.Close()
			if rounds++; rounds == 200 {
				close(done)
			} else if rounds < 200 {
				again()
			}
		}
		client.failed = func(_ *Conn, err error) { t.Errorf("client: %v", err) }
		start(t, kind, client, nil)
		client.do(t, again)
		receive(t, done)
	})
}

// Whoever dials again at once when a dial fails must not stop the loop.
func TestRedialWithoutEnd(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().(*net.TCPAddr).AddrPort()
	ln.Close()
	eachKind(t, func(t *testing.T, kind string) {
		h := &scripted{}
		failures := 0
		h.failed = func(*Conn, error) {
			failures++
			h.loop.Dial(addr, netip.Addr{})
		}
		start(t, kind, h, nil)
		h.do(t, func() { h.loop.Dial(addr, netip.Addr{}) })
		for seen := 0; seen < 100; {
			h.do(t, func() { seen = failures })
		}
	})
}

func TestUnknownKind(t *testing.T) {
	if _, err := New("kqueue"); err == nil {
		t.Fatal("an unknown kind was accepted")
	}
	for _, kind := range Kinds {
		loop, err := New(kind)
		if err != nil {
			if kind == "epoll" && !haveEpoll {
				continue
			}
			t.Fatal(err)
		}
		loop.Stop()
		if err := loop.Run(&scripted{}); err != nil {
			t.Fatal(err)
		}
	}
}

func ExampleLoop() {
	loop, err := New("auto")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := &scripted{loop: loop, data: echo}
	ln, err := loop.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 0, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		defer loop.Stop()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(c, "hello")
		b := make([]byte, 5)
		io.ReadFull(c, b)
		fmt.Printf("%s\n", b)
	}()
	if err := loop.Run(h); err != nil {
		fmt.Println(err)
	}
	// Output: hello
}
