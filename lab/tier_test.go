package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"loomlab/lab/guard"
)

// startScript starts sh -c script as a tier and stops it when the test ends.
func startScript(t *testing.T, script string) *tier {
	t.Helper()
	tr, err := start(os.Args[0], launch{tier: "sut", argv: []string{"sh", "-c", script}, log: io.Discard, grace: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.stop)
	return tr
}

// awaitFile returns the content of a file that a child writes, as an int.
func awaitPID(t *testing.T, path string) int {
	t.Helper()
	for range 500 {
		if b, err := os.ReadFile(path); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				return pid
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s was not written", path)
	return 0
}

// alive tells whether a process exists and is no zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
	}
	rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
	return !strings.HasPrefix(strings.TrimSpace(rest), "Z")
}

func awaitGone(t *testing.T, within time.Duration, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for end := time.Now().Add(within); alive(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %d is still there after %v", pid, within)
			}
		}
	}
}

func TestTierStopEndsEveryDescendant(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	stubborn, daemon := filepath.Join(dir, "stubborn"), filepath.Join(dir, "daemon")
	// A grandchild that ignores TERM, and one that left the process group.
	tr := startScript(t, fmt.Sprintf(`
		sh -c 'trap "" TERM; echo $$ > %s; while :; do sleep 1; done' &
		setsid sh -c 'echo $$ > %s; exec sleep 60' &
		wait`, stubborn, daemon))
	pids := []int{tr.pid, awaitPID(t, stubborn), awaitPID(t, daemon)}
	began := time.Now()
	tr.stop()
	awaitGone(t, time.Second, pids...)
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("stopping took %v with a grace of 300 ms", took)
	}
}

func TestTierEndsWithItsOrchestrator(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "grandchild")
	cmd := exec.Command(os.Args[0], "orchestrate", fmt.Sprintf(`sh -c 'trap "" TERM; echo $$ > %s; while :; do sleep 1; done' & wait`, pidFile))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	grandchild := awaitPID(t, pidFile)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitGone(t, 5*time.Second, child, grandchild)
}

// The grace of a stop is cut short when whoever waits for it ends.
func TestTierStopIsHurriedByTheEndOfItsOrchestrator(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "stubborn")
	tr, err := start(os.Args[0], launch{tier: "sut", argv: []string{"sh", "-c", fmt.Sprintf(`trap "" TERM; echo $$ > %s; while :; do sleep 1; done`, pidFile)}, log: io.Discard, grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.stop)
	pid := awaitPID(t, pidFile)
	if _, err := tr.lifeline.Write(guard.OrderlyStop); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if !alive(pid) {
		t.Fatal("it was killed within its grace")
	}
	tr.lifeline.Close() // as the kernel does when the orchestrator ends
	awaitGone(t, 10*time.Second, pid)
}

func TestTierOutlivesNoGuard(t *testing.T) {
	tr := startScript(t, "exec sleep 60")
	if err := tr.guard.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-tr.done
	if got := tr.cause(); got != "lost its guard, which was killed" {
		t.Errorf("cause = %q", got)
	}
	tr.stop()
	awaitGone(t, time.Second, tr.pid)
}

// TestLostGuard: the orchestrator ends what a killed guard has left, also what had
// made a session of its own.
func TestLostGuard(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: without subreapers a session of its own escapes")
	}
	dir := t.TempDir()
	daemon, child := filepath.Join(dir, "daemon"), filepath.Join(dir, "child")
	script := fmt.Sprintf(`setsid sh -c 'trap "" TERM HUP; echo $$ > %s; while :; do sleep 1; done' & echo $$ > %s; wait`, daemon, child)
	cmd := exec.Command(os.Args[0], "lose-guard", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := []int{awaitPID(t, daemon), awaitPID(t, child)}
	in.Close() // now
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	awaitGone(t, 0, pids...)
}

func TestTierCause(t *testing.T) {
	for script, want := range map[string]string{
		"echo boom >&2; exit 3": "ended with exit status 3",
		"kill -SEGV $$":         "died of SIGSEGV",
		"kill -KILL $$":         "was killed by SIGKILL (out of memory, or somebody ended it)",
		"echo 'has been compiled by a more recent version of the Java Runtime (class file version 65.0), this version of the Java Runtime only recognizes class file versions up to 61.0'; exit 1": "ended with exit status 1 (the jar needs JDK 21 and runs on 17: choose another with --jdk, which a command of your own takes as {{jdk}}/bin/java)",
	} {
		tr := startScript(t, script)
		<-tr.gone
		if got := tr.cause(); got != want {
			t.Errorf("%s: cause = %q, want %q", script, got, want)
		}
		if strings.Contains(script, "boom") && tr.lastWords() != "\n    boom" {
			t.Errorf("last words = %q", tr.lastWords())
		}
	}
}

func TestTierCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"/nonexistent/java": "command not found: /nonexistent/java",
		plain:               plain + " is not executable",
		dir:                 dir + " is a directory, not a command",
	} {
		_, err := start(os.Args[0], launch{tier: "sut", argv: []string{command}, log: io.Discard})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

func TestTierOutput(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var lines []string
	var log strings.Builder
	tr, err := start(os.Args[0], launch{tier: "load", log: &log, stdin: true,
		argv:  []string{"sh", "-c", `echo one; read x; echo "two $x"; echo err >&2`},
		lines: func(b []byte) { lines = append(lines, string(b)) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(tr.stdin, "start\n"); err != nil {
		t.Fatal(err)
	}
	<-tr.gone
	if got := strings.Join(lines, "|"); got != "one|two start" {
		t.Errorf("lines = %q", got)
	}
	if log.String() != "err\n" {
		t.Errorf("log = %q", log.String())
	}
}
