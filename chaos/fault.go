//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fault is one way to break a run.
type fault struct {
	name   string
	target string // the process that it strikes; it is awaited
	strike func(r *round, pid int) error
	// What is right afterwards: the exit statuses that can be (died: the
	// orchestrator is killed), and words of which the user must see one unless all
	// went well.
	statuses []int
	words    []string

	kills    bool // it ends a tier, whose figures end with it
	orphaned bool // it ends the orchestrator, and whatever is below it ends by itself
	rough    bool // it takes from the orchestrator what it needs to write its record
	disk     bool // the run directory is on a small disk of its own
	postgres bool // the run has a PostgreSQL
	late     bool // the SUT takes a second before it listens
	resume   bool // afterwards the run is resumed to its end
}

const died = -1

// Roles of processes, as faults name them.
const (
	orchestrator = "orchestrator"
	load         = "load"
	sut          = "SUT"
	down         = "downstream"
	database     = "PostgreSQL"
	server       = "PostgreSQL's child"
	shell        = "wrapper shell"
	guard        = " guard" // after load, SUT, downstream or PostgreSQL
)

func send(s syscall.Signal) func(*round, int) error {
	return func(_ *round, pid int) error { return syscall.Kill(pid, s) }
}

// pause stops a process for a while.
func pause(r *round, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(r.upTo(3 * time.Second))
	return syscall.Kill(pid, syscall.SIGCONT)
}

// press sends signals as a terminal does, to the orchestrator's process group.
func press(signals ...syscall.Signal) func(*round, int) error {
	return func(r *round, pid int) error {
		for i, s := range signals {
			if i > 0 {
				time.Sleep(r.upTo(time.Second))
			}
			if err := syscall.Kill(-pid, s); err != nil && i == 0 {
				return err
			}
		}
		return nil
	}
}

// shrink lowers a limit of a running process to what it uses now.
func shrink(resource int, used func(pid int) uint64) func(*round, int) error {
	return func(_ *round, pid int) error {
		n := used(pid)
		return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: n, Max: n}, nil)
	}
}

func openFiles(pid int) uint64 {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // it may have ended
	return uint64(len(entries))
}

func addressSpace(pid int) uint64 {
	statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)) // it may have ended
	var pages uint64
	_, _ = fmt.Sscan(string(statm), &pages)
	return pages * uint64(os.Getpagesize())
}

// fill writes to the round's disk until nothing more fits.
func fill(r *round, _ int) error {
	file, err := os.Create(filepath.Join(r.out, "filler"))
	if err != nil {
		return err
	}
	defer file.Close()
	for _, size := range []int{64 << 10, 512, 1} {
		for block := make([]byte, size); err == nil; {
			_, err = file.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		err = nil
	}
	return nil
}

// takePort listens where the SUT is going to.
func takePort(r *round, pid int) error {
	argv := argvOf(pid)
	if len(argv) < 5 {
		return syscall.ESRCH
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", argv[4]))
	if err != nil {
		return syscall.ESRCH // the SUT was faster
	}
	r.closers = append(r.closers, l)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
			_ = conn.Close()
		}
	}()
	r.taken, _ = strconv.Atoi(argv[4]) // a port of the lab's is a number
	return nil
}

var (
	failedOrNot = []int{0, 1} // it depends on the moment
	failedFor   = func(words ...string) []string { return words }
)

