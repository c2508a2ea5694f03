package probes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// FS is the root of the file tree whose proc and tmp directories are read, "/"
// on a live machine; a fixture in tests.
type FS struct {
	root  string
	net   string  // folder of the network's files below root; "": proc/net
	ticks float64 // clock ticks a second in proc files
	owner func(uid int) (string, error)
}

// NewFS returns the FS below root; "" means "/".
func NewFS(root string) FS {
	if root == "" {
		root = "/"
	}
	fs := FS{root: root, owner: userName}
	fs.ticks = fs.clockTicks()
	return fs
}

// NetOf is fs with the sockets and the network counters of the network namespace
// that pid is in, as long as pid lives.
func (fs FS) NetOf(pid int) FS {
	fs.net = "proc/" + strconv.Itoa(pid) + "/net"
	return fs
}

// netFile is the path of a file of the network, such as tcp.
func (fs FS) netFile(name string) string {
	if fs.net == "" {
		return fs.path("proc", "net", name)
	}
	return fs.path(fs.net, name)
}

// ErrGone is wrapped by errors about a process that is not there any more: it
// vanished, it is a zombie, or its number now belongs to another process.
var ErrGone = errors.New("no such process")

// host says whether fs is the machine itself, so that system calls may replace files.
func (fs FS) host() bool { return fs.root == "/" }

func (fs FS) path(parts ...string) string {
	return filepath.Join(append([]string{fs.root}, parts...)...)
}

// proc returns root/proc/<pid>/<name>, without the cost of filepath.Join: it is made for every thread.
func (fs FS) proc(pid int, name string) string {
	root := fs.root
	if root == "/" {
		root = ""
	}
	return root + "/proc/" + strconv.Itoa(pid) + "/" + name
}

// read reads a whole file of /proc into buf (grown when needed) with three
// system calls and no entry in Go's poller. Files of /proc say they are empty, so nothing asks for their size.
func (fs FS) read(path string, buf []byte) ([]byte, error) {
	fd, err := openRetry(path)
	if err != nil {
		return buf[:0], gone(&os.PathError{Op: "open", Path: path, Err: err})
	}
	defer syscall.Close(fd)
	if cap(buf) < 4096 {
		buf = make([]byte, 0, 4096)
	}
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return buf[:0], gone(&os.PathError{Op: "read", Path: path, Err: err})
		case n <= 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}

func openRetry(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			return fd, err
		}
	}
}

// gone marks the errors that mean that the process has ended between two reads.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// numbers returns the entries of a directory that are decimal numbers: the
// processes of /proc, the threads of task, the descriptors of fd.
func (fs FS) numbers(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, gone(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, gone(err)
	}
	found := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			found = append(found, n)
		}
	}
	return found, nil
}

func (fs FS) pids() ([]int, error) { return fs.numbers(fs.path("proc")) }

// clockTicks reads AT_CLKTCK of the auxiliary vector, which is where sysconf
// has it from. Every Linux that Go supports has said 100 so far; kernel HZ has nothing to do with it.
func (fs FS) clockTicks() float64 {
	const atClockTicks, usual = 17, 100
	data, err := os.ReadFile(fs.path("proc", "self", "auxv"))
	if err != nil || strconv.IntSize != 64 {
		return usual
	}
	for ; len(data) >= 16; data = data[16:] {
		if binary.NativeEndian.Uint64(data) == atClockTicks {
			if ticks := binary.NativeEndian.Uint64(data[8:]); ticks > 0 {
				return float64(ticks)
			}
		}
	}
	return usual
}

func userName(uid int) (string, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", err
	}
	return u.Username, nil
}
