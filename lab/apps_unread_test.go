package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"loomlab/lab/java"
)

// Reactor Netty before 1.3.8 can stop reading a kept connection
// (github.com/reactor/reactor-netty, issue 4361 and pull request 4347; seen with the
// 1.3.7 of Boot 4.0.8). Its HttpTrafficHandler reads on demand, and queues a request
// that comes before the one before it has ended. When such a request is answered at
// once, while it is being taken from the queue, its end finds the queue not yet empty
// and leaves it to the queue to ask for the next read, which it does not do. Any
// later request stays in the socket until the client goes away.
//
// A client need not pipeline for that: the answer to /call is written from the loop
// that called the downstream and reaches a client before the server's loop has ended
// the request, so the next request on the connection, sent at once, is queued. The
// case then takes a path that is answered at once (/cpu, /hello, an error) after one
// that is not (/call): load on one path that succeeds never meets it, a mix of both is
// left with connections that time out, which the load engine counts as stuck.
// -Dreactor.netty.http.server.lastFlushWhenNoRead=true mends all but pipelining; Boot
// 4.0.9 brings 1.3.8.
//
// Pipelining shows it every time. When Boot brings a version that is mended, this
// test asks for the answer, and appClient may keep its connections.
func TestWebfluxStopsReading(t *testing.T) {
	jdk, apps := realApps(t, java.DefaultBoot, []string{"webflux"})
	app, ok := apps.App("webflux")
	if !ok {
		t.Fatal("no app webflux")
	}
	url := startApp(t, jdk, app, newResettable(t).URL)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	ask := func(paths ...string) {
		for i := range paths {
			paths[i] = "GET " + paths[i] + " HTTP/1.1\r\nHost: app\r\n\r\n"
		}
		if _, err := io.WriteString(conn, strings.Join(paths, "")); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(patience time.Duration) (string, error) {
		conn.SetReadDeadline(time.Now().Add(patience))
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	ask("/call", "/cpu?n=3")
	for _, want := range []string{"ok", workRounds(3)} {
		if body, err := answer(30 * time.Second); err != nil || body != want {
			t.Fatalf("%q, %v; want %q", body, err, want)
		}
	}
	ask("/hello")
	version := reactorNetty(t, apps)
	if version[0] > 1 || version[1] > 3 || version[1] == 3 && version[2] >= 8 {
		if body, err := answer(30 * time.Second); err != nil || body != "hello" {
			t.Errorf("Reactor Netty %v still stops reading: %q, %v", version, body, err)
		}
		return
	}
	if body, err := answer(time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Reactor Netty %v reads on: %q, %v; correct what this test says", version, body, err)
	}
}

// reactorNetty is the version that the app webflux was built with.
func reactorNetty(t *testing.T, apps java.Apps) (version [3]int) {
	t.Helper()
	for _, jar := range jarsOf(t, apps, "webflux") {
		if n, _ := fmt.Sscanf(jar, "reactor-netty-http-%d.%d.%d.jar", &version[0], &version[1], &version[2]); n == 3 {
			return version
		}
	}
	t.Fatal("webflux has no Reactor Netty")
	return version
}
