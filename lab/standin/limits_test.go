package standin

import (
	"net"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

const delay = 50 * time.Millisecond

func TestThreadsServeExactlyWorkersAtATime(t *testing.T) {
	const workers = 17
	down := newDownstream(t, delay)
	addr := start(t, Config{Listen: "127.0.0.1:0", Model: Threads, Workers: workers, Downstream: down.URL})
	if ok := loadAll(t, addr, "/call", 3*workers, 200); ok != 3*workers {
		t.Errorf("%d of %d answered", ok, 3*workers)
	}
	if peak := down.peak.Load(); peak != workers {
		t.Errorf("%d calls in flight at most, want the %d workers", peak, workers)
	}
}

func TestOtherModelsHaveNoLimitOfTheirOwn(t *testing.T) {
	const n = 150
	for _, m := range []Model{Goroutines, EventLoop} {
		t.Run(string(m), func(t *testing.T) {
			down := newDownstream(t, 10*delay)
			addr := start(t, Config{Listen: "127.0.0.1:0", Model: m, Downstream: down.URL})
			if ok := loadAll(t, addr, "/call", n, 200); ok != n {
				t.Errorf("%d of %d answered", ok, n)
			}
			if peak := down.peak.Load(); peak != n {
				t.Errorf("%d calls in flight at most, want all %d", peak, n)
			}
		})
	}
}

// threadsNow reads how many operating system threads this process has.
func threadsNow(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("SKIPPED: counting threads needs Linux's /proc: %v", err)
	}
	n, err := strconv.Atoi(string(regexp.MustCompile(`(?m)^Threads:\s+(\d+)$`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEveryWorkerIsAThreadAndOnlyOnceNeeded(t *testing.T) {
	const workers = 60
	before := threadsNow(t)
	down := newDownstream(t, 500*time.Millisecond)
	addr := start(t, Config{Listen: "127.0.0.1:0", Model: Threads, Workers: workers, Downstream: down.URL})
	dial(t, addr).expect("/hello", 200, "hello")
	if n := threadsNow(t); n > before+workers/2 {
		t.Errorf("%d threads before there was anything to do, %d without the stand-in", n, before)
	}
	done := make(chan int)
	go func() { done <- loadAll(t, addr, "/call", 2*workers, 200) }()
	most := 0
	for waiting := true; waiting; {
		select {
		case ok := <-done:
			if ok != 2*workers {
				t.Errorf("%d of %d answered", ok, 2*workers)
			}
			waiting = false
		case <-time.After(10 * time.Millisecond):
			most = max(most, threadsNow(t))
		}
	}
	if most < workers {
		t.Errorf("%d threads under load, want at least one for each of %d workers", most, workers)
	}
}

func TestPoolLimitsCallsInFlight(t *testing.T) {
	for _, pool := range []int{1, 5} {
		eachModel(t, func(t *testing.T, cfg Config) {
			down := newDownstream(t, delay/5)
			cfg.Downstream, cfg.Pool = down.URL, pool
			addr := start(t, cfg)
			if ok := loadAll(t, addr, "/call", 6*pool, 200); ok != 6*pool {
				t.Errorf("%d of %d answered", ok, 6*pool)
			}
			if peak := down.peak.Load(); peak != int64(pool) {
				t.Errorf("%d calls in flight at most, want the pool's %d", peak, pool)
			}
			if n := down.opened.Load(); n > int64(pool) {
				t.Errorf("%d connections for a pool of %d", n, pool)
			}
		})
	}
}

func TestConnectionsBeyondTheLimitWaitUnaccepted(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.MaxConns, cfg.Backlog = 2, 16
		addr := start(t, cfg)
		first, second := dial(t, addr), dial(t, addr)
		first.expect("/hello", 200, "hello")
		second.expect("/hello", 200, "hello")
		third := dial(t, addr) // the kernel has it, the stand-in has not
		third.send("GET /hello HTTP/1.1\r\nHost: sut\r\n\r\n")
		third.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := third.r.ReadByte(); !os.IsTimeout(err) {
			t.Fatalf("the connection beyond the limit read %v", err)
		}
		third.SetReadDeadline(time.Now().Add(5 * time.Second))
		first.Close()
		if _, body := third.read("GET"); body != "hello" {
			t.Errorf("after a slot became free: %q", body)
		}
		second.expect("/hello", 200, "hello")
	})
}

func TestBacklogBoundsTheKernelsQueue(t *testing.T) {
	const tries = 12
	for _, backlog := range []int{0, 2} {
		l, err := listen("127.0.0.1:0", backlog, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		connected := 0
		for range tries { // nobody accepts; the kernel drops what it cannot queue
			if c, err := net.DialTimeout("tcp", l.Addr().String(), 50*time.Millisecond); err == nil {
				defer c.Close()
				connected++
			}
		}
		if backlog == 0 && connected != tries {
			t.Errorf("the system's maximum queued %d of %d", connected, tries)
		}
		if backlog > 0 && (connected == 0 || connected >= tries) {
			t.Errorf("a backlog of %d queued %d of %d", backlog, connected, tries)
		}
	}
}

func TestKeepAliveRequestsEndsTheConnection(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.KeepAliveRequests = 3
		addr := start(t, cfg)
		c := dial(t, addr)
		for i := 1; i <= 3; i++ {
			c.send("GET /hello HTTP/1.1\r\nHost: sut\r\n\r\n")
			if r, _ := c.read("GET"); r.Close != (i == 3) {
				t.Errorf("answer %d: Connection: close is %v", i, r.Close)
			}
		}
		if _, err := c.r.ReadByte(); err == nil {
			t.Error("the connection is still open after the last answer")
		}
		dial(t, addr).expect("/hello", 200, "hello")
	})
}
