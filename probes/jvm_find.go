package probes

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// jvmSearch remembers what was found of a process that may be a JVM, so that a
// tree of other programs is not searched again for every sample.
type jvmSearch struct {
	comm   string // the name it was searched under: exec changes it
	looks  uint   // samples since then
	path   string // of its hsperfdata file, once found
	reason string // why there is none; empty for a program that is no JVM
}

// startSlack is how much older than its process a perf data file may seem: the
// two times come from different clocks.
const startSlack = 2 * time.Second

// perfData returns the path of m's hsperfdata file, or why there is none. It
// looks at the samples 1, 2, 4, 8, … after a process appeared or changed its
// name, and at every one if it is a JVM: a JVM needs some 50 ms to make the file.
func (t *Tree) perfData(m *member) (path, reason string) {
	j := &m.jvm
	if j.comm != m.Comm {
		*j = jvmSearch{comm: m.Comm}
	}
	if j.path != "" {
		return j.path, ""
	}
	j.looks++
	if j.reason == "" && bits.OnesCount(j.looks) != 1 {
		return "", ""
	}
	j.path, j.reason = t.lookForPerfData(m)
	return j.path, j.reason
}

func (t *Tree) lookForPerfData(m *member) (path, reason string) {
	started, err := t.processes.startedAt(m.ID)
	if err != nil {
		return "", ""
	}
	var stale, denied string
	for _, candidate := range t.perfDataPaths(m.PID) {
		info, err := os.Stat(candidate)
		switch {
		case errors.Is(err, os.ErrPermission):
			denied = candidate
		case err != nil || !info.Mode().IsRegular():
		case info.ModTime().Before(started.Add(-startSlack)):
			stale = candidate
		default:
			return candidate, ""
		}
	}
	switch {
	case !t.isJVM(m):
		return "", ""
	case denied != "":
		return "", "no permission to read " + t.shown(denied)
	case stale != "":
		return "", t.shown(stale) + " is older than the JVM: left by another process"
	}
	return "", "no hsperfdata file: perf data off (-XX:-UsePerfData, -XX:+PerfDisableSharedMem), or the JVM has just started"
}

// shown is a path as on the machine, without the root of the file tree.
func (t *Tree) shown(path string) string {
	if t.fs.host() {
		return path
	}
	return strings.TrimPrefix(path, strings.TrimSuffix(t.fs.root, "/"))
}

// perfDataPaths lists where the file can be. HotSpot writes
// /tmp/hsperfdata_<user>/<pid> whatever java.io.tmpdir says; in a container, user, /tmp
// and pid are the container's. A user that cannot be looked up is searched for.
func (t *Tree) perfDataPaths(pid int) []string {
	name := strconv.Itoa(pid)
	if t.fs.elsewhere() {
		return inPerfDataFolders(os.TempDir(), name)
	}
	tmp := t.fs.path("tmp")
	s, err := t.fs.status(pid)
	if err != nil {
		return inPerfDataFolders(tmp, name)
	}
	var paths []string
	if owner, err := t.fs.owner(s.EUID); err == nil {
		paths = append(paths, filepath.Join(tmp, "hsperfdata_"+owner, name))
		if _, err := os.Stat(paths[0]); err == nil {
			return paths
		}
	}
	paths = append(paths, inPerfDataFolders(tmp, name)...)
	if len(s.NSPIDs) > 0 {
		inner := strconv.Itoa(s.NSPIDs[len(s.NSPIDs)-1])
		paths = append(paths, inPerfDataFolders(t.fs.proc(pid, "root/tmp"), inner)...)
	}
	return paths
}

func inPerfDataFolders(tmp, name string) []string {
	folders, err := filepath.Glob(filepath.Join(tmp, "hsperfdata_*"))
	if err != nil {
		return nil
	}
	for i := range folders {
		folders[i] = filepath.Join(folders[i], name)
	}
	return folders
}

