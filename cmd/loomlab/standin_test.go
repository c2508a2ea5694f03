package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// standinRun runs `loomlab standin args` until it ends, for 5 s at most.
func standinRun(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	status = run(ctx, append([]string{"standin"}, args...), strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func TestStandinUsageErrorsAreOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--model", "fibers"}, "--model"},
		{[]string{"--workers", "0"}, "--workers 0: want 1 to"},
		{[]string{"--workers", "many"}, "workers"},
		{[]string{"--lock", "often"}, "--lock"},
		{[]string{"--error-rate", "2"}, "--error-rate"},
		{[]string{"--downstream", "localhost:80"}, "--downstream"},
		{[]string{"surplus"}, "surplus"},
		{[]string{"--listen", taken.Addr().String()}, "address already in use"},
	} {
		status, _, stderr := standinRun(t, test.args...)
		if status != exitUsage || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("standin %q: status %d, %q", test.args, status, stderr)
		}
	}
}

func TestStandinSaysWhereItListensAndCrashesOnPurpose(t *testing.T) {
	for _, model := range []string{"threads", "goroutines", "event-loop"} {
		status, stdout, stderr := standinRun(t, "--listen", "127.0.0.1:0", "--model", model, "--exit-after", "20ms")
		if status != exitKilled || !strings.HasPrefix(stdout, "listening on 127.0.0.1:") || !strings.Contains(stderr, "on purpose") {
			t.Errorf("%s: status %d, stdout %q, stderr %q", model, status, stdout, stderr)
		}
	}
}
