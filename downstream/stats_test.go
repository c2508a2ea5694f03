package downstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestStatsPath(t *testing.T) {
	engines(t, func(t *testing.T, engine string) {
		s := start(t, Config{Delay: 50 * time.Millisecond, Engine: engine, Loops: 2, MaxRequests: 3})
		c := connect(t, s)
		// In order behind a delayed answer, and the rest of the bytes behind it.
		c.send(get + "GET /lab/stats?x HTTP/1.1\r\nHost: x\r\n\r\n" + get + "HEAD /lab/stats HTTP/1.1\r\nHost: x\r\n\r\n" + "GET /lab/stats HTTP/1.0\r\n\r\n")
		c.wants(200, "ok")
		_, body, err := c.answer("GET")
		if err != nil {
			t.Fatal(err)
		}
		st := decode(t, []byte(body))
		checkIdentities(t, st)
		if st.Requests != 1 || st.Answered != 1 || st.DelayMS != 50 || st.URL != s.URL() || st.At <= 0 || st.RSSBytes < 1<<20 {
			t.Errorf("account: %s", body)
		}
		c.wants(200, "ok")
		if r, body, err := c.answer("HEAD"); err != nil || body != "" || r.ContentLength < 100 {
			t.Errorf("HEAD: %+v, %q, %v", r, body, err)
		}
		r, body, err := c.answer("GET")
		if err != nil || !r.Close || decode(t, []byte(body)).Requests != 2 {
			t.Errorf("%+v, %s, %v", r, body, err)
		}
		c.wantsEnd()
	})
}

// Asking for the account while everything is in flight must not wait for it.
func TestStatsAreImmediate(t *testing.T) {
	s := start(t, Config{Delay: time.Hour})
	c := connect(t, s)
	c.send(get)
	eventually(t, s, "one in flight", func(st Stats) bool { return st.InFlight == 1 })
	r, err := http.Get(s.URL() + "/lab/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v, %v", r.Header, err)
	}
	if st := decode(t, b); st.InFlight != 1 || st.Answered != 0 || st.LatenessMS != nil {
		t.Errorf("account: %s", b)
	}
}

func TestSub(t *testing.T) {
	s := start(t, Config{Faults: faults(t, "status=500")})
	ask := func(n int) Stats {
		c := connect(t, s)
		for range n {
			c.send(get)
			c.answer("GET")
		}
		c.Close()
		return eventually(t, s, "closed", func(st Stats) bool { return st.Connections.Open == 0 })
	}
	before := ask(3)
	after := ask(20)
	d := after.Sub(before)
	if d.Requests != 20 || d.Answered != 20 || d.Connections.Accepted != 1 || d.Connections.Closed["peer"] != 1 || d.Faults["status=500"] != 20 {
		t.Errorf("difference: %+v", d)
	}
	if h, err := decodeHistogram(d.LatenessHistogram); err != nil || h.TotalCount() != 20 || d.LatenessMS == nil {
		t.Errorf("lateness %+v, %v", d.LatenessMS, err)
	}
	if d.CPUUserS < 0 || d.CPUSystemS < 0 || d.At != after.At {
		t.Errorf("difference: %+v", d)
	}
	if before.Connections.Closed["peer"] != 1 || after.Requests != 23 {
		t.Error("Sub changed its arguments")
	}
	if same := after.Sub(after); same.Requests != 0 || same.LatenessMS != nil || same.LatenessHistogram != "" {
		t.Errorf("difference of nothing: %+v", same)
	}
	if first := before.Sub(Stats{}); first.Requests != 3 || first.LatenessMS == nil {
		t.Errorf("difference to the beginning: %+v", first)
	}
	broken := after
	broken.LatenessHistogram = "no histogram"
	if d := broken.Sub(before); d.LatenessMS != nil {
		t.Errorf("lateness out of a broken histogram: %+v", d.LatenessMS)
	}
	if d := before.Sub(after); d.LatenessMS != nil {
		t.Errorf("lateness out of histograms in the wrong order: %+v", d.LatenessMS)
	}
}

func TestLines(t *testing.T) {
	s, err := New(Config{Delay: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeLines(ctx, w); w.Close() }()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	next := func(event string) Stats {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no line: %v", lines.Err())
		}
		st := decode(t, lines.Bytes())
		if st.Event != event {
			t.Fatalf("got %q instead of %q", st.Event, event)
		}
		checkIdentities(t, st)
		return st
	}
	if st := next("ready"); st.URL != s.URL() {
		t.Errorf("ready: %+v", st)
	}
	c := connect(t, s)
	c.send(get + get + get)
	for range 3 {
		c.wants(200, "ok")
	}
	if st := next("stats"); st.InFlightMax != 3 || st.InFlight != 0 || st.Requests != 3 {
		t.Errorf("first second: %+v", st)
	}
	if st := next("stats"); st.InFlightMax != 0 || st.Requests != 3 {
		t.Errorf("idle second: %+v", st)
	}
	cancel()
	if st := next("exit"); st.InFlightMax != 3 || st.Answered != 3 {
		t.Errorf("exit: %+v", st)
	}
	if lines.Scan() {
		t.Errorf("after the exit came %s", lines.Bytes())
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

// Every key is there, whatever happened.
func TestEveryKeyIsThere(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := s.statsJSON()
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("at url delay_ms connections requests answered lost in_flight in_flight_max requests_per_connection_max upgrade_h2c malformed faults lateness_ms lateness_histogram cpu_user_s cpu_system_s rss_bytes") {
		if keys[key] == nil {
			t.Errorf("%s is missing", key)
		}
	}
	if !bytes.Equal(keys["lateness_ms"], []byte("null")) {
		t.Errorf("lateness of nothing is %s", keys["lateness_ms"])
	}
	for _, cause := range strings.Fields("peer reset idle max_requests max_idle max_conns lifetime close_asked malformed fault") {
		if !bytes.Contains(keys["connections"], []byte(`"`+cause+`":0`)) {
			t.Errorf("closed has no %s: %s", cause, keys["connections"])
		}
	}
}
