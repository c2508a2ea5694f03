//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"loomlab/probes"
)

// markName is the variable by which the processes of a round are known, wherever
// they were adopted.
const markName = "LOOMLAB_CHAOS"

// PostgreSQL's children write their titles over the environment, and are known by
// the folder that they work in.
const serverTitle = "postgres: "

// process is one of a round's.
type process struct {
	pid  int
	argv []string
}

// processes returns the round's living ones: those with its mark in their
// environment, and the children of a database below its folder.
func (r *round) processes() []process {
	var found []process
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // fails for a malformed pattern only
	for _, path := range environs {
		env, _ := os.ReadFile(path) // a process that ended
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		argv := argvOf(pid)
		if len(argv) == 0 { // a zombie has none
			continue
		}
		if bytes.Contains(append([]byte{0}, env...), []byte("\x00"+r.mark+"\x00")) || r.serves(pid, argv[0]) {
			found = append(found, process{pid, argv})
		}
	}
	return found
}

// serves tells whether a process is the child of a database of this round.
func (r *round) serves(pid int, title string) bool {
	if !strings.HasPrefix(title, serverTitle) {
		return false
	}
	folder, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // it may have ended
	return strings.HasPrefix(folder, r.temp)
}

func argvOf(pid int) []string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	if len(line) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// role is the part that a process plays in the run of the orchestrator main.
func (p process) role(main int) string {
	command := filepath.Base(p.argv[0])
	word := ""
	if len(p.argv) > 1 {
		word = p.argv[1]
	}
	switch {
	case p.pid == main:
		return orchestrator
	case word == "guard":
		at := slices.Index(p.argv, "--")
		if at < 0 || at+2 >= len(p.argv) {
			return ""
		}
		switch inner := p.argv[at+2]; {
		case inner == load, inner == down:
			return inner + guard
		case filepath.Base(p.argv[at+1]) == "postgres":
			return database + guard
		}
		return sut + guard
	case word == load, word == down:
		return word
	case strings.HasPrefix(p.argv[0], serverTitle):
		return server
	case command == "postgres" && slices.Contains(p.argv, "-p"): // the one that seeds has no port
		return database
	case word == "standin", command == "java":
		return sut
	case command == "sh", command == "dash", command == "bash":
		return shell
	}
	return ""
}

// checkLeft wants the machine as it was: at once, or soon where nobody was there
// any more to see to it.
func (r *round) checkLeft() {
	within := 500 * time.Millisecond // the kernel takes a moment
	if r.orphaned {
		within = goneWithin
	}
	var left []process
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		if left = r.processes(); len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	for _, p := range left {
		r.leave("process %d %.200s", p.pid, strings.Join(p.argv, " "))
	}
	for port := range r.ports {
		if port != r.taken && isListening(port) && r.holds(port) {
			r.leave("a listener on port %d", port)
		}
	}
	for pid := range r.jvms {
		files, _ := filepath.Glob(fmt.Sprintf("/tmp/hsperfdata_*/%d", pid)) // fails for a malformed pattern only
		for _, file := range files {
			r.leave("%s", file)
		}
	}
	files, _ := os.ReadDir(r.temp)
	for _, f := range files {
		r.leave("temporary file %s", f.Name())
	}
	if r.orphaned || r.rough {
		return // it had no chance to remove what it was writing
	}
	for _, pattern := range []string{".*", "*/.*"} {
		hidden, _ := filepath.Glob(filepath.Join(r.out, pattern))
		for _, file := range hidden {
			r.leave("unfinished file %s", file)
		}
	}
}

func (r *round) leave(format string, a ...any) {
	r.report.left = append(r.report.left, fmt.Sprintf(format, a...))
}

func isListening(port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// holds tells whether a listener belongs to this round, and not to another one
// that got the same port since.
func (r *round) holds(port int) bool {
	pid, err := probes.NewFS("/").ListeningPID(port)
	if err != nil || pid == 0 {
		return false
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may have ended
	return bytes.Contains(env, []byte(r.mark+"\x00"))
}

// sharedMemory names what there is of it on this machine, of both kinds.
func sharedMemory() []string {
	var names []string
	files, _ := filepath.Glob("/dev/shm/*") // fails for a malformed pattern only
	names = append(names, files...)
	table, _ := os.ReadFile("/proc/sysvipc/shm") // none without System V
	for i, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 4 {
			names = append(names, fmt.Sprintf("segment %s of process %s", fields[1], fields[4]))
		}
	}
	return names
}
