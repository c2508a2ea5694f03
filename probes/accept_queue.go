package probes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// AcceptQueue returns how many connections to a TCP port of fs are
// complete but wait for their server to accept them. The error wraps
// ErrNeedsLinux elsewhere, and [os.ErrNotExist] when nobody listens on the port.
//
// It costs little however many connections there are: the kernel lists the
// listening sockets first, and nothing after them is read.
func (fs FS) AcceptQueue(port int) (int64, error) {
	if fs.elsewhere() {
		return 0, ErrNeedsLinux
	}
	var waiting int64
	found := false
	for _, name := range []string{"tcp", "tcp6"} {
		file, err := os.Open(fs.netFile(name))
		if errors.Is(err, os.ErrNotExist) && name == "tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return 0, err
		}
		n, ok, err := acceptQueue(file, port)
		file.Close()
		if err != nil {
			return 0, err
		}
		waiting, found = waiting+n, found || ok
	}
	if !found {
		return 0, fmt.Errorf("nobody listens on port %d: %w", port, os.ErrNotExist)
	}
	return waiting, nil
}

// acceptQueue reads the receive queues of the sockets that listen on port, which
// in their case count connections. Several with SO_REUSEPORT add up.
func acceptQueue(table io.Reader, port int) (waiting int64, found bool, err error) {
	const local, state, queues, listen = 1, 3, 4, "0A"
	suffix := fmt.Appendf(nil, ":%04X", port)
	lines := bufio.NewScanner(table)
	lines.Scan() // the head
	for lines.Scan() {
		fields := bytes.Fields(lines.Bytes())
		if len(fields) <= queues {
			return 0, false, fmt.Errorf("%w: socket line %q", errParse, lines.Bytes())
		}
		if string(fields[state]) != listen {
			break
		}
		if !bytes.HasSuffix(fields[local], suffix) {
			continue
		}
		_, receive, _ := bytes.Cut(fields[queues], []byte(":"))
		n, err := strconv.ParseInt(string(receive), 16, 64)
		if err != nil {
			return 0, false, fmt.Errorf("%w: queues %q", errParse, fields[queues])
		}
		waiting, found = waiting+n, true
	}
	return waiting, found, lines.Err()
}
