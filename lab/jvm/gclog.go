package jvm

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"loomlab/lab/record"
)

// GCLogFlag lets a JVM write a line for every pause into the run directory.
//
// Note: it is always on for the apps, since without it the longest pause of a
// window is a guess between two samples. What it costs is one buffered write of
// some hundred bytes for each pause, and a few for its phases (ZGC has its pauses
// there): about 20 µs for pauses of milliseconds. The full gc* writes thirty lines.
// The two decorations are the clock of the lab on Linux, and the wall clock elsewhere;
// a pid in the name keeps the starts of one SUT apart.
func GCLogFlag(sut string) string {
	return "-Xlog:gc,gc+phases:file={{run_dir}}/" + GCLogName(sut, "%p") + ":tm,tn:filecount=0"
}

// GCLogName is the name of the log that [GCLogFlag] makes a process write.
func GCLogName(sut, pid string) string { return "gc-" + sut + "-" + pid + ".log" }

// GCLog follows the log of one JVM while that writes it.
type GCLog struct {
	// Ahead is by how many seconds the clock of the JVM's machine is ahead of the lab's.
	Ahead float64

	path    string
	offset  int64
	partial []byte // a line that had not ended
	pauses  []record.Pause
}

// OpenGCLog finds the log of one of the processes; nil where none writes any.
func OpenGCLog(dir, sut string, pids []int) *GCLog {
	for _, pid := range pids {
		path := filepath.Join(dir, GCLogName(sut, strconv.Itoa(pid)))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return &GCLog{path: path}
		}
	}
	return nil
}

// Window reads what has been written since the last time and returns the pauses
// that began from opened to closed, in seconds of the lab's clock. Those before are
// then forgotten: windows come in order.
func (g *GCLog) Window(opened, closed float64) (*record.Pauses, error) {
	file, err := os.Open(g.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(g.offset, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	g.offset += int64(len(data))
	data = append(g.partial, data...)
	whole := bytes.LastIndexByte(data, '\n') + 1
	g.partial = slices.Clone(data[whole:])
	for line := range bytes.Lines(data[:whole]) {
		if p, ok := parsePause(string(bytes.TrimSpace(line)), runtime.GOOS == "linux"); ok {
			p.At -= g.Ahead
			g.pauses = append(g.pauses, p)
		}
	}
	g.pauses = slices.DeleteFunc(g.pauses, func(p record.Pause) bool { return p.At < opened })
	var inside []record.Pause
	for _, p := range g.pauses {
		if p.At <= closed {
			inside = append(inside, p)
		}
	}
	return record.NewPauses(filepath.Base(g.path), [2]float64{opened, closed}, inside), nil
}

// pauseLine is the line at the end of a pause, of any collector of JDK 17 to 25:
//
//	[1764518400000ms][123456789ns] GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.412ms
//	[1764518400000ms][123456789ns] GC(3) Y: Pause Mark Start 0.011ms
var pauseLine = regexp.MustCompile(`^\[(\d+)ms\]\[(\d+)ns\]\s*GC\(\d+\) (?:[YyO]: )?Pause ([^(]*?)(?: (\(.*?\)))?(?: (\d+[BKMGT])->(\d+[BKMGT])(?:\(\d+[BKMGT]\))?)? (\d+\.\d+)ms$`)

// parsePause reads one line of a GC log; false for those that are no pause. With
// nanos its time is that of the host's monotonic clock, else of the wall clock.
func parsePause(line string, nanos bool) (record.Pause, bool) {
	m := pauseLine.FindStringSubmatch(line)
	if m == nil {
		return record.Pause{}, false
	}
	ms, err := strconv.ParseFloat(m[7], 64)
	if err != nil {
		return record.Pause{}, false
	}
	p := record.Pause{MS: ms, Kind: m[3], Cause: trimParentheses(m[4])}
	digits, perSecond := m[2], 1e9
	if !nanos {
		digits, perSecond = m[1], 1e3
	}
	ended, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return record.Pause{}, false
	}
	p.At = ended/perSecond - ms/1000 // the line is written at the end
	p.BeforeBytes, p.AfterBytes = logSize(m[5]), logSize(m[6])
	return p, true
}

// trimParentheses turns "(Normal) (G1 Evacuation Pause)" into "Normal, G1 Evacuation Pause".
func trimParentheses(s string) string {
	if len(s) < 2 {
		return ""
	}
	return string(bytes.ReplaceAll([]byte(s[1:len(s)-1]), []byte(") ("), []byte(", ")))
}

// logSize reads a size such as 24M; 0 for none.
func logSize(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s[:len(s)-1], 10, 64)
	if err != nil {
		return 0
	}
	return n << map[byte]uint{'B': 0, 'K': 10, 'M': 20, 'G': 30, 'T': 40}[s[len(s)-1]]
}
