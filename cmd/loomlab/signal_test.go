package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// standinSUT is a --sut that is quick to start; flags are added to it.
func standinSUT(name, flags string) string {
	return name + "=loomlab standin --listen 127.0.0.1:{{port}} --model goroutines --downstream {{downstream}} " + flags
}

// runProcess is `loomlab run` as a process that gets signals.
type runProcess struct {
	t              *testing.T
	cmd            *exec.Cmd
	out            string // its --out
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// startRun starts `loomlab run --json` on small windows; later flags count.
func startRun(t *testing.T, flags ...string) *runProcess {
	t.Helper()
	out := t.TempDir()
	return startRunIn(t, out, append([]string{"run", "--json", "--out", out, "--delay", "10ms", "--rounds", "1", "--warmup", "none", "--duration", "300ms"}, flags...)...)
}

// startRunIn starts loomlab with args, which keep the run under out.
func startRunIn(t *testing.T, out string, args ...string) *runProcess {
	t.Helper()
	p := &runProcess{t: t, out: out, ended: make(chan struct{})}
	p.cmd = exec.Command("loomlab", args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is in ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("stderr:\n%s", p.stderr.String())
		}
	})
	return p
}

// await waits until the condition holds, for half a minute: the machine may be busy.
func (p *runProcess) await(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.ended:
			p.t.Fatalf("the run ended before %s", what)
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("never saw %s", what)
		}
	}
}

// awaitIn waits until a file of the run directory contains text.
func (p *runProcess) awaitIn(file, text string) {
	p.t.Helper()
	p.await(text+" in "+file, func() bool {
		content, _ := os.ReadFile(filepath.Join(p.out, "last", file)) // not there yet
		return strings.Contains(string(content), text)
	})
}

func (p *runProcess) awaitFile(path string) {
	p.t.Helper()
	p.await(path, func() bool { _, err := os.Stat(path); return err == nil })
}

// signal sends a signal and returns the processes that were below the run.
func (p *runProcess) signal(s syscall.Signal) (below []int) {
	p.t.Helper()
	below = probes.NewFS("/").Descendants(p.cmd.Process.Pid)
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return below
}

// end waits for the end of the run and returns its exit status.
func (p *runProcess) end(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		p.t.Fatalf("still running %v later", within)
	}
	return p.cmd.ProcessState.ExitCode()
}

// document is the JSON on stdout, which must be all that is there.
func (p *runProcess) document() (doc struct {
	Run   record.Run    `json:"run"`
	Cells []record.Cell `json:"cells"`
}) {
	p.t.Helper()
	if err := json.Unmarshal(p.stdout.Bytes(), &doc); err != nil {
		p.t.Fatalf("stdout is not one JSON document: %v\n%.300s", err, p.stdout.String())
	}
	return doc
}

// assertGone fails when one of the processes is still there after so long.
func assertGone(t *testing.T, pids []int, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		left := []string{}
		for _, pid := range pids {
			if line, running := commandOf(pid); running {
				left = append(left, fmt.Sprintf("%d %s", pid, line))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still running: %s", strings.Join(left, "; "))
		}
	}
}

// commandOf returns the command line of a process that is there and no zombie.
func commandOf(pid int) (line string, running bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if _, err := os.Stat("/proc/self/stat"); err == nil {
			return "", false
		}
		return "", syscall.Kill(pid, 0) == nil
	}
	if _, rest, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(rest, "Z") {
		return "", false
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty when it is about to end
	return strings.ReplaceAll(string(text), "\x00", " "), true
}

func statuses(cells []record.Cell) string {
	words := make([]string, len(cells))
	for i, c := range cells {
		words[i] = c.Status
	}
	return strings.Join(words, " ")
}

