package loadgen

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"loomlab/loadgen/http1/protocoltest"
)

// Every hostile answer gives the counters that its file promises, whether it
// comes in one write or byte by byte.
func TestHostileAnswers(t *testing.T) {
	messages, err := protocoltest.Read("../testdata/protocol/responses")
	if err != nil {
		t.Fatal(err)
	}
	eachEngine(t, func(t *testing.T, engine string) {
		var group errgroup.Group
		group.SetLimit(16) // they wait more than they work
		for _, m := range messages {
			group.Go(func() error {
				checkHostile(t, engine, m, false)
				if len(m.Bytes) <= 512 {
					checkHostile(t, engine, m, true)
				}
				return nil
			})
		}
		group.Wait()
	})
}

func checkHostile(t *testing.T, engine string, m protocoltest.Message, split bool) {
	t.Helper()
	const n = 3
	s := newRaw(t, func(c *rawConn) {
		for c.request() != "" {
			if writeMessage(c, m.Bytes, split) != nil || m.FIN {
				return
			}
		}
	})
	method := "GET"
	if m.Head {
		method = "HEAD"
	}
	// Waiting for something that does not come shows as a timeout, on a busy machine too.
	res := load(t, s, Config{Engine: engine, Method: method, Connections: 1, Requests: n, Timeout: 20 * time.Second})
	got := res.Requests
	words := strings.Fields(m.Outcome)
	if words[0] == "error" {
		wantErrors := Errors{Protocol: n}
		if strings.Contains(m.Outcome, "connection closed") {
			wantErrors = Errors{EOF: n}
		}
		if got.Errors != wantErrors || got.OK+got.Non2xx != 0 {
			t.Errorf(m.Name+": split %v: %s: %+v, examples %v", split, m.Outcome, got, res.Examples)
		}
		return
	}
	wantErrors := int64(0)
	if strings.Contains(m.Outcome, "rest=") { // each surplus spoils the next request
		wantErrors = n / 2
	}
	status, _ := strconv.Atoi(words[1])
	answers, other := got.OK, got.Non2xx
	if status/100 != 2 {
		answers, other = other, answers
	}
	if answers != n-wantErrors || other != 0 || got.Errors.Total() != wantErrors || res.Status[words[1]] != answers {
		t.Errorf(m.Name+": split %v: %s: %+v, status %v, examples %v", split, m.Outcome, got, res.Status, res.Examples)
	}
	connections := int64(1)
	if strings.Contains(m.Outcome, " close") {
		connections = n
	}
	if wantErrors > 0 {
		return
	}
	if s.accepted.Load() != connections || res.Connections.Opened != connections {
		t.Errorf(m.Name+": split %v: %s: %d connections at the server, %d opened", split, m.Outcome, s.accepted.Load(), res.Connections.Opened)
	}
}

func writeMessage(c *rawConn, b []byte, split bool) error {
	if !split {
		_, err := c.Write(b)
		return err
	}
	c.SetNoDelay(true)
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil {
			return err
		}
		if i%16 == 15 {
			time.Sleep(100 * time.Microsecond) // let it be read in pieces
		}
	}
	return nil
}
