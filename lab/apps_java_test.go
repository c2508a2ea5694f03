package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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

// realApps builds the real jars, or skips where the machine cannot.
func realApps(t *testing.T) (JDK, Apps) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short; the Spring Boot apps are not tested")
	}
	found := FindJDKs(t.Context())
	jdk, err := SelectJDK(t.Context(), found, "")
	if err != nil {
		skipApps(t, "%v", err)
	}
	compiler, err := CompilerFor(found, jdk)
	if err != nil {
		skipApps(t, "%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	apps, err := BuildApps(ctx, BuildOptions{JDK: compiler, Log: func(line string) { t.Log(line) }})
	if errors.Is(err, ErrNoMaven) || err != nil && strings.Contains(err.Error(), "Could not transfer artifact") {
		skipApps(t, "there is no Maven or no network: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jdk, apps
}

// resettable answers ok after 100 ms, or resets the connection.
type resettable struct {
	*httptest.Server
	reset atomic.Bool
}

func newResettable(t *testing.T) *resettable {
	d := &resettable{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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

// startApp runs an app until the test ends and returns its URL once it answers.
func startApp(t *testing.T, jdk JDK, app App, downstream string, args ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()

	argv := append([]string{"-Xmx256m", "-jar", app.Jar, fmt.Sprintf("--server.port=%d", port), "--lab.downstream=" + downstream}, args...)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := toolCommand(ctx, jdk.Java, argv...)
	logPath := filepath.Join(t.TempDir(), "app.log")
	log, err := os.Create(logPath)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	ended := make(chan error, 1)
	go func() { ended <- runTool(cmd) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		log.Close()
		if text, _ := os.ReadFile(logPath); t.Failed() || strings.Contains(string(text), "\tat ") {
			t.Errorf("%s %v logged:\n%s", app.Name, args, text)
		}
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(url + "/hello"); err == nil {
			resp.Body.Close()
			return url
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v", app.Name, err)
		default:
		}
	}
	t.Fatalf("%s never answered", app.Name)
	return ""
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
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

func TestRealApps(t *testing.T) {
	jdk, apps := realApps(t)
	tests := []struct {
		name, app string
		args      []string
		exception string // its beginning, after a reset
		info      map[string]string
	}{
		{name: "platform", app: "mvc", exception: "ResourceAccessException <- ", info: map[string]string{
			"boot": DefaultBoot, "client_factory": "JdkClientHttpRequestFactory", "client_virtual": "false", "server_virtual": "false",
			"tomcat_max_threads": "200", "tomcat_max_connections": "8192", "tomcat_accept_count": "100", "tomcat_keep_alive_requests": "100",
		}},
		{name: "virtual", app: "mvc", args: []string{"--spring.threads.virtual.enabled=true"}, exception: "ResourceAccessException <- ", info: map[string]string{
			"client_factory": "JdkClientHttpRequestFactory", "client_virtual": "true", "server_virtual": "true", "tomcat_max_threads": "unlimited",
		}},
		{name: "webflux", app: "webflux", exception: "WebClientRequestException <- ", info: map[string]string{
			"boot": DefaultBoot, "client_factory": "ReactorClientHttpConnector", "client_pool": "20000", "client_pending": "unlimited",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			app, ok := apps.App(tt.app)
			if !ok {
				t.Fatalf("no app %s", tt.app)
			}
			downstream := newResettable(t)
			url := startApp(t, jdk, app, downstream.URL, tt.args...)
			for path, want := range map[string]string{"/call": "ok", "/hello": "hello", "/lab/exceptions": "{}"} {
				if status, body := get(t, url+path); status != 200 || body != want {
					t.Errorf("%s: %d %q, want %q", path, status, body, want)
				}
			}
			if status, _ := get(t, url+"/nothing"); status != 404 {
				t.Errorf("an unknown path: %d", status)
			}

			downstream.reset.Store(true)
			for range 3 {
				if status, body := get(t, url+"/call"); status != 500 || !strings.HasPrefix(body, tt.exception) {
					t.Errorf("after a reset: %d %q", status, body)
				}
			}
			exceptions := getObject[int](t, url+"/lab/exceptions")
			if len(exceptions) != 1 {
				t.Errorf("exceptions: %v, want one kind", exceptions)
			}
			for kind, count := range exceptions {
				if !strings.HasPrefix(kind, tt.exception) || !strings.Contains(kind, "reset") || count != 3 {
					t.Errorf("exceptions: %q = %d", kind, count)
				}
			}

			info := getObject[string](t, url+"/lab/info")
			for key, want := range tt.info {
				if info[key] != want {
					t.Errorf("info %s = %q, want %q", key, info[key], want)
				}
			}
			t.Logf("info: %v", info)
		})
	}
}

// RestClient takes whichever client it finds first: there must be only one to find.
func TestRealAppsHaveOneClient(t *testing.T) {
	_, apps := realApps(t)
	mvc, _ := apps.App("mvc")
	jars, err := filepath.Glob(filepath.Join(mvc.Dir, "lib", "*.jar"))
	if err != nil || len(jars) < 10 {
		t.Fatalf("jars of mvc: %v, %v", jars, err)
	}
	for _, jar := range jars {
		for _, client := range []string{"httpclient", "jetty", "reactor", "netty", "okhttp"} {
			if name := filepath.Base(jar); strings.Contains(name, client) {
				t.Errorf("%s brings another HTTP client", name)
			}
		}
	}
}
