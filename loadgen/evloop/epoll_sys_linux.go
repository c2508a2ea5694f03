package evloop

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls on non-blocking sockets return at once, so they go to the kernel
// without telling the Go scheduler (RawSyscall): that saves about 60 ns each and,
// more important, never hands the loop's processor to another thread.
//
// recvfrom and sendto skip the file layer that read and write pass through, and
// MSG_NOSIGNAL spares the SIGPIPE of a broken connection.

// recv reads into b. It returns -1 and an error (EAGAIN: nothing there) or the
// number of bytes; 0 is the peer's end.
func recv(fd int32, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != syscall.EINTR {
			return -1, errno
		}
	}
}

// send writes b and returns how much the socket took, with EAGAIN when that was
// not all of it.
func send(fd int32, b []byte) (int, syscall.Errno) {
	sent := 0
	for sent < len(b) {
		rest := b[sent:]
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)), unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			sent += int(n)
		} else if errno != syscall.EINTR {
			return sent, errno
		}
	}
	return sent, 0
}

// closeFD closes a descriptor. An error of close has no consequence here, and
// after EINTR the descriptor is gone on Linux.
func closeFD(fd int32) { syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// pollNow fetches what is ready without waiting.
func pollNow(epfd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return pollResult(n, errno)
}

// pollHeld is pollWait without telling the scheduler: for short waits only.
func pollHeld(epfd int, events []unix.EpollEvent, timeout *unix.Timespec) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
	return pollResult(n, errno)
}

// pollWait is epoll_pwait2: it waits until timeout (nil: for ever).
func pollWait(epfd int, events []unix.EpollEvent, timeout *unix.Timespec) (int, error) {
	n, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
	return pollResult(n, errno)
}

// pollOld waits with ppoll on the epoll descriptor, which knows nanoseconds on
// every kernel, and then fetches.
func pollOld(epfd int, events []unix.EpollEvent, timeout *unix.Timespec) (int, error) {
	fds := []unix.PollFd{{Fd: int32(epfd), Events: unix.POLLIN}}
	if _, err := unix.Ppoll(fds, timeout, nil); err != nil && err != syscall.EINTR {
		return 0, err
	}
	return pollNow(epfd, events)
}

func pollResult(n uintptr, errno syscall.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		return 0, nil
	}
	return 0, errno
}

func wrap(call string, err error) error { return os.NewSyscallError(call, err) }
