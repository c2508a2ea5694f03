package verdict

import (
	"fmt"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// closings are the downstream's own reasons to close a connection that its
// client could have used again, with the setting behind each.
var closings = []struct{ cause, setting string }{
	{"max_idle", "max idle"}, {"idle", "idle timeout"}, {"max_requests", "max requests"}, {"lifetime", "lifetime"},
}

// Connections that the downstream closes per answer, from which on opening them
// again is what a cell is about, and from which on that is certain.
const (
	closesMany = 0.10
	closesMost = 0.50
)

// brokenConnection are words of the errors that a client meets when its peer
// closes a connection under its hands.
var brokenConnection = []string{"connection reset", "prematurely closed", "broken pipe", "connection has been closed", "econnreset", "received no bytes", "eof", "closed by peer"}

// downstreamCloses: the downstream closes kept connections, and the SUT pays for
// it: in requests that fail, and in connections that it has to open again.
func downstreamCloses(f *figures) *record.Verdict {
	d := f.cell.Downstream
	if d == nil || d.Answered == 0 {
		return nil
	}
	var closed int64
	var settings []string
	for _, c := range closings {
		if n := d.Connections.Closed[c.cause]; n > 0 {
			closed += n
			settings = append(settings, c.setting)
		}
	}
	broken, example := f.brokenConnections()
	perAnswer := float64(closed) / float64(d.Answered)
	if closed == 0 || perAnswer < closesMany && broken == 0 {
		return nil
	}
	text := fmt.Sprintf("the downstream closes connections that the SUT holds for its next requests: %d in the window for its %s, %s a call, so the SUT connects anew %s times a second.",
		closed, strings.Join(settings, " and "), phrase.Number3(perAnswer), phrase.Number3(float64(d.Connections.Accepted)/f.seconds))
	evidence := fmt.Sprintf("%d connections closed by the downstream, %d accepted, %d answers", closed, d.Connections.Accepted, d.Answered)
	if broken > 0 {
		text += fmt.Sprintf(" %d requests met such an end inside the SUT and failed: these errors are the downstream's, not the SUT's.", broken)
		evidence += "; inside the SUT " + example
	}
	return &record.Verdict{Kind: record.VerdictDownstream, Sure: perAnswer >= closesMost || broken > 0 && perAnswer >= closesMany, Text: text, Evidence: evidence}
}

// brokenConnections counts the exceptions inside the SUT that say that a
// connection ended, with the commonest of them.
func (f *figures) brokenConnections() (n int64, example string) {
	most := int64(0)
	for text, count := range f.cell.Exceptions {
		lower := strings.ToLower(text)
		for _, words := range brokenConnection {
			if !strings.Contains(lower, words) {
				continue
			}
			n += count
			if count > most || count == most && text < example {
				most, example = count, text
			}
			break
		}
	}
	return n, example
}