// Whatever a run is doing, a signal ends it soon with everything below it; what
// was measured is kept, and stdout is one JSON document.
func TestSignalEndsARun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		flags  []string
		phase  func(p *runProcess)
		signal syscall.Signal
		status int
		cells  []string // statuses; several where it depends on the moment
	}{
		{
			name:   "while the SUT starts",
			flags:  []string{"--connections", "2", "--sut", "mute=sh -c 'touch $0; exec sleep 600' {{run_dir}}/started {{port}}"},
			phase:  func(p *runProcess) { p.awaitFile(filepath.Join(p.out, "last", "started")) },
			signal: syscall.SIGHUP, status: 129, cells: []string{""},
		},
		{
			name:   "in the warm-up",
			flags:  []string{"--connections", "2", "--warmup", "60s", "--sut", standinSUT("a", "")},
			phase:  func(p *runProcess) { p.awaitIn("series.jsonl", `"phase":"warmup"`) },
			signal: syscall.SIGTERM, status: 143, cells: []string{"interrupted"},
		},
		{
			name:   "in a window",
			flags:  []string{"--connections", "2", "--duration", "60s", "--sut", standinSUT("a", "")},
			phase:  func(p *runProcess) { p.awaitIn("series.jsonl", `"phase":"window"`) },
			signal: syscall.SIGINT, status: 130, cells: []string{"interrupted"},
		},
		{
			name:   "between two cells",
			flags:  []string{"--connections", "3,2", "--sut", standinSUT("a", "")},
			phase:  func(p *runProcess) { p.awaitIn("cells.jsonl", "\n") },
			signal: syscall.SIGINT, status: 130, cells: []string{"ok", "ok interrupted"}, // the second had not begun, or had
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startRun(t, tt.flags...)
			tt.phase(p)
			below := p.signal(tt.signal)
			if status := p.end(15 * time.Second); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			assertGone(t, below, 0)
			doc := p.document()
			if doc.Run.Status != "interrupted" || doc.Run.Finished == nil || !slices.Contains(tt.cells, statuses(doc.Cells)) {
				t.Errorf("run %q, cells %q, want %q", doc.Run.Status, statuses(doc.Cells), tt.cells)
			}
			saved, err := record.Open(filepath.Join(p.out, "last"))
			if err != nil || len(saved.Warnings) > 0 || len(saved.Cells) != len(doc.Cells) {
				t.Errorf("read back: %v, %v", err, saved)
			}
			if strings.Contains(p.stderr.String(), "goroutine ") {
				t.Errorf("a stack trace")
			}
		})
	}
}

// stubbornSUT ignores TERM, as do its children, and says when it runs.
const stubbornSUT = `mute=sh -c 'trap "" TERM INT HUP; (trap "" TERM; touch $0; while :; do sleep 1; done) & while :; do sleep 1; done' {{run_dir}}/started {{port}}`

func TestSecondSignalEndsARunAtOnce(t *testing.T) {
	t.Parallel()
	p := startRun(t, "--connections", "2", "--sut", stubbornSUT)
	p.awaitFile(filepath.Join(p.out, "last", "started"))
	below := p.signal(syscall.SIGINT)
	time.Sleep(300 * time.Millisecond) // the first one is being honoured: the SUT has 5 s of grace
	p.signal(syscall.SIGINT)
	if status := p.end(3 * time.Second); status != 130 {
		t.Errorf("exit status %d, want 130", status)
	}
	assertGone(t, below, 5*time.Second)
}

func TestKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"with a SUT that ignores TERM": {"--sut", stubbornSUT},
		"in a window":                  {"--duration", "60s", "--sut", standinSUT("a", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startRun(t, append(flags, "--connections", "2")...)
			if strings.Contains(name, "window") {
				p.awaitIn("series.jsonl", `"phase":"window"`)
			} else {
				p.awaitFile(filepath.Join(p.out, "last", "started"))
			}
			below := p.signal(syscall.SIGKILL)
			if len(below) < 4 {
				t.Errorf("only %d processes below the run", len(below))
			}
			assertGone(t, below, 5*time.Second)
			saved, err := record.Open(filepath.Join(p.out, "last"))
			if err != nil || saved.Run.Status != "running" {
				t.Errorf("the run cannot be read back: %v", err)
			}
		})
	}
}
