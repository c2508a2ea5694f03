package probes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the child processes: no build step, no other program.
func TestMain(m *testing.M) {
	if role := os.Getenv("PROBES_TEST_ROLE"); role != "" {
		play(role, os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role string, args []string) {
	switch role {
	case "idle":
		fmt.Println("ready")
	case "burn": // for the given CPU milliseconds, then says what it used
		ms, _ := strconv.Atoi(args[0])
		burn(time.Duration(ms) * time.Millisecond)
		fmt.Println(ownCPU())
	case "fork": // n children, one after the other, each burning some milliseconds
		n, _ := strconv.Atoi(args[0])
		for range n {
			c := command("burn-and-go", args[1])
			if err := c.Run(); err != nil {
				fmt.Println(err)
			}
		}
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)
		fmt.Println(ownCPU() + seconds(u))
	case "burn-and-go":
		ms, _ := strconv.Atoi(args[0])
		burn(time.Duration(ms) * time.Millisecond)
		return
	case "parent": // starts its own arguments as a child of its own, and passes on what that says
		c := command(args[0], args[1:]...)
		c.Stdout, c.Stdin = os.Stdout, os.Stdin
		_ = c.Run()
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(l.Addr().(*net.TCPAddr).Port)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test lets go
}

func burn(cpu time.Duration) {
	for x, start := 1.0, ownCPU(); ownCPU()-start < cpu.Seconds(); {
		for range 100_000 {
			x = x*1.0000001 + 1e-9
		}
		sink = x
	}
}

var sink float64

func ownCPU() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return seconds(u)
}

func seconds(u syscall.Rusage) float64 {
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func command(role string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), "PROBES_TEST_ROLE="+role, "GORACE=atexit_sleep_ms=0") // the race detector would hold each child for a second
	return c
}

// child is a started role. Closing its stdin lets it end.
type child struct {
	*exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func start(t *testing.T, c *exec.Cmd) *child {
	t.Helper()
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ch := &child{c, stdin, bufio.NewReader(stdout)}
	t.Cleanup(func() {
		ch.stdin.Close()
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return ch
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child said %q: %v", s, err)
	}
	return strings.TrimSpace(s)
}

func (c *child) number(t *testing.T) float64 {
	t.Helper()
	text := c.line(t)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("child said %q", text)
	}
	return f
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// eventually retries what another process does in its own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 10 s: %s", what)
}

func near(t *testing.T, what string, got, want, slack float64) {
	t.Helper()
	if got < want-slack || got > want+slack {
		t.Errorf("%s: %v, want %v ± %v", what, got, want, slack)
	}
}
