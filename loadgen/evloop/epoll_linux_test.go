package evloop

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loomlab/clock"
)

// An event costs no allocation, and neither does a connection that comes and
// goes once the loop has seen as many before.
func TestNoAllocationPerEvent(t *testing.T) {
	addr, _ := serve(t, "epoll", &scripted{data: echo, eof: (*Conn).Close})
	sa := &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	connect := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Connect(fd, sa); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	b := make([]byte, 16)
	ping := func(fd int) {
		if _, err := unix.Write(fd, b); err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(fd, b); n != len(b) || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
	}
	fd := connect()
	defer unix.Close(fd)
	if n := testing.AllocsPerRun(1000, func() { ping(fd) }); n > 0 {
		t.Errorf("%v allocations per event", n)
	}
	if n := testing.AllocsPerRun(200, func() {
		fd := connect()
		ping(fd)
		unix.Close(fd)
	}); n > 0 {
		t.Errorf("%v allocations per connection", n)
	}
}

// What is accepted inherits TCP_NODELAY from the listener; Dial sets it.
func TestNoDelayIsOn(t *testing.T) {
	seen := make(chan int, 2)
	opened := func(c *Conn) {
		v, err := unix.GetsockoptInt(int(c.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY)
		if err != nil {
			t.Error(err)
		}
		seen <- v
	}
	addr, _ := serve(t, "epoll", &scripted{opened: opened})
	client := &scripted{opened: opened}
	start(t, "epoll", client, nil)
	client.do(t, func() { client.loop.Dial(addr, netip.Addr{}) })
	if a, b := receive(t, seen), receive(t, seen); a == 0 || b == 0 {
		t.Errorf("TCP_NODELAY is %d and %d", a, b)
	}
}

// Kernels before 5.11 have no epoll_pwait2.
func TestOldKernelPoll(t *testing.T) {
	loop, err := newEpoll()
	if err != nil {
		t.Fatal(err)
	}
	l := loop.(*epollLoop)
	defer l.closeAll()
	p := poller{old: true}
	now := clock.Now()
	next := now.Add(2500 * time.Microsecond)
	if n, err := p.wait(l.epfd, l.events[:], now, next); n != 0 || err != nil {
		t.Fatalf("%d events, %v", n, err)
	}
	if early := next.Sub(clock.Now()); early > 0 {
		t.Errorf("woke %v early", early)
	}
	l.Wake()
	if n, err := p.wait(l.epfd, l.events[:], now, clock.Never); n != 1 || err != nil {
		t.Fatalf("%d events, %v", n, err)
	}
}

// A connection that sends without end must not keep the others waiting.
func TestBusyConnectionLetsOthersIn(t *testing.T) {
	h := &scripted{data: func(c *Conn, b []byte) {
		if len(b) == 1 {
			c.Write(b)
		}
	}}
	addr, _ := serve(t, "epoll", h)
	busy := dial(t, addr)
	stop := make(chan struct{})
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		chunk := make([]byte, 1<<20)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := busy.Write(chunk); err != nil {
				return
			}
		}
	}()
	other := dial(t, addr)
	for range 20 {
		other.Write([]byte("x"))
		if _, err := other.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-flooded
}

// A connection that breaks while the handler waits with its answer to a
// half-closed client, or does not want to read, is reported all the same.
func TestBreakIsSeenWithoutReading(t *testing.T) {
	ended, failed := make(chan struct{}, 1), make(chan error, 1)
	h := &scripted{
		data:   func(c *Conn, _ []byte) { c.PauseRead(); ended <- struct{}{} },
		eof:    func(*Conn) { ended <- struct{}{} },
		failed: func(_ *Conn, err error) { failed <- err },
	}
	addr, _ := serve(t, "epoll", h)
	for name, quiet := range map[string]func(c *net.TCPConn){
		"half-closed": func(c *net.TCPConn) { c.CloseWrite() },
		"paused":      func(c *net.TCPConn) { c.Write([]byte("x")) },
	} {
		c := dial(t, addr)
		quiet(c)
		receive(t, ended)
		if name == "paused" { // what comes now is not read
			c.Write([]byte("y"))
			time.Sleep(20 * time.Millisecond)
		}
		c.SetLinger(0)
		c.Close()
		// A FIN that was taken already leaves nothing to reset but the pipe.
		if err := receive(t, failed); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s: Failed brought %v", name, err)
		}
	}
}
