package probes

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Mapping is one part of a process's address space, as /proc/<pid>/smaps shows it.
type Mapping struct {
	From, To       uint64
	Name           string // file, "[heap]", "[stack]"; "" for anonymous memory
	RSSBytes       int64
	AnonymousBytes int64 // of it, not backed by the file
}

// Mappings reads what of a process's address space is in memory, part by part. It
// walks the page tables as smaps_rollup does and stalls the process for some
// milliseconds: only when a window has ended.
func (fs FS) Mappings(pid int) ([]Mapping, error) {
	if fs.elsewhere() {
		return nil, ErrNeedsLinux
	}
	data, err := fs.read(fs.proc(pid, "smaps"), nil)
	if err != nil {
		return nil, err
	}
	return parseSmaps(data)
}

// parseSmaps parses /proc/<pid>/smaps: a line "from-to perms offset dev inode name"
// and lines "Key: n kB" for each mapping.
func parseSmaps(data []byte) ([]Mapping, error) {
	var list []Mapping
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		key := fields[0]
		if key[len(key)-1] != ':' {
			m, err := parseMapping(fields)
			if err != nil {
				return nil, err
			}
			list = append(list, m)
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%w: smaps begins with %q", errParse, line)
		}
		m := &list[len(list)-1]
		var err error
		switch string(key) {
		case "Rss:":
			m.RSSBytes, err = kilobytes(fields[1:])
		case "Anonymous:":
			m.AnonymousBytes, err = kilobytes(fields[1:])
		}
		if err != nil {
			return nil, fmt.Errorf("%w: smaps: %w", errParse, err)
		}
	}
	return list, nil
}

func parseMapping(fields [][]byte) (Mapping, error) {
	from, to, ok := strings.Cut(string(fields[0]), "-")
	low, err := strconv.ParseUint(from, 16, 64)
	high, err2 := strconv.ParseUint(to, 16, 64)
	if !ok || err != nil || err2 != nil || low > high {
		return Mapping{}, fmt.Errorf("%w: smaps: a mapping at %q", errParse, fields[0])
	}
	m := Mapping{From: low, To: high}
	if len(fields) > 5 {
		m.Name = string(bytes.Join(fields[5:], []byte(" ")))
	}
	return m, nil
}
