package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"loomlab/downstream"
	"loomlab/lab/java"
)

// Every app answers these, beside its own.
var commonPaths = map[string]string{
	"/hello": "hello", "/call": "ok", "/io-test": "ok", "/cpu?n=3": workRounds(3),
	"/sleep?ms=1": "ok", "/async?n=7": "7", "/async/sleep?n=7": "7", "/lab/exceptions": "{}",
}

// commonAsked is what they ask of the downstream.
var commonAsked = map[string]int{"/": 1, "/delay/100": 1 + 7}

// workRounds is the answer of /cpu: n rounds of a thousand xorshift steps, in hex.
func workRounds(n int) string {
	x := uint64(0x9E3779B97F4A7C15)
	for range n * 1000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return fmt.Sprintf("%x", x)
}

func TestRealApps(t *testing.T) {
	jdk, apps := realApps(t, java.DefaultBoot, nil)
	pinned := map[string]string{"/pinned?ms=1": "ok", "/pinned/call?ms=1": "ok", "/pinned/lock?ms=1": "ok"}
	blocked := map[string]string{"/blocked?ms=1": "ok", "/blocked/elastic?ms=1": "ok"}
	tests := []struct {
		name, app string
		args      []string
		paths     map[string]string // to the common ones
		absent    []string
		asked     map[string]int
		exception string // its beginning, after a reset
		info      map[string]string
	}{
		{name: "platform", app: "mvc", paths: pinned, absent: []string{"/blocked", "/grpc", "/db/light"}, asked: map[string]int{"/delay/1": 1},
			exception: "ResourceAccessException <- ", info: map[string]string{
				"boot": java.DefaultBoot, "client_factory": "JdkClientHttpRequestFactory", "client_virtual": "false", "server_virtual": "false",
				"tomcat_max_threads": "200", "tomcat_max_connections": "8192", "tomcat_accept_count": "100", "tomcat_keep_alive_requests": "100",
			}},
		{name: "virtual", app: "mvc", args: []string{"--spring.threads.virtual.enabled=true"}, paths: pinned, asked: map[string]int{"/delay/1": 1},
			exception: "ResourceAccessException <- ", info: map[string]string{
				"client_factory": "JdkClientHttpRequestFactory", "client_virtual": "true", "server_virtual": "true", "tomcat_max_threads": "unlimited",
			}},
		{name: "webflux", app: "webflux", args: []string{"--lab.server.backlog=1024", "--lab.server.receive-buffer=32KB", "--lab.server.no-delay=true"},
			paths: blocked, absent: []string{"/pinned", "/grpc", "/db/light"}, exception: "WebClientRequestException <- ", info: map[string]string{
				"boot": java.DefaultBoot, "client_factory": "ReactorClientHttpConnector", "client_pool": "20000", "client_pending": "unlimited",
			}},
		// Without a URL there is no database; the app starts all the same.
		{name: "mvc-data", app: "mvc-data", absent: []string{"/db/light", "/db/heavy"}, exception: "ResourceAccessException <- ", info: map[string]string{
			"client_factory": "JdkClientHttpRequestFactory", "tomcat_max_threads": "200", "db_pool": "",
		}},
		{name: "webflux-data", app: "webflux-data", absent: []string{"/db/light", "/db/heavy"}, exception: "WebClientRequestException <- ", info: map[string]string{
			"client_factory": "ReactorClientHttpConnector", "client_pool": "20000", "db_pool": "",
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
			for _, paths := range []map[string]string{commonPaths, tt.paths} {
				for path, want := range paths {
					if status, body := get(t, url+path); status != 200 || body != want {
						t.Errorf("%s: %d %q, want %q", path, status, body, want)
					}
				}
			}
			wantAsked := maps.Clone(commonAsked)
			maps.Copy(wantAsked, tt.asked)
			if asked := downstream.asked(); !maps.Equal(asked, wantAsked) {
				t.Errorf("the downstream was asked for %v, want %v", asked, wantAsked)
			}
			for _, path := range append(tt.absent, "/nothing") {
				if status, _ := get(t, url+path); status != 404 {
					t.Errorf("%s, which it does not have: %d", path, status)
				}
			}
			if status, body := get(t, url+"/sleep?ms=soon"); status != 400 {
				t.Errorf("ms=soon: %d %q", status, body)
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

// The Java side is generated from hello.proto, the Go side is not: here they meet.
func TestRealAppsCallGRPC(t *testing.T) {
	jdk, apps := realApps(t, java.DefaultBoot, nil)
	for _, name := range []string{"mvc-grpc", "webflux-grpc"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := downstream.New(downstream.Config{Listen: "127.0.0.1:0", GRPC: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- server.Serve(t.Context()) }()
			app, ok := apps.App(name)
			if !ok {
				t.Fatalf("no app %s", name)
			}
			url := startApp(t, jdk, app, server.URL(), "--lab.grpc="+server.GRPCAddr())
			for path, want := range map[string]string{"/grpc": "Hello, loom", "/call": "ok"} {
				if status, body := get(t, url+path); status != 200 || body != want {
					t.Errorf("%s: %d %q, want %q", path, status, body, want)
				}
			}

			if err := server.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if status, body := get(t, url+"/grpc"); status != 500 || !strings.HasPrefix(body, "StatusRuntimeException <- ") {
				t.Errorf("without its server: %d %q", status, body)
			}
		})
	}
}

// RestClient takes whichever client it finds first: there must be only one to find.
func TestRealAppsHaveOneClient(t *testing.T) {
	_, apps := realApps(t, java.DefaultBoot, nil)
	for _, name := range []string{"mvc", "mvc-data", "mvc-grpc"} {
		for _, jar := range jarsOf(t, apps, name) {
			if name == "mvc-grpc" && strings.HasPrefix(jar, "grpc-netty-shaded-") {
				continue // its Netty goes by other names, which RestClient does not look for
			}
			for _, client := range []string{"httpclient", "jetty", "reactor", "netty", "okhttp"} {
				if strings.Contains(jar, client) {
					t.Errorf("%s: %s brings another HTTP client", name, jar)
				}
			}
		}
	}
}

// The article's SUTs carry no library of other experiments.
func TestRealAppsAreLean(t *testing.T) {
	_, apps := realApps(t, java.DefaultBoot, nil)
	for _, name := range []string{"mvc", "webflux"} {
		for _, jar := range jarsOf(t, apps, name) {
			for _, other := range []string{"postgresql", "HikariCP", "jdbc", "r2dbc", "grpc", "protobuf", "actuator", "micrometer-core"} {
				if strings.Contains(jar, other) {
					t.Errorf("%s: %s", name, jar)
				}
			}
		}
	}
}

// jarsOf are the names of an app's libraries.
func jarsOf(t *testing.T, apps java.Apps, name string) []string {
	t.Helper()
	app, ok := apps.App(name)
	jars, err := filepath.Glob(filepath.Join(app.Dir, "lib", "*.jar"))
	if !ok || err != nil || len(jars) < 10 {
		t.Fatalf("jars of %s: %v, %v", name, jars, err)
	}
	for i := range jars {
		jars[i] = filepath.Base(jars[i])
	}
	return jars
}

// One source builds for Boot 3.5 too.
func TestRealAppsBuildWithBoot3(t *testing.T) {
	jdk, apps := realApps(t, "3.5.7", nil)
	if len(apps.List) != len(java.AppNames) {
		t.Fatalf("built: %v", apps.List)
	}
	t.Run("mvc", func(t *testing.T) {
		app, _ := apps.App("mvc")
		url := startApp(t, jdk, app, newResettable(t).URL)
		if status, body := get(t, url+"/io-test"); status != 200 || body != "ok" {
			t.Errorf("/io-test: %d %q", status, body)
		}
		if info := getObject[string](t, url+"/lab/info"); info["boot"] != "3.5.7" || info["client_factory"] != "JdkClientHttpRequestFactory" {
			t.Errorf("info: %v", info)
		}
	})
}
