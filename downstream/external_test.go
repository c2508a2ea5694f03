package downstream

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// external runs a foreign client; without it on this machine the test is skipped.
func external(t *testing.T, name string, args ...string) (out string, err error) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT TESTED: %s is not installed", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	b, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return string(b), err
}

func TestCurl(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		args []string
		want []string // in its output
		exit string   // its error, "" for none
	}{
		{"two requests on one connection", Config{}, []string{"-v", "URL", "URL"}, []string{"200 OK", "e-us"}, ""},
		{"delay", Config{Delay: 50 * time.Millisecond}, []string{"-w", "%{time_starttransfer}", "URL"}, []string{"ok"}, ""},
		{"chunked", Config{Chunked: true}, []string{"-i", "URL"}, []string{"chunked", "ok"}, ""},
		{"head", Config{}, []string{"-I", "URL"}, []string{"Content-Length: 2"}, ""},
		{"upload that expects 100", Config{}, []string{"-v", "-H", "Expect: 100-continue", "-d", strings.Repeat("x", 20000), "URL"}, []string{"100 Continue", "200 OK"}, ""},
		{"max requests", Config{MaxRequests: 1}, []string{"-i", "URL"}, []string{"Connection: close", "ok"}, ""},
		{"status", Config{Faults: faults(t, "status=503")}, []string{"-w", "%{http_code}", "URL"}, []string{"503"}, ""},
		{"reset", Config{Faults: faults(t, "reset-before")}, []string{"URL"}, []string{"reset"}, "exit status 56"},
		{"truncated", Config{Faults: faults(t, "truncate")}, []string{"URL"}, []string{"o"}, "exit status 18"},
		{"truncated chunks", Config{Chunked: true, Faults: faults(t, "truncate")}, []string{"URL"}, nil, "exit status 18"},
		{"malformed", Config{Faults: faults(t, "malformed")}, []string{"URL"}, nil, "exit status 1"},
		{"never", Config{Faults: faults(t, "never")}, []string{"-m", "0.1", "URL"}, []string{"timed out"}, "exit status 28"},
		{"trickle", Config{Faults: faults(t, "trickle=1ms")}, []string{"URL"}, []string{"ok"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.cfg)
			args := []string{"-sS", "--noproxy", "*"}
			for _, a := range tt.args {
				args = append(args, strings.ReplaceAll(a, "URL", s.URL()+"/"))
			}
			out, err := external(t, "curl", args...)
			if got := ""; err != nil {
				got = err.Error()
				if got != tt.exit {
					t.Errorf("curl: %v, want %q\n%s", err, tt.exit, out)
				}
			} else if tt.exit != "" {
				t.Errorf("curl succeeded\n%s", out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

// ApacheBench speaks HTTP/1.0 with keep-alive, and hangs on servers that do not
// echo it.
func TestApacheBench(t *testing.T) {
	s := start(t, Config{Delay: time.Millisecond})
	out, err := external(t, "ab", "-k", "-n", "100", "-c", "5", "-s", "5", s.URL()+"/")
	if err != nil || !strings.Contains(out, "Keep-Alive requests:    100") || !strings.Contains(out, "Failed requests:        0") {
		t.Fatalf("%v\n%s", err, out)
	}
	st := eventually(t, s, "closed", func(st Stats) bool { return st.Connections.Open == 0 })
	if st.Requests != 100 || st.Connections.Accepted > 6 {
		t.Errorf("account: %+v", st)
	}
}
