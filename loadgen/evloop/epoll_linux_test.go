package evloop

import (
	"net/netip"
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
