package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Resumption is one continuation of a run that was interrupted.
type Resumption struct {
	At   time.Time `json:"at"`
	Args []string  `json:"args"`
}

// ErrBusy says that another process is still writing a run.
var ErrBusy = errors.New("another loomlab is still writing it")

// Reopen opens the directory of a run that was interrupted, to go on writing it.
// A last line that a crash has torn is removed: it was no cell. It fails with
// [ErrBusy] while another process writes there.
func Reopen(path string, run Run) (*Dir, error) {
	path, err := filepath.EvalSymlinks(path) // "last" will mean another one some day
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, started: run.Started}
	if d.cells, err = openLocked(filepath.Join(path, cellsFile)); err != nil {
		return nil, err
	}
	for _, name := range []string{cellsFile, seriesFile, hlogFile} {
		if err := mend(filepath.Join(path, name), name == cellsFile); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	_ = pointLast(filepath.Dir(path), filepath.Base(path)) // as in Create
	return d, nil
}

// openLocked opens a file for appending and keeps other writers out until it is
// closed, however this process ends.
func openLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(ErrBusy, file.Close())
	}
	return file, nil // a file system without locks is no reason not to measure
}

// mend removes what follows the last newline of a file, unless it is a whole
// cell that lacks nothing but its newline.
func mend(path string, cells bool) error {
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(body, '\n') + 1
	torn := body[whole:]
	if len(torn) == 0 {
		return nil
	}
	var cell Cell
	if cells && json.Unmarshal(torn, &cell) == nil && cell.SUT != "" {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = file.WriteString("\n")
		return errors.Join(err, file.Close())
	}
	if err := os.Truncate(path, int64(whole)); err != nil {
		return fmt.Errorf("cannot remove a torn line: %w", err)
	}
	return nil
}

// cellID is what tells one cell of a run from another.
type cellID struct {
	sut         string
	fork        int
	connections int
	rate        float64
	round       int
}

func (c *Cell) id() cellID { return cellID{c.SUT, c.Fork, c.Connections, c.Rate, c.Round} }

// latest leaves out interrupted cells that were measured again after a resume;
// the later attempt counts them.
func latest(cells []Cell) []Cell {
	last := map[cellID]int{}
	for i := range cells {
		last[cells[i].id()] = i
	}
	kept := cells[:0]
	for i := range cells {
		if cells[i].Status == "interrupted" && last[cells[i].id()] != i {
			continue
		}
		kept = append(kept, cells[i])
	}
	return kept
}
