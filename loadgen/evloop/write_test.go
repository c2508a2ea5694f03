package evloop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"
)

// Whatever is written in one callback arrives once and in order, and what ends
// the connection comes behind it.
func TestWritesOfOneCallback(t *testing.T) {
	long := bytes.Repeat([]byte("long"), 5000)
	for name, end := range map[string]func(*Conn){
		"CloseWrite": (*Conn).CloseWrite, "Close": (*Conn).Close, "CloseGracefully": (*Conn).CloseGracefully,
	} {
		eachKind(t, func(t *testing.T, kind string) {
			h := &scripted{}
			h.data = func(c *Conn, _ []byte) {
				for i := range 5 {
					c.Write([]byte{byte('0' + i)})
				}
				c.Write(long)
				c.Write([]byte("end"))
				end(c)
			}
			addr, _ := serve(t, kind, h)
			c := dial(t, addr)
			c.Write([]byte("x"))
			want := "01234" + string(long) + "end"
			if got, err := io.ReadAll(c); string(got) != want || err != nil {
				t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(want), err)
			}
		})
	}
}

// Short writes into a socket that fills up: none is lost, doubled or overtaken.
func TestManyWritesToSlowReader(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		opened := make(chan *Conn, 1)
		h := &scripted{opened: func(c *Conn) { opened <- c }}
		addr, _ := serve(t, kind, h)
		client := dial(t, addr)
		c := receive(t, opened)
		const writes, size = 6000, 1500
		chunk := make([]byte, size)
		full := false
		for i := range writes {
			h.do(t, func() {
				binary.BigEndian.PutUint32(chunk, uint32(i))
				c.Write(chunk)
				full = full || c.Buffered() > 2*size
			})
		}
		if !full {
			t.Fatal("the socket never filled up")
		}
		h.do(t, c.Close)
		got, err := io.ReadAll(client)
		if err != nil || len(got) != writes*size {
			t.Fatalf("%d of %d bytes, %v", len(got), writes*size, err)
		}
		for i := range writes {
			if n := binary.BigEndian.Uint32(got[i*size:]); n != uint32(i) {
				t.Fatalf("write %d stands where %d belongs", n, i)
			}
		}
	})
}

// While reading is paused the peer is stopped by flow control; afterwards all
// comes, in order.
func TestPauseReadStopsTheSender(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		const size = 16 << 20
		opened, done := make(chan *Conn, 1), make(chan []byte, 1)
		var got []byte
		h := &scripted{
			opened: func(c *Conn) { opened <- c },
			data: func(c *Conn, b []byte) {
				if len(got) == 0 {
					c.PauseRead()
				}
				got = append(got, b...)
			},
			eof: func(c *Conn) { done <- got; c.Close() },
		}
		addr, _ := serve(t, kind, h)
		client := dial(t, addr)
		want := make([]byte, size)
		for i := range size / 4 {
			binary.LittleEndian.PutUint32(want[4*i:], uint32(i))
		}
		sent := make(chan error, 1)
		go func() {
			_, err := client.Write(want)
			client.CloseWrite()
			sent <- err
		}()
		c := receive(t, opened)
		select {
		case <-sent:
			t.Fatal("16 MiB went to a connection that does not read")
		case <-time.After(100 * time.Millisecond):
		}
		h.do(t, c.ResumeRead)
		if err := receive(t, sent); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, done); !bytes.Equal(got, want) {
			t.Fatalf("%d of %d bytes, or in another order", len(got), size)
		}
	})
}

// A connection that takes the place of a closed one hears nothing of what was on
// its way to that one.
func TestNothingOfTheConnectionBefore(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		number := 0
		// Every client is sent its number again and again.
		addr, _ := serve(t, kind, &scripted{opened: func(c *Conn) {
			number++
			for range 8 {
				c.Write(bytes.Repeat(fmt.Appendf(nil, "%08d", number), 400))
			}
		}})
		const rounds = 300
		client := &scripted{}
		seen, done := map[string]bool{}, make(chan struct{})
		client.data = func(c *Conn, b []byte) {
			mine, _ := c.Tag.(string)
			if mine == "" {
				mine = string(b[:min(8, len(b))])
				if seen[mine] {
					t.Errorf("a new connection begins with bytes of %s", mine)
				}
				seen[mine] = true
				c.Tag = mine
			}
			if !bytes.Contains(b, []byte(mine)) && len(b) >= 16 {
				t.Errorf("connection %s is sent %q", mine, b[:16])
			}
			// In the middle of what is coming.
			if len(seen)%2 == 0 {
				c.Close()
			} else {
				c.Reset()
			}
			if len(seen) == rounds {
				close(done)
			} else if len(seen) < rounds {
				client.loop.Dial(addr, netip.Addr{})
			}
		}
		client.failed = func(_ *Conn, err error) { t.Errorf("client: %v", err) }
		start(t, kind, client, nil)
		client.do(t, func() {
			for range 10 {
				client.loop.Dial(addr, netip.Addr{})
			}
		})
		receive(t, done)
	})
}
