package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

func TestDownstreamUsageErrors(t *testing.T) {
	for _, test := range []struct {
		args  []string
		wants []string
	}{
		{[]string{"--listen", "8081"}, []string{`"8081"`, "127.0.0.1:8081"}},
		{[]string{"--listen", "no.such.host:1"}, []string{"no.such.host"}},
		{[]string{"--delay", "soon"}, []string{"delay"}},
		{[]string{"--delay", "-1s"}, []string{"delay -1s"}},
		{[]string{"--jitter", "gauss:1ms"}, []string{"--jitter", "gauss", "lognormal"}},
		{[]string{"--fault", "explode@0.1"}, []string{"--fault", "explode", "reset-before"}},
		{[]string{"--max-conns", "many"}, []string{"--max-conns", "many"}},
		{[]string{"--max-conns", "5:burn"}, []string{"burn", "refuse"}},
		{[]string{"--max-idle", "5", "--loops", "2"}, []string{"one loop"}},
		{[]string{"--body-size", "-1"}, []string{"--body-size -1"}},
		{[]string{"--engine", "kqueue"}, []string{"kqueue", "portable"}},
		{[]string{"--status", "42", "--max-requests", "-1", "surplus"}, []string{"status 42", "max requests -1", "surplus"}},
		{[]string{"--grpc", "nowhere"}, []string{"gRPC"}},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var out, errs bytes.Buffer
		status := run(ctx, append([]string{"downstream", "--listen", "127.0.0.1:0"}, test.args...), strings.NewReader(""), &out, &errs)
		cancel()
		if status != exitUsage || out.Len() > 0 {
			t.Errorf("downstream %q: status %d, stdout %q, stderr %q", test.args, status, &out, &errs)
		}
		for _, want := range test.wants {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("downstream %q: no %q in %q", test.args, want, &errs)
			}
		}
	}
}

func TestDownstreamBodySizes(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "o", 2: "ok", 5: "ok..."} {
		if got := string(bodyOf(n)); got != want {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
}
