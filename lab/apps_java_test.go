package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loomlab/lab/java"
)

// skipApps skips a test of the real apps, loudly, or fails it where
// LOOMLAB_REQUIRE_JDK=1 says that the machine has what they need.
func skipApps(t *testing.T, format string, a ...any) {
	t.Helper()
	if os.Getenv("LOOMLAB_REQUIRE_JDK") == "1" {
		t.Fatalf("LOOMLAB_REQUIRE_JDK=1, but the Spring Boot apps cannot be tested: "+format, a...)
	}
	t.Skipf("SKIPPED: the Spring Boot apps are not tested: "+format, a...)
}

// realApps builds real jars (nil: all) with a Boot version, or skips where the machine cannot.
func realApps(t *testing.T, boot string, names []string) (java.JDK, java.Apps) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short; the Spring Boot apps are not tested")
	}
	found := java.FindJDKs(t.Context())
	jdk, err := java.SelectJDK(t.Context(), found, "")
	if err != nil {
		skipApps(t, "%v", err)
	}
	compiler, err := java.CompilerFor(found, jdk)
	if err != nil {
		skipApps(t, "%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	apps, err := java.BuildApps(ctx, java.BuildOptions{Apps: names, Boot: boot, JDK: compiler, Log: func(line string) { t.Log(line) }})
	if errors.Is(err, java.ErrNoMaven) || err != nil && strings.Contains(err.Error(), "Could not transfer artifact") {
		skipApps(t, "there is no Maven or no network: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jdk, apps
}

// resettable answers ok after 100 ms, or resets the connection. It counts the
// requests by path.
type resettable struct {
	*httptest.Server
	reset atomic.Bool
	mu    sync.Mutex
	paths map[string]int
}

func newResettable(t *testing.T) *resettable {
	d := &resettable{paths: map[string]int{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.paths[r.URL.Path]++
		d.mu.Unlock()
		if d.reset.Load() {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
		io.WriteString(w, "ok")
	}))
	t.Cleanup(d.Close)
	return d
}

// asked is what was requested so far, by path.
func (d *resettable) asked() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.paths)
}

// startApp runs an app until the test ends and returns its URL once it answers.
func startApp(t *testing.T, jdk java.JDK, app java.App, downstream string, args ...string) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{jdk.Java, "-Xmx256m", "-jar", app.Jar, fmt.Sprintf("--server.port=%d", port), "--lab.downstream=" + downstream}, args...)
	logPath := filepath.Join(t.TempDir(), "app.log")
	log, err := os.Create(logPath)
	if err != nil {
		t.Fatal(err)
	}
	// Behind a guard it ends with this process, whatever ends that.
	running, err := start(os.Args[0], launch{tier: "sut", argv: argv, log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		running.stop()
		log.Close()
		if text, _ := os.ReadFile(logPath); t.Failed() || strings.Contains(string(text), "\tat ") {
			t.Errorf("%s %v logged:\n%s", app.Name, args, text)
		}
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if resp, err := appClient.Get(url + "/hello"); err == nil {
			resp.Body.Close()
			return url
		}
		if running.hasEnded() {
			t.Fatalf("%s %s%s", app.Name, running.cause(), running.lastWords())
		}
	}
	t.Fatalf("%s never answered", app.Name)
	return ""
}

// appClient fails a test whose app never answers, rather than wait for ever. It
// opens a connection for each request: see TestWebfluxStopsReading.
var appClient = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := appClient.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func getObject[V any](t *testing.T, url string) map[string]V {
	t.Helper()
	status, body := get(t, url)
	var object map[string]V
	if err := json.Unmarshal([]byte(body), &object); status != 200 || err != nil {
		t.Fatalf("%s: %d %v: %s", url, status, err, body)
	}
	return object
}
