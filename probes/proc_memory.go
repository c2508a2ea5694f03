package probes

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// parseStatm parses /proc/<pid>/statm and returns the resident pages, the second field.
func parseStatm(data []byte) (pages int64, err error) {
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0, fmt.Errorf("%w: statm %q", errParse, data)
	}
	if pages, err = strconv.ParseInt(string(fields[1]), 10, 64); err != nil {
		return 0, fmt.Errorf("%w: statm: %w", errParse, err)
	}
	return pages, nil
}

// residentBytes reads statm: cheap, but the kernel lets each CPU (before 6.2:
// each thread) keep a few pages back, so it is for the series and not for the figure of a cell.
func (fs FS) residentBytes(pid int, buf []byte) (int64, error) {
	data, err := fs.read(fs.proc(pid, "statm"), buf)
	if err != nil {
		return 0, err
	}
	pages, err := parseStatm(data)
	return pages * int64(os.Getpagesize()), err
}

// parseSmapsRollup parses /proc/<pid>/smaps_rollup and returns the sum of "Rss:" in bytes.
func parseSmapsRollup(data []byte) (int64, error) {
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("Rss:")); ok {
			rss, err := kilobytes(bytes.Fields(value))
			if err != nil {
				return 0, fmt.Errorf("%w: Rss: %w", errParse, err)
			}
			return rss, nil
		}
	}
	return 0, fmt.Errorf("%w: no Rss line", errParse)
}

// exactResidentBytes walks the page tables through smaps_rollup. The kernel
// holds the memory map's lock meanwhile, which stalls the process: only when a window has ended.
func (fs FS) exactResidentBytes(pid int) (int64, error) {
	data, err := fs.read(fs.proc(pid, "smaps_rollup"), nil)
	if err != nil {
		return 0, err
	}
	return parseSmapsRollup(data)
}

// resetPeak makes VmHWM start again from the present resident size.
func (fs FS) resetPeak(pid int) error {
	f, err := os.OpenFile(fs.proc(pid, "clear_refs"), os.O_WRONLY, 0)
	if err != nil {
		return gone(err)
	}
	defer f.Close()
	_, err = f.WriteString("5")
	return gone(err)
}
