package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/process"

	"loomlab/lab/java"
)

// peerDelay is what every peer sleeps.
const peerDelay = 100 * time.Millisecond

// peer is a server that answers after 100 ms.
type peer struct {
	name    string
	missing string // why it is not measured
	argv    func(port int) []string
}

// peers are the servers to compare, ours first.
func (b *downstreamBench) peers() []peer {
	java := peer{name: "JDK HttpServer, virtual threads"}
	jdk, err := jdkWithCompiler()
	source := filepath.Join("testdata", "apps", "tools", "DelayServer.java")
	if err == nil {
		_, err = os.Stat(source)
	}
	if err != nil {
		java.missing = err.Error()
	} else {
		java.name += ", " + jdk.Version
		java.argv = func(port int) []string {
			return []string{jdk.Java, source, strconv.Itoa(port), strconv.FormatInt(peerDelay.Milliseconds(), 10)}
		}
	}
	return []peer{
		{name: "loomlab downstream", argv: func(port int) []string {
			return []string{b.binary, "downstream", "--listen", "127.0.0.1:" + strconv.Itoa(port), "--delay", peerDelay.String()}
		}},
		{name: "Go net/http that sleeps", argv: func(port int) []string {
			return []string{os.Args[0], "net-http-peer", strconv.Itoa(port)}
		}},
		java,
	}
}

// jdkWithCompiler finds a JDK that can run a source file with virtual threads.
func jdkWithCompiler() (best java.JDK, err error) {
	for _, j := range java.FindJDKs(context.Background()) {
		if j.Problem == "" && !j.JRE && j.Major >= java.MinJDK && j.Major > best.Major {
			best = j
		}
	}
	if best.Major == 0 {
		return best, fmt.Errorf("no JDK %d or newer with a compiler", java.MinJDK)
	}
	return best, nil
}

// netHTTPPeer is the Go peer; the benchmark starts itself as that.
func netHTTPPeer(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: net-http-peer PORT")
	}
	return http.ListenAndServe("127.0.0.1:"+args[0], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(peerDelay)
		_, _ = w.Write([]byte("ok")) // a client that is gone is no matter
	}))
}

// launch starts a peer on a free port and waits until it answers.
func launch(argv func(port int) []string) (url string, stop func(), pid int, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, 0, err
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	words := argv(port)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, 0, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	url = "http://127.0.0.1:" + strconv.Itoa(port)
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r, err := client.Get(url)
		if err == nil {
			r.Body.Close()
			return url, stop, cmd.Process.Pid, nil
		}
		if time.Now().After(deadline) {
			stop()
			return "", nil, 0, fmt.Errorf("%s did not answer: %w", strings.Join(words, " "), err)
		}
	}
}

// cpuSeconds is what a process has used so far.
func cpuSeconds(pid int) (float64, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	t, err := p.Times()
	if err != nil {
		return 0, err
	}
	return t.User + t.System, nil
}
