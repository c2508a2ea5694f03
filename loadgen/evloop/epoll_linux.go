package evloop

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"loomlab/clock"
)

const haveEpoll = true

const (
	// Connections are registered once, edge-triggered, for both directions: no
	// epoll_ctl per event, and the kernel does not look at a connection again
	// after it was reported. An edge can be missed only by reading too little:
	// see readable.
	connEvents = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff
	// pollEvents is how many events one poll fetches. What is due has its turn after
	// each poll: at some 5 µs an event, 64 make it wait for a third of a millisecond.
	pollEvents = 64
	// wakeSlot and listenSlot stand in the events of what is no connection;
	// listeners count down from listenSlot.
	wakeSlot   = -1
	listenSlot = -2
	// readRounds is how many full buffers one connection may deliver before the
	// others have their turn.
	readRounds = 4
)

// epollLoop is the Linux implementation.
type epollLoop struct {
	handler Handler
	epfd    int
	conns   []*Conn // by slot; free ones stay here for reuse
	free    []int32 // slots that can be reused
	retired []int32 // slots closed during this round, free when it ends
	broken  []brokenConn
	unread  []Ref // connections with more to read, or just resumed
	unread2 []Ref // the spare of unread
	lingers []linger
	listens []*epollListener // nil where one was closed
	buf     []byte
	spare   [][]byte // emptied out-buffers
	events  [pollEvents]unix.EpollEvent
	poll    poller

	stopped atomic.Bool
	woken   atomic.Bool // a wake-up is on its way already
	mu      sync.Mutex  // guards wakefd against Wake after the end
	wakefd  int         // eventfd; -1 once closed
}

// brokenConn is a connection whose failure the handler has yet to hear of.
type brokenConn struct {
	ref Ref
	err error
}

// linger is a connection that its handler closed and that has not ended yet.
type linger struct {
	ref      Ref
	deadline clock.Time
	left     int // unsent bytes when the deadline was set
}

func newEpoll() (Loop, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, wrap("epoll_create1", err)
	}
	wakefd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epfd)
		return nil, wrap("eventfd", err)
	}
	l := &epollLoop{epfd: epfd, wakefd: wakefd, buf: make([]byte, readBuffer)}
	if err := l.control(unix.EPOLL_CTL_ADD, wakefd, unix.EPOLLIN, wakeSlot, 0); err != nil {
		unix.Close(epfd)
		unix.Close(wakefd)
		return nil, wrap("epoll_ctl", err)
	}
	return l, nil
}

func (l *epollLoop) Kind() string { return "epoll" }

func (l *epollLoop) Stop() {
	l.stopped.Store(true)
	l.signal()
}

func (l *epollLoop) Wake() {
	if l.woken.CompareAndSwap(false, true) {
		l.signal()
	}
}

func (l *epollLoop) signal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wakefd >= 0 {
		// The only possible failure is a full counter, which wakes as well.
		_, _ = unix.Write(l.wakefd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// Run is the loop: what is due, then what arrived.
func (l *epollLoop) Run(h Handler) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer setTimerSlack(timerSlack)()
	defer ownProcessor()()
	defer l.closeAll()
	l.handler = h
	for !l.stopped.Load() {
		l.readAgain()
		l.deliverBroken()
		l.retire()
		now := clock.Now()
		next := min(h.Due(now), l.houseKeeping(now))
		if len(l.unread) > 0 || len(l.broken) > 0 {
			next = now // left behind by Due
		}
		// Due may have worked for a while: waiting is measured from here.
		n, err := l.poll.wait(l.epfd, l.events[:], clock.Now(), next)
		if err != nil {
			return wrap("epoll_pwait2", err)
		}
		for i := range l.events[:n] {
			l.dispatch(&l.events[i])
		}
	}
	return nil
}

// dispatch hands one event to whom it concerns. Events carry the generation of
// their connection, so one that outlived its connection is dropped.
func (l *epollLoop) dispatch(ev *unix.EpollEvent) {
	if ev.Fd < 0 {
		if ev.Fd == wakeSlot {
			l.woken.Store(false)
			var b [8]byte
			_, _ = unix.Read(l.wakefd, b[:])
		} else if ln := l.listens[listenSlot-ev.Fd]; ln != nil {
			ln.accept()
		}
		return
	}
	c := l.conns[ev.Fd]
	if c.gen != uint32(ev.Pad) {
		return
	}
	switch c.state {
	case stateOpen:
		l.ready(c, ev.Events)
	case stateConnecting:
		l.connected(c, ev.Events)
	case stateFlushing, stateLingering:
		l.lingerReady(c)
	}
}

// houseKeeping ends lingering connections whose time is up and lets resting
// listeners accept again. It returns when it has to be called next.
func (l *epollLoop) houseKeeping(now clock.Time) clock.Time {
	next := clock.Never
	over := 0
	for ; over < len(l.lingers) && l.lingers[over].deadline <= now; over++ {
		if c := l.lingers[over].ref.Conn(); c != nil {
			l.lingerDue(c, l.lingers[over].left, now)
		}
	}
	if over > 0 {
		l.lingers = l.lingers[:copy(l.lingers, l.lingers[over:])]
	}
	if len(l.lingers) > 0 {
		next = l.lingers[0].deadline
	}
	for _, ln := range l.listens {
		if ln == nil || ln.restUntil == 0 {
			continue
		}
		if ln.restUntil <= now {
			ln.restUntil = 0
			ln.update()
		} else {
			next = min(next, ln.restUntil)
		}
	}
	return next
}

// deliverBroken tells the handler of connections that failed while it was
// writing to them, unless it has closed them since.
func (l *epollLoop) deliverBroken() {
	// Failed may add more, by dialling what fails at once: the next round's.
	n := len(l.broken)
	for i := range n {
		if c := l.broken[i].ref.Conn(); c != nil {
			l.fail(c, l.broken[i].err)
		}
	}
	l.broken = l.broken[:copy(l.broken, l.broken[n:])]
}

// retire frees the connections that ended in this round. Not before: a handler
// may still look at a Conn that it has just closed.
func (l *epollLoop) retire() {
	for _, slot := range l.retired {
		c := l.conns[slot]
		c.Tag = nil
		l.free = append(l.free, slot)
	}
	l.retired = l.retired[:0]
}

func (l *epollLoop) closeAll() {
	for _, c := range l.conns {
		if c.state != stateFree {
			l.destroy(c)
		}
	}
	for _, ln := range l.listens {
		if ln != nil {
			ln.Close()
		}
	}
	l.conns, l.free, l.retired, l.unread, l.lingers = nil, nil, nil, nil, nil
	l.mu.Lock()
	defer l.mu.Unlock()
	unix.Close(l.wakefd)
	l.wakefd = -1
	unix.Close(l.epfd)
}

// control is epoll_ctl with our slot and generation as the event's data.
func (l *epollLoop) control(op, fd int, events uint32, slot int32, gen uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: slot, Pad: int32(gen)}
	return unix.EpollCtl(l.epfd, op, fd, &ev)
}
