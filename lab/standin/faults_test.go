package standin

import (
	"bufio"
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestErrorRateIsSeededAndCounted(t *testing.T) {
	var first string
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.ErrorRate, cfg.Seed = 0.3, 42
		addr := start(t, cfg)
		c := dial(t, addr)
		outcomes := make([]byte, 200)
		for i := range outcomes {
			outcomes[i] = '.'
			if status, _ := c.get("/hello"); status == 500 {
				outcomes[i] = 'x'
			}
		}
		failed := strings.Count(string(outcomes), "x")
		if failed < 40 || failed > 80 {
			t.Errorf("%d of 200 failed, want about 60", failed)
		}
		if n := exceptions(t, addr)["InjectedError <- errors.errorString: injected by --error-rate"]; n != int64(failed) {
			t.Errorf("%d counted, %d seen", n, failed)
		}
		if first == "" {
			first = string(outcomes)
		} else if first != string(outcomes) {
			t.Error("the same seed failed other requests than in another model")
		}
	})
}

func TestLockAroundCallSerializesCalls(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		down := newDownstream(t, 2*time.Millisecond)
		cfg.Downstream, cfg.Lock = down.URL, Lock{AroundCall: true}
		addr := start(t, cfg)
		if ok := loadAll(t, addr, "/call", 15, 200); ok != 15 {
			t.Errorf("%d of 15 answered", ok)
		}
		if peak := down.peak.Load(); peak != 1 {
			t.Errorf("%d calls in flight under one lock", peak)
		}
	})
}

func TestLockHoldBoundsTheRate(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.Lock = Lock{Hold: 5 * time.Millisecond}
		addr := start(t, cfg)
		begin := time.Now()
		if ok := loadAll(t, addr, "/hello", 20, 200); ok != 20 {
			t.Errorf("%d of 20 answered", ok)
		}
		if took := time.Since(begin); took < 100*time.Millisecond {
			t.Errorf("20 holds of 5 ms took %v", took)
		}
	})
}

func TestEveryFaultAtOnceStillAnswers(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		for _, hot := range []bool{false, true} {
			cfg.Downstream = newDownstream(t, time.Millisecond).URL
			cfg.CPUPerRequest, cfg.HotThread = 200*time.Microsecond, hot
			cfg.Alloc, cfg.Lock, cfg.Pool = 64<<10, Lock{AroundCall: true}, 2
			addr := start(t, cfg)
			if ok := loadAll(t, addr, "/call", 20, 200); ok != 20 {
				t.Errorf("hot %v: %d of 20 answered", hot, ok)
			}
		}
	})
}

func TestHotThreadDoesTheWorkInOrder(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	h := startHotThread(burner{rounds: 1000}, stop)
	var running, most atomic.Int64
	done := make(chan int, 50)
	for i := range 50 {
		h.burn(func() {
			most.Store(max(most.Load(), running.Add(1)))
			runtime.Gosched()
			running.Add(-1)
			done <- i
		})
	}
	for i := range 50 {
		if got := <-done; got != i {
			t.Fatalf("job %d came as number %d", got, i)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d jobs at once", most.Load())
	}
}

func TestBurnerDoesWorkInProportion(t *testing.T) {
	if b := newBurner(0); b.rounds != 0 {
		t.Errorf("no CPU time asked, %d rounds", b.rounds)
	}
	one, ten := newBurner(time.Millisecond), newBurner(10*time.Millisecond)
	if one.rounds < 1000 || ten.rounds < 9*one.rounds || ten.rounds > 11*one.rounds {
		t.Errorf("1 ms is %d rounds, 10 ms is %d", one.rounds, ten.rounds)
	}
}

func TestNotReadyForAnswers503First(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.NotReadyFor = 150 * time.Millisecond
		c := dial(t, start(t, cfg))
		c.expect("/hello", 503, "not ready")
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if status, _ := c.get("/hello"); status == 200 {
				return
			}
			if time.Now().After(end) {
				t.Fatal("never ready")
			}
		}
	})
}

func TestExitAfterCrashes(t *testing.T) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.ExitAfter = 20 * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := Serve(ctx, cfg); !errors.Is(err, ErrCrash) {
			t.Errorf("Serve: %v, want ErrCrash", err)
		}
	})
}

func TestServeEndsWithRequestsInFlight(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("waiting for the downstream", func(t *testing.T) { testEndsBusy(t, Lock{}) })
	t.Run("waiting for a lock", func(t *testing.T) { testEndsBusy(t, Lock{Hold: 10 * time.Second}) })
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before+10; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func testEndsBusy(t *testing.T, lock Lock) {
	eachModel(t, func(t *testing.T, cfg Config) {
		cfg.Lock = lock
		ctx, cancel := context.WithCancel(context.Background())
		silent := rawDownstream(t, func(_ net.Conn, _ *bufio.Reader, _ int) { <-ctx.Done() })
		cfg.Downstream = silent
		ready, ended := make(chan string, 1), make(chan error, 1)
		cfg.Ready = func(a net.Addr) { ready <- a.String() }
		go func() { ended <- Serve(ctx, cfg) }()
		addr := <-ready
		for range 5 {
			dial(t, addr).send("GET /call HTTP/1.1\r\nHost: sut\r\n\r\n")
		}
		time.Sleep(20 * time.Millisecond)
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("Serve did not end")
		}
	})
}

func TestListenErrorIsOneLine(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	err = Serve(context.Background(), Config{Listen: ln.Addr().String(), Model: Goroutines})
	if err == nil || !strings.Contains(err.Error(), "address already in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a port in use: %v", err)
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	ok := Config{Listen: "127.0.0.1:0", Model: Threads, Workers: 1}
	if err := ok.Validate(); err != nil {
		t.Fatal(err)
	}
	for flag, change := range map[string]func(*Config){
		"--model":               func(c *Config) { c.Model = "fibers" },
		"--listen":              func(c *Config) { c.Listen = "nowhere" },
		"--downstream":          func(c *Config) { c.Downstream = "https://127.0.0.1:1" },
		"--workers":             func(c *Config) { c.Workers = 0 },
		"--pool":                func(c *Config) { c.Pool = -1 },
		"--max-conns":           func(c *Config) { c.MaxConns = -1 },
		"--backlog":             func(c *Config) { c.Backlog = 1 << 20 },
		"--keep-alive-requests": func(c *Config) { c.KeepAliveRequests = -1 },
		"--cpu-per-request":     func(c *Config) { c.CPUPerRequest = time.Minute },
		"--lock":                func(c *Config) { c.Lock.Hold = -1 },
		"--alloc":               func(c *Config) { c.Alloc = -1 },
		"--error-rate":          func(c *Config) { c.ErrorRate = 1.5 },
		"--not-ready-for":       func(c *Config) { c.NotReadyFor = -1 },
		"--exit-after":          func(c *Config) { c.ExitAfter = -1 },
		"--hot-thread":          func(c *Config) { c.HotThread = true },
	} {
		c := ok
		change(&c)
		err := c.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), flag) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestParseLock(t *testing.T) {
	for text, want := range map[string]Lock{
		"":     {},
		"call": {AroundCall: true},
		"3ms":  {Hold: 3 * time.Millisecond},
	} {
		if got, err := ParseLock(text); err != nil || got != want {
			t.Errorf("ParseLock(%q) = %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"3", "-1s", "burn"} {
		if _, err := ParseLock(text); err == nil {
			t.Errorf("ParseLock(%q): no error", text)
		}
	}
}
