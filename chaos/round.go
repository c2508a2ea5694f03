//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a round.
const (
	comesWithin  = 40 * time.Second // the process that a fault strikes; a JVM takes a while on a busy machine
	momentWithin = 8 * time.Second  // after that, at random
	endsWithin   = 2 * time.Minute  // the run, after the fault
	goneWithin   = 5 * time.Second  // what an orchestrator leaves that was killed
	diskSize     = "size=4m"
	planned      = 2 // cells of a round's experiment
)

// zones are where the clock on the wall may stand: far ahead, far behind, odd
// minutes, one that is not there.
var zones = []string{"UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu", "No/Where"}

// round is one run that is broken.
type round struct {
	fault
	seed    uint64
	binary  string
	jars    bool
	mark    string // in the environment of every process of the round
	dir     string // holds all that follows
	out     string // --out
	temp    string // TMPDIR
	rng     *rand.Rand
	cmd     *exec.Cmd
	ended   chan struct{}
	closers []io.Closer
	taken   int // port that the fault holds

	struck   time.Time
	finished map[string]string // cells on disk then
	ports    map[int]bool      // on which tiers listened
	jvms     map[int]bool      // pids of JVMs
	report   report
}

func newRound(o options, dir string, n int, f fault) *round {
	seed := o.seed<<20 + uint64(n)
	return &round{
		fault: f, seed: seed, binary: o.binary, jars: o.jars && n%2 == 1,
		mark: fmt.Sprintf("%s=%d.%d.%d", markName, os.Getpid(), time.Now().UnixNano(), n),
		dir:  filepath.Join(dir, fmt.Sprintf("round-%d", n)),
		rng:  rand.New(rand.NewPCG(seed, 1)), ended: make(chan struct{}),
		ports: map[int]bool{}, jvms: map[int]bool{}, report: report{fault: f.name, seed: seed},
	}
}

// upTo is a random time below d.
func (r *round) upTo(d time.Duration) time.Duration { return time.Duration(r.rng.Int64N(int64(d))) }

func (r *round) wrong(format string, a ...any) {
	r.report.wrong = append(r.report.wrong, fmt.Sprintf(format, a...))
}

// play makes the round. Its files stay where something went wrong.
func (r *round) play(ctx context.Context) report {
	unmount, err := r.prepare()
	if err != nil {
		r.wrong("cannot begin: %v", err)
		return r.report
	}
	defer unmount()
	if err := r.start("run", filepath.Join(r.dir, "chaos.yaml"), "--json", "--out", r.out); err != nil {
		r.wrong("cannot begin: %v", err)
		return r.report
	}
	r.strikeSomewhere(ctx)
	r.awaitEnd(ctx)
	for _, c := range r.closers {
		_ = c.Close()
	}
	r.checkLeft()
	if ctx.Err() == nil {
		r.check()
		r.checkResume(ctx)
	}
	if !r.report.bad() {
		_ = os.RemoveAll(r.dir)
	}
	return r.report
}

// experiment is as quick as a run can be that has everything: two rungs with
// their calibration, or one start of a jar.
const experiment = `
name: chaos
title: a run that is going to be broken
downstream: {delay: 5ms}
load: {path: /call, connections: [4, 8], rounds: 1, duration: 400ms, timeout: 1s, warmup: none}
%ssuts:
  - {name: %s, %s, ready: {path: /call, timeout: %s}}
`

// suts are the ways in which a round's SUT is started.
func (r *round) sut() (name, how string) {
	own := fmt.Sprintf(`"%s", standin, --listen, "127.0.0.1:{{port}}", --downstream, "{{downstream}}", --model, `, r.binary)
	wrapped := fmt.Sprintf(`command: [sh, -c, '%%s', "%s", "{{port}}", "{{downstream}}"]`, r.binary)
	const serve = `"$0" standin --listen 127.0.0.1:$1 --downstream $2 --model goroutines`
	switch {
	case r.late:
		return "late", fmt.Sprintf(wrapped, "sleep 1.5; exec "+serve)
	case r.target == shell:
		return "wrapped", fmt.Sprintf(wrapped, serve+" & wait")
	case r.jars && !r.postgres:
		return "mvc", `app: mvc, jvm: [-Xmx128m, -Xms64m, "-XX:+UseSerialGC"]`
	case r.rng.IntN(3) == 0: // a daemon that has left its process group
		return "daemon", fmt.Sprintf(wrapped, "setsid "+serve+" & wait")
	}
	return "plain", "command: [" + own + []string{"threads", "goroutines", "event-loop"}[r.rng.IntN(3)] + "]"
}

