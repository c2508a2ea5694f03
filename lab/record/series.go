package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Series calls visit with each point of series.jsonl, in the order in which they
// were taken. The file is read line by line, since it grows with the length of a
// run. A run without one, such as a {run, cells} document, has no points; a line
// that is none (the last one may be torn) is passed over.
func (s *Saved) Series(visit func(*Point)) error {
	if info, err := os.Stat(s.Path); s.Path == "" || err != nil || !info.IsDir() {
		return nil
	}
	file, err := os.Open(filepath.Join(s.Path, seriesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		var p Point
		if line = bytes.TrimSpace(line); len(line) > 0 && json.Unmarshal(line, &p) == nil {
			visit(&p)
		}
		if err == io.EOF {
			return nil
		}
	}
}
