package lab

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// logLimit bounds a tier's log on disk. What comes after is drained and
// dropped: a SUT that writes a stack trace per request must neither fill the
// disk nor freeze on a full pipe just when the load rises.
const logLimit = 64 << 20

// logs holds one open log file per tier for the length of a run.
type logs struct {
	open  func(tier string) (*os.File, error)
	files map[string]*cappedLog
}

// of returns the log of a tier. When the file cannot be made, the output is
// drained all the same, and the error says why it is not kept.
func (l *logs) of(tier string) (io.Writer, error) {
	if f, ok := l.files[tier]; ok {
		return f, nil
	}
	file, err := l.open(tier)
	if err != nil {
		return io.Discard, err
	}
	f := &cappedLog{file: file, left: logLimit}
	if l.files == nil {
		l.files = map[string]*cappedLog{}
	}
	l.files[tier] = f
	return f, nil
}

func (l *logs) close() {
	for _, f := range l.files {
		_ = f.file.Close()
	}
	l.files = nil
}

// cappedLog writes to its file until the limit, then says so once and drains.
// It never fails: a full disk must not stop a tier.
type cappedLog struct {
	mu   sync.Mutex
	file *os.File
	left int
}

func (c *cappedLog) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := p[:min(len(p), max(c.left, 0))]
	if len(keep) > 0 {
		_, _ = c.file.Write(keep)
	}
	if c.left -= len(p); c.left < 0 && c.left+len(p) >= 0 {
		_, _ = fmt.Fprintf(c.file, "\n[loomlab: this log reached %d MiB; the rest is not kept]\n", logLimit>>20)
	}
	return len(p), nil
}
