package evloop

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

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