// faults are all of them, in the order of the table.
var faults = []fault{
	{name: "none", statuses: []int{0}},
	{name: "kill -9 of the load", target: load, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("SIGKILL"), kills: true},
	{name: "kill -9 of the SUT", target: sut, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("SIGKILL", "exit status", "had died"), kills: true},
	{name: "kill -9 of the downstream", target: down, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("SIGKILL", "the downstream had died", "answered 5"), kills: true},
	{name: "kill -9 of the wrapper shell", target: shell, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("SIGKILL", "had died"), kills: true},
	{name: "kill -9 of PostgreSQL", target: database, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("PostgreSQL"), kills: true, postgres: true},
	{name: "kill -9 of PostgreSQL's child", target: server, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("PostgreSQL"), postgres: true},
	{name: "SEGV of the load", target: load, strike: send(syscall.SIGSEGV), statuses: failedOrNot, words: failedFor("SIGSEGV", "exit status 2"), kills: true},
	{name: "SEGV of the SUT", target: sut, strike: send(syscall.SIGSEGV), statuses: failedOrNot, words: failedFor("SIGSEGV", "SIGABRT", "exit status"), kills: true},
	{name: "SEGV of the downstream", target: down, strike: send(syscall.SIGSEGV), statuses: failedOrNot, words: failedFor("SIGSEGV", "exit status 2", "answered 5"), kills: true},
	{name: "kill -9 of the load's guard", target: load + guard, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("guard")},
	{name: "kill -9 of the SUT's guard", target: sut + guard, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("guard")},
	{name: "kill -9 of the downstream's guard", target: down + guard, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("guard")},
	{name: "kill -9 of PostgreSQL's guard", target: database + guard, strike: send(syscall.SIGKILL), statuses: failedOrNot, words: failedFor("guard"), postgres: true},
	{name: "kill -9 of the orchestrator beside PostgreSQL", target: orchestrator, strike: send(syscall.SIGKILL), statuses: []int{died}, orphaned: true, resume: true, postgres: true},
	{name: "STOP of PostgreSQL", target: database, strike: send(syscall.SIGSTOP), statuses: failedOrNot, words: failedFor("PostgreSQL"), postgres: true},
	{name: "Ctrl-C twice beside PostgreSQL", target: orchestrator, strike: press(syscall.SIGINT, syscall.SIGINT), statuses: []int{130}, orphaned: true, resume: true, postgres: true},
	{name: "kill -9 of the orchestrator", target: orchestrator, strike: send(syscall.SIGKILL), statuses: []int{died}, orphaned: true, resume: true},
	{name: "STOP of the SUT", target: sut, strike: send(syscall.SIGSTOP), statuses: failedOrNot, words: failedFor("no request succeeded", "half of the requests", "got an answer", "not ready", "no answer", "were established")},
	{name: "STOP of the downstream", target: down, strike: send(syscall.SIGSTOP), statuses: failedOrNot, words: failedFor("no request succeeded", "half of the requests", "got an answer", "not ready", "no answer", "answered 5", "were established", "listen within")},
	{name: "STOP of the SUT's guard", target: sut + guard, strike: send(syscall.SIGSTOP), statuses: failedOrNot, words: failedFor("guard")},
	{name: "STOP and CONT of the load", target: load, strike: pause, statuses: failedOrNot, words: failedFor("succeeded", "half of the requests", "got an answer", "established")},
	{name: "STOP and CONT of the orchestrator", target: orchestrator, strike: pause, statuses: []int{0}},
	{name: "Ctrl-C", target: orchestrator, strike: press(syscall.SIGINT), statuses: []int{130}, resume: true},
	{name: "Ctrl-C twice", target: orchestrator, strike: press(syscall.SIGINT, syscall.SIGINT), statuses: []int{130}, orphaned: true, resume: true},
	{name: "TERM", target: orchestrator, strike: press(syscall.SIGTERM), statuses: []int{143}},
	{name: "HUP", target: orchestrator, strike: press(syscall.SIGHUP), statuses: []int{129}},
	{name: "disk full", target: sut, strike: fill, statuses: []int{1}, words: failedFor("no space left"), rough: true, disk: true, resume: true},
	{name: "port taken", target: shell, strike: takePort, statuses: []int{1}, words: failedFor("in use", "who listens there"), late: true},
	{name: "no descriptors for the SUT", target: sut, strike: shrink(unix.RLIMIT_NOFILE, openFiles), statuses: failedOrNot, words: failedFor("no request succeeded", "half of the requests", "got an answer", "not ready", "answered 5", "no answer", "established", "exit status")},
	{name: "no descriptors for the load", target: load, strike: shrink(unix.RLIMIT_NOFILE, openFiles), statuses: failedOrNot, words: failedFor("established", "exit status", "got an answer", "succeeded")},
	{name: "no descriptors for the orchestrator", target: orchestrator, strike: shrink(unix.RLIMIT_NOFILE, openFiles), statuses: failedOrNot, words: failedFor("too many open files"), rough: true},
	{name: "no more memory for the SUT", target: sut, strike: shrink(unix.RLIMIT_AS, addressSpace), statuses: failedOrNot, words: failedFor("exit status", "SIG", "had died")},
	{name: "no more memory for the load", target: load, strike: shrink(unix.RLIMIT_AS, addressSpace), statuses: failedOrNot, words: failedFor("exit status", "SIG")},
	{name: "no more memory for the orchestrator", target: orchestrator, strike: shrink(unix.RLIMIT_AS, addressSpace), statuses: []int{0, 1, 2, died}, orphaned: true, rough: true},
}
