package probes

import (
	"bytes"
	"errors"
)

// Title is what a process calls itself in lists of processes: its command line
// or, where it wrote over that as PostgreSQL does, its title. It costs one read
// of /proc; systems without /proc have none.
func (fs FS) Title(pid int) (string, error) {
	if fs.elsewhere() {
		return "", errors.ErrUnsupported
	}
	text, err := fs.read(fs.proc(pid, "cmdline"), nil)
	if err != nil {
		return "", err
	}
	return string(bytes.TrimRight(bytes.ReplaceAll(text, []byte{0}, []byte{' '}), " ")), nil
}
