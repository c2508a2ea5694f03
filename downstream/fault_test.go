package downstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func faults(t testing.TB, texts ...string) []Fault {
	t.Helper()
	var fs []Fault
	for _, text := range texts {
		f, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		fs = append(fs, f)
	}
	return fs
}

func TestFaultsOnTheWire(t *testing.T) {
	whole := string(newAnswers(200, plainText, []byte("ok"), false).get[formKeep])
	for _, tt := range []struct {
		fault string
		see   func(t *testing.T, c *client)
		lost  int64
		cause string
	}{
		{"status=503", func(_ *testing.T, c *client) {
			c.wants(503, "fault: status=503")
			c.send(get)
			c.wants(503, "fault: status=503")
		}, 0, ""},
		{"reset-before", func(t *testing.T, c *client) {
			if got := c.wantsReset(); got != "" {
				t.Errorf("got %q before the reset", got)
			}
		}, 1, "fault"},
		{"reset-during", func(t *testing.T, c *client) {
			if got := c.wantsReset(); len(got) != (len(whole)+1)/2 || !strings.HasPrefix(whole, got) {
				t.Errorf("got %q before the reset", got)
			}
		}, 1, "fault"},
		{"reset-after", func(t *testing.T, c *client) {
			if got := c.wantsReset(); got != whole {
				t.Errorf("got %q before the reset", got)
			}
		}, 0, "fault"},
		{"truncate", func(t *testing.T, c *client) {
			if _, body, err := c.answer("GET"); body != "o" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %q, %v", body, err)
			}
		}, 1, "fault"},
		{"malformed", func(t *testing.T, c *client) {
			if r, _, err := c.answer("GET"); err == nil {
				t.Errorf("Go's parser took it for %+v", r)
			}
		}, 1, "fault"},
		{"trickle=1ms", func(t *testing.T, c *client) {
			began := time.Now()
			c.wants(200, "ok")
			if took := time.Since(began); took < time.Duration(len(whole)-1)*time.Millisecond {
				t.Errorf("came within %v", took)
			}
			c.send(get + "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n") // one after the other, not mixed
			c.wants(200, "ok")
			if _, body, err := c.answer("HEAD"); body != "" || err != nil {
				t.Errorf("got %q, %v", body, err)
			}
		}, 0, ""},
		{"never", func(t *testing.T, c *client) {
			c.send(get)
			c.SetReadDeadline(time.Now().Add(60 * time.Millisecond))
			if b, err := c.r.ReadByte(); err == nil {
				t.Errorf("got %q", b)
			}
			c.Close()
		}, 2, "peer"},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			engines(t, func(t *testing.T, engine string) {
				s := start(t, Config{Faults: faults(t, tt.fault), Engine: engine})
				c := connect(t, s)
				c.send(get)
				tt.see(t, c)
				c.Close()
				st := eventually(t, s, "closed", func(st Stats) bool { return st.Connections.Open == 0 })
				name, _, _ := strings.Cut(tt.fault, "@")
				if st.Faults[name] == 0 || st.Lost != tt.lost {
					t.Errorf("account: %+v", st)
				}
				if tt.cause != "" && st.Connections.Closed[tt.cause] != 1 {
					t.Errorf("closed: %v", st.Connections.Closed)
				}
			})
		})
	}
}

// A fault has a delay of its own, and only the unlucky connection suffers.
func TestFaultDelayAndOnce(t *testing.T) {
	s := start(t, Config{Faults: faults(t, "status=500:80ms@t=0s")})
	hit := connect(t, s)
	sent := time.Now()
	hit.send(get)
	hit.wants(500, "fault: status=500")
	if took := time.Since(sent); took < 80*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
	hit.send(get) // it was to happen once
	hit.wants(200, "ok")
	connect(t, s).send(get)
	eventually(t, s, "two more answers", func(st Stats) bool { return st.Answered == 3 && st.Faults["status=500"] == 1 })
}

// With one seed the same requests meet the same faults, whatever the jitter.
func TestFaultsRepeat(t *testing.T) {
	fates := func(seed uint64, jitter string) string {
		j, err := ParseJitter(jitter)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, Config{Seed: seed, Jitter: j, Loops: 1, Faults: faults(t, "status=500@0.3", "status=503@0.2")})
		c := connect(t, s)
		var b strings.Builder
		for range 100 {
			c.send(get)
			r, _, err := c.answer("GET")
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(r.Status[:3])
		}
		return b.String()
	}
	first := fates(7, "")
	if again := fates(7, "uniform:1us"); again != first {
		t.Errorf("seed 7: %s, then %s", first, again)
	}
	if other := fates(8, ""); other == first {
		t.Error("seed 8 is like seed 7")
	}
	if n := strings.Count(first, "500"); n < 10 || n > 55 {
		t.Errorf("%d of 100 at probability 0.3", n)
	}
}

func TestDiceKeepTheTime(t *testing.T) {
	s := &Server{cfg: Config{Faults: faults(t, "never@t=5s..7s", "truncate@t=1s")}}
	d := dice{faults: s.cfg.Faults, done: make([]atomic.Bool, 2)}
	for _, tt := range []struct {
		at   time.Duration
		want int
	}{{0, -1}, {999 * time.Millisecond, -1}, {time.Second, 1}, {2 * time.Second, -1}, {5 * time.Second, 0}, {6999 * time.Millisecond, 0}, {7 * time.Second, -1}} {
		if got := d.draw(tt.at); got != tt.want {
			t.Errorf("after %v: fault %d, want %d", tt.at, got, tt.want)
		}
	}
}

func TestParseFaultMistakes(t *testing.T) {
	for _, text := range []string{"", "explode", "status", "status=99", "status=abc", "never=5", "trickle=0s", "trickle=x", "never:soon", "never:-1s",
		"never@1.5", "never@-1", "never@NaN", "never@t=x", "never@t=7s..5s", "never@t=5s..x", "never@", "never@0.1,", "never:5h"} {
		if f, err := ParseFault(text); err == nil {
			t.Errorf("%q was taken for %+v", text, f)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not named in %v", text, err)
		}
	}
	for _, text := range []string{"never", "reset-before@0.01", "status=503:20ms@0.1", "trickle", "trickle=5ms@1", "malformed@0", "truncate@t=5s..7s", "never@0.5,t=1s", "status=500:0s"} {
		if _, err := ParseFault(text); err != nil {
			t.Error(err)
		}
	}
}

// The JDK's and Go's clients retry a GET that meets a RST on a reused
// connection; the first request on a fresh one must show the fault.
func TestResetSeenByGoClient(t *testing.T) {
	s := start(t, Config{Faults: faults(t, "reset-before")})
	client := &http.Client{Transport: &http.Transport{}, Timeout: wait}
	defer client.CloseIdleConnections()
	if _, err := client.Get(s.URL()); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}
