package evloop

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
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

// counted counts how often the loop goes round.
type counted struct {
	scripted
	rounds atomic.Int64
}

func (h *counted) Due(now clock.Time) clock.Time {
	h.rounds.Add(1)
	return h.scripted.Due(now)
}

// A loop with nothing to do does nothing: it waits in the kernel.
func TestIdleLoopSleeps(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		loop, err := New(kind)
		if err != nil {
			t.Fatal(err)
		}
		h := &counted{scripted: scripted{loop: loop, data: echo}}
		ln, err := loop.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- loop.Run(h) }()
		c := dial(t, ln.Addr())
		c.Write([]byte("x"))
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(600 * time.Millisecond) // until it has noticed that nothing comes
		before := h.rounds.Load()
		time.Sleep(100 * time.Millisecond)
		if n := h.rounds.Load() - before; n > 2 {
			t.Errorf("an idle loop went round %d times in 100 ms", n)
		}
		loop.Stop()
		if err := receive(t, ended); err != nil {
			t.Error(err)
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
