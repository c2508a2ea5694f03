package lab

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// readyServer answers 503 to its first polls, then 200, and 405 to what is no GET.
type readyServer struct {
	*httptest.Server
	polls, other, inFlight, concurrent atomic.Int64
}

func newReadyServer(t *testing.T, notYet int64) *readyServer {
	s := &readyServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.inFlight.Add(1) > 1 {
			s.concurrent.Add(1)
		}
		defer s.inFlight.Add(-1)
		n := s.polls.Add(1)
		switch {
		case r.Method != http.MethodGet:
			s.other.Add(1)
			w.WriteHeader(http.StatusMethodNotAllowed)
		case n <= notYet:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func readyWithin(limit time.Duration) record.Ready {
	return record.Ready{Path: "/", Status: http.StatusOK, Timeout: record.Duration(limit)}
}

func TestReadyPollsGently(t *testing.T) {
	t.Parallel()
	const notYet = 6
	s := newReadyServer(t, notYet)
	took, err := awaitReady(t.Context(), newProber(s.URL), readyWithin(time.Minute), 0, nil, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if took < notYet*readyInterval {
		t.Errorf("ready after %v: polled faster than every %v", took, readyInterval)
	}
	if n := s.polls.Load(); n != notYet+2 {
		t.Errorf("%d polls, want %d that were refused and two that were not", n, notYet)
	}
	if s.other.Load() != 0 || s.concurrent.Load() != 0 {
		t.Errorf("%d polls were no GET, %d came while another was in flight", s.other.Load(), s.concurrent.Load())
	}
}

// TestReadyWaitsForASlowAnswer: a first answer that takes its time is waited for,
// and no second poll goes beside it.
func TestReadyWaitsForASlowAnswer(t *testing.T) {
	t.Parallel()
	var inFlight, concurrent, polls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if inFlight.Add(1) > 1 {
			concurrent.Add(1)
		}
		defer inFlight.Add(-1)
		if polls.Add(1) == 1 {
			time.Sleep(readyAttempt + 500*time.Millisecond)
		}
	}))
	t.Cleanup(s.Close)
	if _, err := awaitReady(t.Context(), newProber(s.URL), readyWithin(time.Minute), 0, nil, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if polls.Load() != 2 || concurrent.Load() != 0 {
		t.Errorf("%d polls, %d beside another", polls.Load(), concurrent.Load())
	}
}

// refusing is the URL of a port where nobody listens.
func refusing(t *testing.T) (url string, port int) {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + strconv.Itoa(port), port
}

func TestReadyFails(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "boom\x1b[2J", http.StatusInternalServerError)
	}))
	t.Cleanup(wrong.Close)
	moved := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	t.Cleanup(moved.Close)
	nobody, port := refusing(t)
	sleeper := startScript(t, "exec sleep 60")
	dying := startScript(t, "echo last words; exit 3")
	for _, tt := range []struct {
		name, base string
		tier       *tier
		limit      time.Duration
		want       string
	}{
		{"a URL where nobody listens", nobody, nil, time.Minute, "nothing listens at http://127.0.0.1:"},
		{"a child that never listens", nobody, sleeper, 300 * time.Millisecond, "not ready within 300ms: nothing listens on its port"},
		{"a child that ended", nobody, dying, time.Minute, "ended with exit status 3 before it was ready\n    last words"},
		{"one that does not answer", "http://" + silent.Addr().String(), nil, time.Millisecond, "it accepts connections and does not answer"},
		{"500", wrong.URL, nil, time.Minute, `answered 500, not 200, five times in a row: "boom\x1b[2J\n"`},
		{"a redirect", moved.URL, nil, time.Minute, "answered 302, not 200, five times in a row"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := awaitReady(t.Context(), newProber(tt.base), readyWithin(tt.limit), port, tt.tier, nil, time.Now())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestReadyEndsWithItsContext(t *testing.T) {
	nobody, port := refusing(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := awaitReady(ctx, newProber(nobody), readyWithin(time.Minute), port, startScript(t, "exec sleep 60"), nil, time.Now())
	if err != context.DeadlineExceeded {
		t.Errorf("err = %v", err)
	}
}

func TestReadyAnswerOfAStranger(t *testing.T) {
	stranger := newReadyServer(t, 0) // this process, which is no part of the child's tree
	tr := startScript(t, "exec sleep 60")
	tree, err := probes.NewTree(probes.NewFS("/"), tr.guard.Process.Pid, probes.SkipRoot)
	if err != nil {
		t.Skipf("SKIPPED: whose a port is cannot be told here: %v", err)
	}
	port := localPort(stranger.URL)
	_, err = awaitReady(t.Context(), newProber(stranger.URL), readyWithin(time.Minute), port, tr, tree, time.Now())
	if err == nil || !strings.Contains(err.Error(), "the one who listens there is process "+strconv.Itoa(os.Getpid())+" ") {
		t.Errorf("err = %v", err)
	}
	if holder := portHolder(nil, port); !strings.HasPrefix(holder, "process "+strconv.Itoa(os.Getpid())+" ") {
		t.Errorf("the holder of port %d is %q", port, holder)
	}
	if _, free := refusing(t); portHolder(nil, free) != "" {
		t.Errorf("port %d is held by %q", free, portHolder(nil, free))
	}
}

func TestLocalPort(t *testing.T) {
	for url, want := range map[string]int{
		"http://127.0.0.1:8080": 8080, "http://localhost:81": 81, "http://[::1]:82": 82, "http://127.0.0.1": 80,
		"http://example.org:8080": 0, "http://10.0.0.1:80": 0,
	} {
		if got := localPort(url); got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
}
