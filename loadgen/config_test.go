package loadgen

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestURLForms(t *testing.T) {
	for _, c := range []struct{ url, line, host, auth string }{
		{"http://h:1?x=1", "GET /?x=1 HTTP/1.1", "h:1", ""},
		{"http://h:1", "GET / HTTP/1.1", "h:1", ""},
		{"http://h", "GET / HTTP/1.1", "h", ""},
		{"http://h:80/", "GET / HTTP/1.1", "h", ""},
		{"http://u:p@h:1/", "GET / HTTP/1.1", "h:1", "Basic dTpw"},
		{"http://h:1/a@b?m=c@d", "GET /a@b?m=c@d HTTP/1.1", "h:1", ""},
		{"http://h:1/a#f", "GET /a HTTP/1.1", "h:1", ""},
		{"http://h:1/a%2Fb%20c", "GET /a%2Fb%20c HTTP/1.1", "h:1", ""},
		{"http://h:1/a b", "GET /a%20b HTTP/1.1", "h:1", ""},
		{"http://[::1]:8080/x", "GET /x HTTP/1.1", "[::1]:8080", ""},
		{"HTTP://h:1/x", "GET /x HTTP/1.1", "h:1", ""},
	} {
		j, err := newJob(Config{URL: c.url})
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		want := c.line + "\r\nHost: " + c.host + "\r\n"
		if c.auth != "" {
			want += "Authorization: " + c.auth + "\r\n"
		}
		if got := string(j.requests[0]); got != want+"\r\n" {
			t.Errorf("%s: request %q, want %q", c.url, got, want)
		}
	}
	for _, url := range []string{"", "h:80/x", "h/x", "//h/x", "http://", "http:///x", "http://h:99999/", "http://h:0/", "http://h:x/", "https://h/", "ftp://h/", "http:h", "http://h:1/%zz"} {
		if err := (&Config{URL: url}).Validate(); err == nil || !strings.Contains(err.Error(), "URL") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestRequestBytes(t *testing.T) {
	j, err := newJob(Config{URL: "http://u:p@h/", Body: []byte("hi"), NoKeepAlive: true,
		Headers: []string{"X-A:1", "host: other", "Authorization: Bearer x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "POST / HTTP/1.1\r\nConnection: close\r\nX-A: 1\r\nhost: other\r\nAuthorization: Bearer x\r\nContent-Length: 2\r\n\r\nhi"
	if got := string(j.requests[0]); got != want {
		t.Errorf("%q", got)
	}
	if j, err = newJob(Config{URL: "http://h/", Headers: []string{"Connection: Close"}}); err != nil || !j.cfg.NoKeepAlive {
		t.Errorf("-H 'Connection: close' is --no-keepalive: %v", err)
	}
}

func TestBadConfigs(t *testing.T) {
	negative := -time.Second
	for _, c := range []struct {
		flag string
		cfg  Config
	}{
		{"-c", Config{Connections: -1}},
		{"-c", Config{Connections: MaxConnections + 1}},
		{"-d", Config{Duration: -1}},
		{"-n", Config{Requests: -1}},
		{"-n", Config{Requests: 10, Duration: time.Second}},
		{"-n", Config{Requests: 5, Connections: 10}},
		{"-R", Config{Rate: -1}},
		{"-R", Config{Rate: math.NaN()}},
		{"-R", Config{Rate: math.Inf(1)}},
		{"--max-in-flight", Config{MaxInFlight: 5}},
		{"--max-in-flight", Config{Rate: 1, MaxInFlight: 5, Connections: 10}},
		{"--timeout", Config{Timeout: -1}},
		{"--warmup", Config{Warmup: -1}},
		{"--lead-in", Config{LeadIn: &negative}},
		{"--loops", Config{Loops: -1}},
		{"--engine", Config{Engine: "kqueue"}},
		{"-m", Config{Method: "GE T"}},
		{"-m", Config{Method: "CONNECT"}},
		{"-H", Config{Headers: []string{"no colon"}}},
		{"-H", Config{Headers: []string{"a b: c"}}},
		{"-H", Config{Headers: []string{"A: b\r\nEvil: c"}}},
		{"-H", Config{Headers: []string{"Content-Length: 3"}}},
		{"--target", Config{Targets: []Target{{0, "/"}}}},
		{"--target", Config{Targets: []Target{{1, "x"}}}},
	} {
		c.cfg.URL = "http://h/"
		err := c.cfg.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), c.flag) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.flag, err)
		}
	}
	for _, text := range []string{"", "/x", "50%", "x%=/a", "-1%=/a", "0%=/a", "Inf=/a", "50%=a", "50%=/a b"} {
		if _, err := ParseTarget(text); err == nil || !strings.HasPrefix(err.Error(), "--target") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if target, err := ParseTarget("12.5%=/a?b=c"); err != nil || target != (Target{12.5, "/a?b=c"}) {
		t.Errorf("%v %v", target, err)
	}
}

// What is shared out over loops adds up for every number of loops.
func TestShares(t *testing.T) {
	for loops := 1; loops <= 8; loops++ {
		j := &job{cfg: Config{Loops: loops}}
		for _, total := range []int64{1, 7, 15, 1000} {
			var sum int64
			for i := range loops {
				sum += j.share(total, i)
			}
			if sum != total {
				t.Errorf("%d over %d loops: %d", total, loops, sum)
			}
		}
	}
}

// The schedules of all loops together are one schedule.
func TestScheduleIsExact(t *testing.T) {
	for _, loops := range []int{1, 3, 8} {
		for _, rate := range []float64{1, 7, 999.5, 5000} {
			j := &job{cfg: Config{Loops: loops, Rate: rate}}
			const from, length = 1_000_000_007, 3_000_000_000
			var total int64
			for i := range loops {
				w := &worker{job: j, index: i, schedule: schedule{rate: rate, from: from}}
				k := w.schedule.before(w, from+length)
				total += k
				if k > 0 && w.schedule.due(w, k-1) >= from+length || w.schedule.due(w, k) < from+length {
					t.Errorf("%d loops, %v/s: loop %d: %d is not the border", loops, rate, i, k)
				}
				if w.schedule.before(w, from-5) != 0 {
					t.Error("something is due before the schedule begins")
				}
			}
			if want := int64(math.Ceil(rate * 3)); total != want {
				t.Errorf("%d loops, %v/s: %d in 3 s, want %d", loops, rate, total, want)
			}
		}
	}
}

func TestErrorsAreShortAndMasked(t *testing.T) {
	var e examples
	e.note("x", errSurplus)
	e.note("reset", &timeoutError{"read tcp 127.0.0.1:43210->127.0.0.1:8080: connection reset\r\n" + strings.Repeat("x", 500)})
	e.note("reset", errSurplus)
	got := e.byClass["reset"]
	if !strings.HasPrefix(got, "read tcp 127.0.0.1:*->127.0.0.1:*: connection reset") || len(got) > 130 || strings.Contains(got, "\n") {
		t.Errorf("%q", got)
	}
}

type timeoutError struct{ text string }

func (e *timeoutError) Error() string { return e.text }
