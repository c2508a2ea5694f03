package evloop

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loomlab/clock"
)

// poller waits for events with nanosecond timeouts.
type poller struct {
	// old is set on kernels before 5.11 (and sandboxes) without epoll_pwait2.
	old bool
	// active is when the last events came.
	active clock.Time
}

// heldTime is how long after the last event the loop still waits without telling
// the Go scheduler.
//
// Telling it (entersyscall) costs little by itself. But when the wait outlives a
// few µs, the scheduler's monitor thread takes the loop's processor away and goes
// to sleep; the loop's return wakes it, and it then looks every 20 µs for a while:
// measured as 30 % on top of a loop's own CPU. So while there is traffic the
// scheduler is not told. Its monitor then looks every 10 ms and interrupts the
// wait with a signal, as does a garbage collection that needs the processor.
// An idle loop tells the scheduler and costs nothing. See ownProcessor for the
// rest of the bargain.
const heldTime = clock.Time(300 * time.Millisecond)

// wait returns the number of events that arrived by next.
func (p *poller) wait(epfd int, events []unix.EpollEvent, now, next clock.Time) (n int, err error) {
	switch {
	case next <= now:
		n, err = pollNow(epfd, events)
	case p.old:
		n, err = pollOld(epfd, events, timespec(next-now))
	case now-p.active < heldTime && processorsToSpare():
		n, err = pollHeld(epfd, events, timespec(min(next-now, heldTime)))
	default:
		n, err = pollWait(epfd, events, timespec(next-now))
	}
	if err == syscall.ENOSYS && !p.old {
		p.old = true
		return p.wait(epfd, events, now, next)
	}
	if n > 0 {
		p.active = clock.Now()
	}
	return n, err
}

// timespec is a timeout; what Never leaves is none.
func timespec(left clock.Time) *unix.Timespec {
	if left > clock.Never/2 {
		return nil
	}
	ts := unix.NsecToTimespec(int64(left))
	return &ts
}

// ownProcessor gives a loop a processor (in the sense of GOMAXPROCS) of its own,
// so that its held waits take none from other goroutines. The kernel still
// decides who runs on the real ones.
func ownProcessor() (giveBack func()) {
	add := func(n int) {
		processors.Lock()
		defer processors.Unlock()
		runningLoops.Add(int32(n))
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)+n))
	}
	add(1)
	return func() { add(-1) }
}

var (
	processors   sync.Mutex // makes what ownProcessor does one step
	runningLoops atomic.Int32
)

// processorsToSpare says whether other goroutines can run while all loops hold
// theirs. Somebody may have lowered GOMAXPROCS, as testing.AllocsPerRun does.
func processorsToSpare() bool { return runtime.GOMAXPROCS(0) > int(runningLoops.Load()) }

// setTimerSlack sets the slack of this thread and returns what restores it.
func setTimerSlack(ns uintptr) (restore func()) {
	old, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_TIMERSLACK, 0, 0)
	if errno != 0 {
		return func() {}
	}
	unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, ns, 0)
	return func() { unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, old, 0) }
}

// timerSlack is how late the kernel may wake this thread to save energy; the
// default of 50 µs would be a systematic lateness of every delay.
const timerSlack = 1000 // ns
