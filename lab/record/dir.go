package record

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Files of a run directory.
const (
	runFile    = "run.json"
	cellsFile  = "cells.jsonl"
	seriesFile = "series.jsonl"
	hlogFile   = "latency.hlog"
	lastLink   = "last"
)

// seriesFlush bounds how much of the series a crash can lose.
const seriesFlush = time.Second

// Dir is a run directory that is being written. Its methods may be called from
// several goroutines. Close it at the end; what was appended before is safe anyway.
type Dir struct {
	path    string
	started time.Time

	mu      sync.Mutex
	cells   *os.File
	hlog    *os.File
	series  *os.File
	points  *bufio.Writer
	flushed time.Time
}

// Create makes the directory parent/<UTC time>-<experiment>, readable by its
// owner only (commands and environments may hold secrets), and lets parent/last
// name it. A second run within the same second gets the suffix -2, and so on.
func Create(parent, experiment string, started time.Time) (*Dir, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	id := started.UTC().Format("20060102T150405Z") + "-" + fileName(experiment)
	path, err := makeFresh(filepath.Join(parent, id))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, started: started}
	if err := d.open(); err != nil {
		_ = d.Close()
		return nil, err
	}
	// A file system without symlinks is no reason not to measure: [Find] then
	// takes the newest directory by its name.
	_ = pointLast(parent, filepath.Base(path))
	return d, nil
}

// makeFresh creates path, or path-2, path-3, …: whichever nobody has yet.
func makeFresh(path string) (string, error) {
	candidate := path
	for n := 2; ; n++ {
		err := os.Mkdir(candidate, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return candidate, err
		}
		candidate = fmt.Sprintf("%s-%d", path, n)
	}
}

// pointLast replaces the link parent/last by rename, so that it never dangles.
func pointLast(parent, name string) error {
	temp := filepath.Join(parent, "."+lastLink+"-"+name)
	if err := os.Symlink(name, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(parent, lastLink)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

func (d *Dir) open() (err error) {
	if d.cells == nil {
		if d.cells, err = openLocked(filepath.Join(d.path, cellsFile)); err != nil {
			return err
		}
	}
	for name, file := range map[string]**os.File{seriesFile: &d.series, hlogFile: &d.hlog} {
		if *file, err = os.OpenFile(filepath.Join(d.path, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return err
		}
	}
	d.points = bufio.NewWriterSize(d.series, 64<<10)
	if info, err := d.hlog.Stat(); err != nil || info.Size() > 0 {
		return err // it has its head already
	}
	return writeHlogHead(d.hlog, d.started)
}

// Path is the run directory.
func (d *Dir) Path() string { return d.path }

// ID is the name of the run directory.
func (d *Dir) ID() string { return filepath.Base(d.path) }

// WriteRun replaces run.json: readers see the old one or the new one, also after
// a power cut. Schema and ID are filled in; secrets are masked.
func (d *Dir) WriteRun(run Run) error {
	run.Schema, run.ID = Schema, d.ID()
	run, err := maskRun(run)
	if err != nil {
		return err
	}
	body, _, err := marshal(&run, "  ")
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return replaceFile(filepath.Join(d.path, runFile), append(body, '\n'))
}

// AppendCell adds one line to cells.jsonl and syncs it: a measured cell outlives
// whatever comes next. Its histogram also goes to latency.hlog. A figure that is
// not finite is stored as null and named in Unavailable.
func (d *Dir) AppendCell(cell Cell) error {
	line, err := marshalCell(&cell)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before, statErr := d.cells.Stat()
	if _, err := d.cells.Write(append(line, '\n')); err != nil {
		if statErr == nil {
			_ = d.cells.Truncate(before.Size()) // no torn line for a disk that was full
		}
		return err
	}
	if err := d.cells.Sync(); err != nil {
		return err
	}
	return writeHlogCell(d.hlog, d.started, &cell)
}

// AppendPoint adds one line to series.jsonl, buffered for about a second.
func (d *Dir) AppendPoint(p Point) error {
	line, _, err := marshal(&p, "")
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.points == nil {
		return os.ErrClosed
	}
	if _, err := d.points.Write(append(line, '\n')); err != nil {
		return err
	}
	if now := time.Now(); now.Sub(d.flushed) >= seriesFlush {
		d.flushed = now
		return d.points.Flush()
	}
	return nil
}

// Log opens the log file of a tier, such as "sut-platform", for appending. The
// caller closes it.
func (d *Dir) Log(tier string) (*os.File, error) {
	return os.OpenFile(filepath.Join(d.path, fileName(tier)+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// Close flushes the series and closes the files; a second call does nothing.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	if d.points != nil {
		errs = append(errs, d.points.Flush())
		d.points = nil
	}
	for _, file := range []**os.File{&d.cells, &d.series, &d.hlog} {
		if *file != nil {
			errs = append(errs, (*file).Close())
			*file = nil
		}
	}
	return errors.Join(errs...)
}

// replaceFile writes path through a temporary file, a sync and a rename.
func replaceFile(path string, body []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(body)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// fileName keeps of s what every file system takes; the rest becomes "_".
func fileName(s string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
	if len(clean) > 80 {
		clean = clean[:80]
	}
	if clean = strings.TrimLeft(clean, "."); clean == "" {
		return "unnamed"
	}
	return clean
}

// marshalCell encodes a cell, and never fails for a figure that is not finite.
func marshalCell(cell *Cell) ([]byte, error) {
	line, lost, err := marshal(cell, "")
	if err != nil || len(lost) == 0 {
		return line, err
	}
	reasons := map[string]string{}
	for field, reason := range cell.Unavailable {
		reasons[field] = reason
	}
	for _, field := range lost {
		if reasons[field] == "" {
			reasons[field] = "not a finite number"
		}
	}
	cell.Unavailable = reasons
	return encode(cell, "")
}
