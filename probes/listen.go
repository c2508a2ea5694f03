package probes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// ErrNeedsLinux is wrapped by what only Linux can answer.
var ErrNeedsLinux = fmt.Errorf("needs Linux: %w", errors.ErrUnsupported)

// parseListeners parses /proc/net/tcp or tcp6 and returns the inodes of the
// sockets that listen on port, on whatever address.
func parseListeners(data []byte, port int) ([]uint64, error) {
	const local, state, inode, listen = 1, 3, 9, "0A"
	var inodes []uint64
	header := true
	for line := range bytes.Lines(data) {
		if header {
			header = false
			continue
		}
		fields := bytes.Fields(line)
		if len(fields) <= inode {
			return nil, fmt.Errorf("%w: socket line %q", errParse, line)
		}
		if string(fields[state]) != listen {
			continue
		}
		at := bytes.LastIndexByte(fields[local], ':')
		p, err := strconv.ParseUint(string(fields[local][at+1:]), 16, 16)
		if err != nil {
			return nil, fmt.Errorf("%w: local address %q", errParse, fields[local])
		}
		if int(p) != port {
			continue
		}
		n, err := strconv.ParseUint(string(fields[inode]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: inode %q", errParse, fields[inode])
		}
		inodes = append(inodes, n)
	}
	return inodes, nil
}

// listeners returns the sockets listening on port in the network namespace of
// dir, a net folder of some process.
func (fs FS) listeners(dir string, port int) ([]uint64, error) {
	var inodes []uint64
	for _, name := range []string{"/tcp", "/tcp6"} {
		data, err := fs.read(dir+name, nil)
		if errors.Is(err, os.ErrNotExist) && name == "/tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		found, err := parseListeners(data, port)
		if err != nil {
			return nil, err
		}
		inodes = append(inodes, found...)
	}
	return inodes, nil
}

// holds says whether one of pid's descriptors is one of the sockets.
func (fs FS) holds(pid int, sockets []uint64) (bool, error) {
	fds, err := fs.numbers(fs.proc(pid, "fd"))
	if err != nil {
		return false, err
	}
	for _, fd := range fds {
		link, err := os.Readlink(fs.proc(pid, "fd/"+strconv.Itoa(fd)))
		if err != nil {
			continue // closed meanwhile
		}
		var inode uint64
		if _, err := fmt.Sscanf(link, "socket:[%d]", &inode); err == nil && slices.Contains(sockets, inode) {
			return true, nil
		}
	}
	return false, nil
}

// ListeningPID finds a process that listens on a TCP port of this machine, to name
// whoever holds a port that should be free. It returns 0 when nobody listens, and an error when somebody does
// whose descriptors may not be read.
func (fs FS) ListeningPID(port int) (int, error) {
	if fs.elsewhere() {
		return 0, ErrNeedsLinux
	}
	sockets, err := fs.listeners(fs.path("proc", "net"), port)
	if err != nil || len(sockets) == 0 {
		return 0, err
	}
	pids, err := fs.pids()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if ok, err := fs.holds(pid, sockets); ok && err == nil {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("port %d is listened on by a process of another user or container", port)
}

// Owns says whether a process of the tree listens on port, so that another
// server's answer on it is not taken for the tier's. It wraps [ErrNeedsLinux] elsewhere.
func (t *Tree) Owns(port int) (bool, error) {
	if t.fs.elsewhere() {
		return false, ErrNeedsLinux
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.update()
	var firstErr error
	for _, m := range t.alive() {
		sockets, err := t.fs.listeners(t.fs.proc(m.PID, "net"), port)
		if err == nil && len(sockets) > 0 {
			var ok bool
			if ok, err = t.fs.holds(m.PID, sockets); ok {
				return true, nil
			}
		}
		if err != nil && !errors.Is(err, ErrGone) && firstErr == nil {
			firstErr = err
		}
	}
	return false, firstErr
}
