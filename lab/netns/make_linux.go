package netns

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// New makes a network namespace with loopback up and the given settings.
func New(sysctl map[string]string) (*Namespace, error) {
	var n *Namespace
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			if errors.Is(err, unix.EPERM) {
				return errors.New("a network namespace of its own takes root (CAP_SYS_ADMIN)")
			}
			return fmt.Errorf("cannot make a network namespace: %w", err)
		}
		if err := loopbackUp(); err != nil {
			return fmt.Errorf("cannot bring up loopback in a network namespace: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(sysctl)) {
			if err := setSysctl(name, sysctl[name]); err != nil {
				return err
			}
		}
		file, err := os.Open(threadNetns)
		n = &Namespace{file}
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// threadNetns is the namespace of the calling thread.
const threadNetns = "/proc/thread-self/ns/net"

// Open opens an existing namespace by its file. The error wraps none: it
// must not look like one about a command that is started there.
func Open(path string) (*Namespace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %v", Name(path), errors.Unwrap(err))
	}
	return &Namespace{file}, nil
}

// Enter calls f on a thread in the namespace. Sockets that f makes and processes
// that it forks are in it.
func (n *Namespace) Enter(f func() error) error {
	if n == nil {
		return f()
	}
	return onOwnThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("cannot enter the network namespace: %w", err)
		}
		return f()
	})
}

// onOwnThread calls f on a thread that may be moved to another namespace, and
// moves it back. A thread that cannot be moved back serves nobody any more: it
// ends with its goroutine.
func onOwnThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(threadNetns)
		if err != nil {
			result <- err
			runtime.UnlockOSThread()
			return
		}
		defer home.Close()
		err = f()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}

// setSysctl changes a setting of the calling thread's namespace.
func setSysctl(name, value string) error {
	file, err := os.OpenFile(sysctlFile(name), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(value)
		_ = file.Close() // the write has said what there was to say
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s is no setting that a network namespace has for itself on this kernel", name)
	case err != nil:
		return fmt.Errorf("cannot set %s to %q in a network namespace: %w", name, value, errors.Unwrap(err))
	}
	return nil
}

// loopbackUp brings up lo, which is down in a fresh namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
