package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loomlab/loadgen"
)

// build compiles the binary under test into a folder of its own, which the
// returned function removes.
func build() (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "loomlab-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	binary = filepath.Join(dir, "loomlab")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/loomlab")
	if out, err := cmd.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("go build (run it from the project's folder): %w\n%s", err, out)
	}
	return binary, remove, nil
}

// find looks for a peer on the PATH and where go install puts it.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if home, err := os.UserHomeDir(); err == nil {
		path := filepath.Join(home, "go", "bin", name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// raiseDescriptors lifts the limit for the children too: the runtime gives them
// the original one back unless the program has set it itself.
func raiseDescriptors() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
}

// cost runs a command to its end and returns what it printed and the CPU time
// that the kernel booked on it.
func cost(argv ...string) (out []byte, cpu time.Duration, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(argv, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), cpu, err
}

// loadEvents runs `loomlab load --samples` and calls each with its events, after
// started with its pid. An error of each ends the load.
func loadEvents(binary string, started func(pid int), each func(loadgen.Event) error, args ...string) (*loadgen.Result, error) {
	cmd := exec.Command(binary, append([]string{"load", "--samples", "--json"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	started(cmd.Process.Pid)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	var result *loadgen.Result
	for lines.Scan() {
		var e loadgen.Event
		if err = json.Unmarshal(lines.Bytes(), &e); err == nil && e.Event == "result" {
			result = &loadgen.Result{}
			err = json.Unmarshal(lines.Bytes(), result)
		}
		if err == nil {
			err = each(e)
		}
		if err != nil {
			_ = cmd.Process.Kill()
			return nil, errors.Join(err, cmd.Wait())
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	if result == nil {
		return nil, errors.New("loomlab load gave no result")
	}
	return result, nil
}

// server is a `loomlab downstream` that runs until stop.
type server struct {
	url string
	cmd *exec.Cmd
}

func startDownstream(binary string, args ...string) (*server, error) {
	cmd := exec.Command(binary, append([]string{"downstream", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		_ = cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("the downstream said %q", line), err, cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return &server{url: url, cmd: cmd}, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// cpu is what the downstream has used so far, by its own account.
func (s *server) cpu() (time.Duration, error) {
	answer, err := http.Get(s.url + "/lab/stats")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var stats struct {
		User   float64 `json:"cpu_user_s"`
		System float64 `json:"cpu_system_s"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
		return 0, err
	}
	return time.Duration((stats.User + stats.System) * 1e9), nil
}
