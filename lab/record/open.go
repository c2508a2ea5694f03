package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Saved is a run read back. As JSON it is the document {run, cells} that `run
// --json` and `report --format json` print.
type Saved struct {
	Run   Run    `json:"run"`
	Cells []Cell `json:"cells"`
	// Summaries are derived from the cells of a run of several forks, for those
	// who read the document; reading it back derives them afresh.
	Summaries []CellSummary `json:"summaries,omitempty"`

	Path     string   `json:"-"` // run directory, or the file it came from
	Warnings []string `json:"-"` // what could not be read
}

// ErrNoRun says that a name leads to no run.
var ErrNoRun = errors.New("no run found")

// Find resolves the name of a run: a path to a run directory, to its run.json or
// to a {run, cells} document; the name of a directory under parent; or "last"
// (also ""), the newest run under parent.
func Find(parent, name string) (string, error) {
	if name == "" {
		name = lastLink
	}
	for _, path := range []string{name, filepath.Join(parent, name)} {
		if isRun(path) {
			return path, nil
		}
	}
	if name == lastLink {
		if path := newest(parent); path != "" {
			return path, nil
		}
		return "", fmt.Errorf("%w under %s: `loomlab run` makes one", ErrNoRun, parent)
	}
	return "", fmt.Errorf("%w: %q is neither a run directory nor the name of one under %s", ErrNoRun, name, parent)
}

func isRun(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(path, runFile))
	}
	return err == nil && info.Mode().IsRegular()
}

// newest is the run directory under parent whose name, a time, is the greatest.
func newest(parent string) string {
	entries, _ := os.ReadDir(parent)
	for i := len(entries) - 1; i >= 0; i-- {
		if path := filepath.Join(parent, entries[i].Name()); entries[i].IsDir() && isRun(path) {
			return path
		}
	}
	return ""
}

// Open reads a run directory, the run.json in it, or a {run, cells} document. A
// last line torn by a crash is skipped and becomes a warning, like any other
// line that is no cell. Of a cell that was interrupted and, after a resume,
// measured again, the later attempt stands.
func Open(path string) (*Saved, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && filepath.Base(path) != runFile {
		return openDocument(path)
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	saved := &Saved{Path: path, Cells: []Cell{}}
	body, err := os.ReadFile(filepath.Join(path, runFile))
	if err != nil {
		return nil, err
	}
	if saved.Run, err = parseRun(body); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, runFile), err)
	}
	cells, err := os.Open(filepath.Join(path, cellsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil // ended before its first cell
	}
	if err != nil {
		return nil, err
	}
	defer cells.Close()
	saved.Cells, saved.Warnings, err = parseCells(cells)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cells.Name(), err)
	}
	saved.Cells = latest(saved.Cells)
	return saved, nil
}

func openDocument(path string) (*Saved, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document struct {
		Run   json.RawMessage `json:"run"`
		Cells []Cell          `json:"cells"`
	}
	if err := json.Unmarshal(body, &document); err != nil || document.Run == nil {
		return nil, fmt.Errorf("%s is no {run, cells} document", path)
	}
	run, err := parseRun(document.Run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Saved{Run: run, Cells: append([]Cell{}, document.Cells...), Path: path}, nil
}

// parseRun checks the schema before anything else, so that a file of a newer
// version is called that and not malformed.
func parseRun(body []byte) (Run, error) {
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return Run{}, fmt.Errorf("not a run record: %w", err)
	}
	switch {
	case version.Schema > Schema:
		return Run{}, fmt.Errorf("written by a newer loomlab: its schema is %d, this version reads up to %d", version.Schema, Schema)
	case version.Schema < 1:
		return Run{}, errors.New("not a run record: it has no schema")
	}
	var run Run
	err := json.Unmarshal(body, &run)
	return run, err
}

func parseCells(r io.Reader) (cells []Cell, warnings []string, err error) {
	cells = []Cell{}
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var cell Cell
			switch bad := json.Unmarshal(line, &cell); {
			case bad == nil && cell.SUT != "":
				cells = append(cells, cell)
			case err == io.EOF:
				warnings = append(warnings, fmt.Sprintf("%s:%d: the last line is torn (the run ended while writing it); skipped", cellsFile, number))
			default:
				warnings = append(warnings, fmt.Sprintf("%s:%d: not a cell; skipped: %.60s", cellsFile, number, strings.ToValidUTF8(string(line), "?")))
			}
		}
		if err == io.EOF {
			return cells, warnings, nil
		}
	}
}

// WriteJSON writes the {run, cells} document.
func (s *Saved) WriteJSON(w io.Writer) error {
	document := *s
	if document.Cells == nil {
		document.Cells = []Cell{}
	}
	document.Summaries = s.Summarise()
	body, _, err := marshal(&document, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(body, '\n'))
	return err
}
