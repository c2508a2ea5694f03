package evloop

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

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
