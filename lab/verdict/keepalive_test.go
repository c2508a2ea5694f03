package verdict

import (
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestDownstreamThatClosesKeptConnections(t *testing.T) {
	const reset = "WebClientRequestException <- NativeIoException: recvAddress(..) failed with error(-104): Connection reset by peer"
	for _, c := range []struct {
		name       string
		cause      string
		closed     int64
		exceptions map[string]int64
		kind       string
		sure       bool
		words      []string
	}{
		{"idle connections, and errors from it", "max_idle", 16_000, map[string]int64{reset: 7, "PrematureCloseException: Connection prematurely closed BEFORE response": 93},
			record.VerdictDownstream, true, []string{"16000 in the window for its max idle, 0.286 a call", "100 requests met such an end", "not the SUT's"}},
		{"idle connections, no errors", "max_idle", 16_000, nil, record.VerdictDownstream, false, []string{"connects anew 1600 times a second"}},
		{"nearly every call", "max_requests", 50_000, nil, record.VerdictDownstream, true, []string{"50000 in the window for its max requests"}},
		{"every hundredth call, which costs nothing", "max_requests", 560, nil, record.VerdictUnknown, false, nil},
		{"… unless a request failed for it", "max_requests", 560, map[string]int64{reset: 1}, record.VerdictDownstream, false, []string{"1 requests met"}},
		{"other exceptions", "max_requests", 560, map[string]int64{"IllegalStateException: no": 9}, record.VerdictUnknown, false, nil},
		{"the SUT closes them itself", "peer", 56_000, nil, record.VerdictUnknown, false, nil},
	} {
		s := scene{n: 1000, x: 5600, delay: 0.1, sut: cpu{cores: 1}, evenness: 0.5}
		s.change = func(cell *record.Cell, _ *Evidence) {
			cell.Exceptions = c.exceptions
			cell.Downstream.Answered = 56_000
			cell.Downstream.Connections.Accepted = c.closed
			cell.Downstream.Connections.Closed = map[string]int64{c.cause: c.closed}
		}
		v := s.verdict()
		if v.Kind != c.kind || v.Sure != c.sure {
			t.Errorf("%s: %s, sure %v: %s", c.name, v.Kind, v.Sure, v.Text)
		}
		for _, words := range c.words {
			if !strings.Contains(v.Text, words) {
				t.Errorf("%s: %q is not in %s", c.name, words, v.Text)
			}
		}
	}
}
