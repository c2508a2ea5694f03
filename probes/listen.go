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

// listeners maps the inode of each listening TCP socket to its port.
type listeners map[uint64]int

// parse adds the listening sockets of /proc/net/tcp or tcp6, on whatever address.
func (l listeners) parse(data []byte) error {
	const local, state, inode, listen = 1, 3, 9, "0A"
	header := true
	for line := range bytes.Lines(data) {
		if header {
			header = false
			continue
		}
		fields := bytes.Fields(line)
		if len(fields) <= inode {
			return fmt.Errorf("%w: socket line %q", errParse, line)
		}
		if string(fields[state]) != listen {
			continue
		}
		at := bytes.LastIndexByte(fields[local], ':')
		port, err := strconv.ParseUint(string(fields[local][at+1:]), 16, 16)
		if err != nil {
			return fmt.Errorf("%w: local address %q", errParse, fields[local])
		}
		n, err := strconv.ParseUint(string(fields[inode]), 10, 64)
		if err != nil {
			return fmt.Errorf("%w: inode %q", errParse, fields[inode])
		}
		l[n] = int(port)
	}
	return nil
}

// listeners reads the listening sockets of the network namespace that dir, a net folder of /proc, shows.
func (fs FS) listeners(dir string) (listeners, error) {
	found := listeners{}
	for _, name := range []string{"/tcp", "/tcp6"} {
		data, err := fs.read(dir+name, nil)
		if errors.Is(err, os.ErrNotExist) && name == "/tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		if err := found.parse(data); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// portsOf returns the ports whose listening sockets are among pid's descriptors.
func (fs FS) portsOf(pid int, sockets listeners) ([]int, error) {
	fds, err := fs.numbers(fs.proc(pid, "fd"))
	if err != nil {
		return nil, err
	}
	var ports []int
	for _, fd := range fds {
		link, err := os.Readlink(fs.proc(pid, "fd/"+strconv.Itoa(fd)))
		if err != nil {
			continue // closed meanwhile
		}
		var inode uint64
		if _, err := fmt.Sscanf(link, "socket:[%d]", &inode); err != nil {
			continue
		}
		if port, ok := sockets[inode]; ok {
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// ListeningPID finds a process that listens on a TCP port of this machine, to
// name whoever holds a port that should be free. It returns 0 when nobody listens,
// and an error when somebody does whose descriptors may not be read.
func (fs FS) ListeningPID(port int) (int, error) {
	if fs.elsewhere() {
		return 0, ErrNeedsLinux
	}
	all, err := fs.listeners(fs.netFile(""))
	if err != nil {
		return 0, err
	}
	wanted := listeners{}
	for inode, p := range all {
		if p == port {
			wanted[inode] = p
		}
	}
	if len(wanted) == 0 {
		return 0, nil
	}
	pids, err := fs.pids()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if ports, err := fs.portsOf(pid, wanted); err == nil && len(ports) > 0 {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("port %d is listened on by a process of another user or container", port)
}

// ListeningPorts returns the TCP ports that the processes of the tree listen on,
// ascending. It wraps [ErrNeedsLinux] elsewhere.
func (t *Tree) ListeningPorts() ([]int, error) {
	if t.fs.elsewhere() {
		return nil, ErrNeedsLinux
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.update()
	var ports []int
	var firstErr error
	for _, m := range t.alive() {
		sockets, err := t.fs.listeners(t.fs.proc(m.PID, "net"))
		if err == nil && len(sockets) > 0 {
			var own []int
			own, err = t.fs.portsOf(m.PID, sockets)
			ports = append(ports, own...)
		}
		firstErr = t.worse(firstErr, err, m)
	}
	slices.Sort(ports)
	return slices.Compact(ports), firstErr
}

// Owns says whether a process of the tree listens on port, so that another
// server's answer on it is not taken for the tier's. It wraps [ErrNeedsLinux] elsewhere.
func (t *Tree) Owns(port int) (bool, error) {
	ports, err := t.ListeningPorts()
	if slices.Contains(ports, port) {
		return true, nil
	}
	return false, err
}