// prepare makes the round's folders, and its small disk where it has one.
func (r *round) prepare() (unmount func(), err error) {
	r.out, r.temp = filepath.Join(r.dir, "out"), filepath.Join(r.dir, "tmp")
	for _, dir := range []string{r.out, r.temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	name, how := r.sut()
	fourth, ready := "", "8s"
	if name == "mvc" {
		ready = "60s" // a JVM, beside others that are broken
	}
	if r.postgres {
		fourth, how = "postgres: {}\n", how+`, env: {DATABASE: "{{jdbc}}"}`
		// PostgreSQL does not run as root, and has to come to its data.
		for _, dir := range []string{filepath.Dir(r.dir), r.dir, r.temp} {
			if err := os.Chmod(dir, 0o711); err != nil {
				return nil, err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, "chaos.yaml"), fmt.Appendf(nil, experiment, fourth, name, how, ready), 0o600); err != nil {
		return nil, err
	}
	if !r.disk {
		return func() {}, nil
	}
	if err := unix.Mount("tmpfs", r.out, "tmpfs", 0, diskSize); err != nil {
		return nil, err
	}
	return func() { _ = unix.Unmount(r.out, unix.MNT_DETACH) }, nil
}

// start runs loomlab with args; what it says goes to files of the round.
func (r *round) start(args ...string) error {
	stdout, err := os.Create(filepath.Join(r.dir, "stdout"))
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(r.dir, "stderr"))
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd := exec.Command(r.binary, args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(os.Environ(), r.mark, "TMPDIR="+r.temp, "TZ="+zones[r.rng.IntN(len(zones))])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Dir = r.dir // a JVM that crashes writes its report there
	if err := cmd.Start(); err != nil {
		return err
	}
	r.cmd, r.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // its status is in ProcessState
		close(ended)
	}(r.ended)
	return nil
}

func (r *round) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// sleep waits, but not beyond the end of the run.
func (r *round) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-r.ended:
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// strikeSomewhere waits for the process to strike, lets a random time pass, and
// strikes what plays that part then.
func (r *round) strikeSomewhere(ctx context.Context) {
	if r.strike == nil {
		return
	}
	if r.target == orchestrator {
		r.sleep(ctx, 500*time.Millisecond) // signals mean something once the run has begun
	}
	if !r.late {
		r.awaitTarget(ctx, comesWithin)
		r.sleep(ctx, r.upTo(momentWithin))
		if r.target == orchestrator { // which is there from the beginning
			r.sleep(ctx, r.upTo(momentWithin))
		}
	}
	pid := r.awaitTarget(ctx, comesWithin)
	if pid == 0 {
		r.report.missed = true
		return
	}
	r.finished = finishedCells(r.runDir())
	r.report.kept = len(r.finished)
	r.struck = time.Now()
	err := r.strike(r, pid)
	switch {
	case errors.Is(err, syscall.ESRCH):
		r.report.missed = true
	case err != nil:
		r.wrong("the fault itself failed: %v", err)
	}
	r.report.missed = r.report.missed || r.hasEnded() && r.struckLate()
}

// struckLate tells whether a run that has ended ended by itself, at the same
// moment as the fault came.
func (r *round) struckLate() bool { return r.cmd.ProcessState.ExitCode() == 0 }

// awaitTarget returns the pid of the process to strike, 0 if the run ends before
// there is one.
func (r *round) awaitTarget(ctx context.Context, within time.Duration) int {
	for end := time.Now().Add(within); time.Now().Before(end) && !r.hasEnded() && ctx.Err() == nil; {
		for _, p := range r.processes() {
			role := p.role(r.cmd.Process.Pid)
			if role == sut || role == down {
				r.notice(p)
			}
			if role == r.target {
				return p.pid
			}
		}
		r.sleep(ctx, 15*time.Millisecond)
	}
	return 0
}

// notice remembers what has to be gone in the end.
func (r *round) notice(p process) {
	for _, word := range p.argv {
		if port, ok := strings.CutPrefix(word, "127.0.0.1:"); ok {
			var n int
			if _, err := fmt.Sscan(port, &n); err == nil {
				r.ports[n] = true
			}
		}
	}
	if filepath.Base(p.argv[0]) == "java" {
		r.jvms[p.pid] = true
	}
}

// awaitEnd waits for the end of the run and ends it where it does not come.
func (r *round) awaitEnd(ctx context.Context) {
	select {
	case <-r.ended:
		return
	case <-ctx.Done():
		_ = r.cmd.Process.Signal(os.Interrupt)
		select {
		case <-r.ended:
			return
		case <-time.After(goneWithin):
		}
	case <-time.After(endsWithin):
		r.wrong("still running %v after the fault: %s", endsWithin, lastLine(filepath.Join(r.dir, "stderr")))
	}
	_ = r.cmd.Process.Kill()
	<-r.ended
}

func (r *round) runDir() string { return filepath.Join(r.out, "last") }