// isJVM says whether m runs a JVM: it is called java, or has the JVM's library mapped.
func (t *Tree) isJVM(m *member) bool {
	if m.Comm == "java" {
		return true
	}
	if t.fs.elsewhere() {
		return false
	}
	maps, err := t.fs.read(t.fs.proc(m.PID, "maps"), nil)
	return err == nil && bytes.Contains(maps, []byte("/libjvm.so"))
}

// startedAt converts the start of a process to wall time, to compare it with
// the times of files. It is good to a clock tick as long as nobody sets the clock.
func (fs FS) startedAt(id ID) (time.Time, error) {
	data, err := fs.read(fs.path("proc", "stat"), nil)
	if err != nil {
		return time.Time{}, err
	}
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			boot, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("%w: btime: %w", errParse, err)
			}
			return time.Unix(boot, 0).Add(time.Duration(float64(id.Start) / fs.ticks * 1e9)), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: no btime in /proc/stat", errParse)
}

// readJVM reads the first JVM of the tree, the oldest process that is one.
func (t *Tree) readJVM(unavailable map[string]string, alive []*member) *JVM {
	c, m, reason := t.jvmCounters(alive)
	if reason != "" {
		unavailable["jvm"] = reason
		return nil
	}
	jvm := c.jvm()
	jvm.PID = m.PID
	return &jvm
}

// NoJVM is the reason for having no JVM figures where there is no JVM, as under a
// program of another kind: there is nothing to mend.
const NoJVM = "no JVM in the tree"

func (t *Tree) jvmCounters(alive []*member) (Counters, *member, string) {
	reason := NoJVM
	for _, m := range alive {
		path, why := t.perfData(m)
		if path == "" {
			if why != "" && reason == NoJVM {
				reason = why
			}
			continue
		}
		c, err := readPerfData(path)
		if err == nil {
			return c, m, ""
		}
		if errors.Is(err, os.ErrNotExist) {
			m.jvm = jvmSearch{} // removed, by a cleaner of /tmp for instance
		}
		reason = err.Error()
	}
	return Counters{}, nil, reason
}

// readPerfData reads a file that its JVM is writing. A reading that is torn is repeated once.
func readPerfData(path string) (Counters, error) {
	var c Counters
	var err error
	for range 2 {
		var info os.FileInfo
		if info, err = os.Stat(path); err != nil {
			return c, err
		}
		if info.Size() > hsperfMaxBytes {
			return c, fmt.Errorf("%w: %d bytes are too many", ErrHsperf, info.Size())
		}
		var data []byte
		if data, err = os.ReadFile(path); err != nil {
			return c, err
		}
		if c, err = ParseHsperf(data); err == nil {
			return c, nil
		}
	}
	return c, err
}

// JVMFacts is what does not change while a JVM runs.
type JVMFacts struct {
	PID       int
	Version   string // java.version
	VMVersion string
	Home      string
	Collector string
	Args      string // of the command line and JAVA_TOOL_OPTIONS, as the JVM joined them
	Flags     string // of a .hotspotrc or -XX:Flags file
	Command   string // main class or jar, and its arguments
}

// JVM returns the facts of the first JVM in the tree, or why there are none.
func (t *Tree) JVM() (JVMFacts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.update()
	c, m, reason := t.jvmCounters(t.alive())
	if reason != "" {
		return JVMFacts{}, errors.New(reason)
	}
	return JVMFacts{
		PID:       m.PID,
		Version:   c.Strings["java.property.java.version"],
		VMVersion: c.Strings["java.property.java.vm.version"],
		Home:      c.Strings["java.property.java.home"],
		Collector: c.collector(),
		Args:      c.Strings["java.rt.vmArgs"],
		Flags:     c.Strings["java.rt.vmFlags"],
		Command:   c.Strings["sun.rt.javaCommand"],
	}, nil
}

// JVMPID returns the first JVM in the tree that has perf data, or 0.
func (t *Tree) JVMPID() int {
	facts, _ := t.JVM()
	return facts.PID
}
