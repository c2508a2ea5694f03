package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loomlab/clock"
	"loomlab/lab/java"
	"loomlab/lab/record"
	"loomlab/lab/tool"
)

// toolRun is a run of a single-file Java tier, as an experiment's command starts it.
type toolRun struct {
	stdout, stderr tool.Opening
	err            error
	ended          chan struct{}
}

func runJavaTool(t *testing.T, jdk java.JDK, apps java.Apps, name string, args ...string) *toolRun {
	t.Helper()
	argv := append([]string{filepath.Join(apps.Dir, java.ToolsFolder, name)}, args...)
	run := &toolRun{ended: make(chan struct{})}
	cmd := tool.Command(t.Context(), jdk.Java, argv...)
	cmd.Stdout, cmd.Stderr = &run.stdout, &run.stderr
	go func() {
		defer close(run.ended)
		run.err = tool.Run(cmd)
	}()
	t.Cleanup(func() { <-run.ended })
	return run
}

func TestRealLoadClient(t *testing.T) {
	jdk, apps := realApps(t, java.DefaultBoot, []string{})
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(50 * time.Millisecond)
		if served.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, "ok")
	}))
	defer server.Close()

	run := runJavaTool(t, jdk, apps, "LoadClient.java", server.URL, "5", "0.77")
	if <-run.ended; run.err != nil {
		t.Fatalf("%v: %s", run.err, run.stderr.String())
	}
	output := strings.TrimSpace(run.stdout.String())
	if result, unavailable, err := parseLoadResult([]byte(output), record.Rung{Connections: 5}); err != nil || result.Requests.Sent != served.Load() || result.Connections.Answered != 5 {
		t.Errorf("as the lab reads it: %+v, %v, %v", result, unavailable, err)
	}
	if runtime.GOOS == "linux" {
		var opened, closed record.LoadEvent
		lines := strings.Split(output, "\n")
		if len(lines) != 3 || json.Unmarshal([]byte(lines[0]), &opened) != nil || json.Unmarshal([]byte(lines[1]), &closed) != nil {
			t.Fatalf("output: %s", output)
		}
		if now := clock.Now().Seconds(); opened.State != "open" || closed.State != "closed" || closed.At-opened.At < 0.769 || closed.At-opened.At > 0.771 || closed.At > now || closed.At < now-60 {
			t.Errorf("now %v; window %+v to %+v", now, opened, closed)
		}
	}
	output = output[strings.LastIndex(output, "\n")+1:]
	var got struct {
		Seconds    float64
		Throughput float64 `json:"throughput_per_s"`
		Requests   struct {
			Sent, OK int64
			Non2xx   int64            `json:"non_2xx"`
			InFlight int64            `json:"in_flight"`
			Errors   map[string]int64 `json:"errors"`
			Drained  map[string]int64 `json:"drained"`
		}
		Latency map[string]float64 `json:"latency_ms"`
	}
	if err := json.Unmarshal([]byte(output), &got); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	r := got.Requests
	if r.Sent != served.Load() || r.Sent != r.OK+r.Non2xx+r.InFlight || r.InFlight != r.Drained["ok"]+r.Drained["non_2xx"] || r.InFlight > 5 {
		t.Errorf("of %d requests served: %+v", served.Load(), r)
	}
	if r.Non2xx+r.Drained["non_2xx"] != served.Load()/10 || len(r.Errors) != 5 || r.Errors["other"] != 0 {
		t.Errorf("answers: %+v", r)
	}
	if want := float64(r.OK+r.Drained["ok"]) / 0.77; got.Seconds != 0.77 || got.Throughput < want*0.999 || got.Throughput > want*1.001 {
		t.Errorf("%v/s over %v s, want %v", got.Throughput, got.Seconds, want)
	}
	l := got.Latency
	if !(50 <= l["min"] && l["min"] <= l["p50"] && l["p50"] <= l["p90"] && l["p90"] <= l["p99"] && l["p99"] <= l["max"] && l["min"] <= l["mean"] && l["mean"] <= l["max"]) {
		t.Errorf("latency: %v", l)
	}

	for _, args := range [][]string{{server.URL}, {server.URL, "many", "1"}, {"nothing", "1", "1"}} {
		run := runJavaTool(t, jdk, apps, "LoadClient.java", args...)
		if <-run.ended; run.err == nil || strings.Count(run.stderr.String(), "\n") != 1 || !strings.HasPrefix(run.stderr.String(), "LoadClient: ") {
			t.Errorf("%v: %v, %q", args, run.err, run.stderr.String())
		}
	}
}

func TestRealDelayServer(t *testing.T) {
	jdk, apps := realApps(t, java.DefaultBoot, []string{})
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	runJavaTool(t, jdk, apps, "DelayServer.java", fmt.Sprint(port), "80")
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		began := time.Now()
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
			if took := time.Since(began); resp.StatusCode != 200 || took < 80*time.Millisecond {
				t.Errorf("%d after %v", resp.StatusCode, took)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
