package lab

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"sync"
)

// Bounds of what a SUT's log may make us keep.
const (
	traceKinds   = 50       // distinct exceptions; further ones are counted together
	traceLine    = 64 << 10 // bytes of a line; a JSON log has a whole trace in one
	traceMessage = 200      // characters of a message
	traceGap     = 20       // lines that a message may go on before its first frame
	otherTraces  = "other exceptions"
)

// traces is a writer that reads a SUT's log while it is written and counts the
// stack traces in it, by "Exception <- root cause: message", as the lab's own apps
// report what they caught. It knows the shapes of printStackTrace, java.util.logging,
// Logback (root cause first too), Log4j, and JSON lines that hold one of these.
type traces struct {
	mu     sync.Mutex
	counts map[string]int64
	line   []byte // that has not ended yet
	cut    bool   // the rest of an overlong line is dropped
	reader traceReader
}

func (t *traces) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		if room := traceLine - len(t.line); len(part) > room {
			part, t.cut = part[:room], true
		}
		t.line = append(t.line, part...)
		if ended {
			t.take(string(bytes.TrimSuffix(t.line, []byte("\r"))))
			t.line, t.cut = t.line[:0], false
		}
	}
	return len(p), nil
}

// take reads one line; a trace inside a JSON line is read as lines of its own.
func (t *traces) take(line string) {
	if !strings.HasPrefix(line, "{") || !strings.Contains(line, `\n\tat `) || t.cut {
		t.add(t.reader.line(line))
		return
	}
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil {
		return
	}
	t.add(t.reader.finish())
	for _, value := range fields {
		if text, ok := value.(string); ok && strings.Contains(text, "\n\tat ") {
			for inner := range strings.Lines(text) {
				t.add(t.reader.line(strings.TrimRight(inner, "\r\n")))
			}
			t.add(t.reader.finish())
		}
	}
}

func (t *traces) add(kind string) {
	if kind == "" {
		return
	}
	if t.counts == nil {
		t.counts = map[string]int64{}
	}
	if _, known := t.counts[kind]; !known && len(t.counts) >= traceKinds {
		kind = otherTraces
	}
	t.counts[kind]++
}

// snapshot is what was counted so far. A trace that is being written counts as it
// stands; its remaining lines are then nobody's.
func (t *traces) snapshot() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(t.reader.finish())
	counts := maps.Clone(t.counts)
	if counts == nil {
		counts = map[string]int64{}
	}
	return counts
}

// thrown is an exception as the head of a trace names it.
type thrown struct{ name, message string }

// traceReader follows a log line by line. A trace is a head, "\tat " frames, and
// "Caused by:" with further frames; whatever line has no frames after it is none.
type traceReader struct {
	head    *thrown // what frames would belong to: the last line that named an exception
	ownLine bool    // head stood at the beginning of its line: nothing within a message replaces it
	since   int     // lines since head, or since the last line of the open trace
	open    bool    // top has frames
	top     thrown
	root    *thrown // the last cause; nil: top is its own
}

// line reads the next line and returns the trace that it brought to an end, or "".
func (r *traceReader) line(text string) string {
	trimmed := strings.TrimLeft(text, " \t")
	indented := len(trimmed) < len(text)
	switch {
	case indented && strings.HasPrefix(trimmed, "at "):
		return r.frame()
	case strings.HasPrefix(trimmed, "... "), indented && strings.HasPrefix(trimmed, "Suppressed: "), indented && strings.HasPrefix(trimmed, "Caused by: "):
		r.continues() // a cause that is indented belongs to a suppressed exception
	case strings.HasPrefix(trimmed, "Caused by: "):
		return r.cause(trimmed[len("Caused by: "):])
	case strings.HasPrefix(trimmed, "Wrapped by: "):
		r.wrapper(trimmed[len("Wrapped by: "):])
	default:
		return r.other(trimmed)
	}
	return ""
}

// cause reads what stands after "Caused by: ".
func (r *traceReader) cause(text string) (ended string) {
	t, ok := headOf(text)
	if !ok {
		return ""
	}
	if r.head != nil && (r.ownLine || r.since == 0) { // a head whose own frames were left out
		ended = r.frame()
	}
	if r.open {
		r.root = &t
	}
	r.continues()
	return ended
}

// wrapper reads what stands after "Wrapped by: ", where the root cause comes first.
func (r *traceReader) wrapper(text string) {
	t, ok := headOf(text)
	if !ok || !r.open {
		return
	}
	if r.root == nil {
		first := r.top
		r.root = &first
	}
	r.top = t
	r.continues()
}

// continues notes a line that can only be part of the open trace.
func (r *traceReader) continues() { r.head, r.since = nil, 0 }

// frame opens a trace where a head waits for it.
func (r *traceReader) frame() (ended string) {
	if r.head == nil {
		r.since = 0
		return ""
	}
	ended = r.close()
	r.top, r.open = *r.head, true
	r.continues()
	return ended
}

// other is a line of a message or of no trace at all.
func (r *traceReader) other(text string) (ended string) {
	if r.since++; r.since > traceGap {
		r.head = nil
		ended = r.close()
	}
	if rest, ok := strings.CutPrefix(text, `Exception in thread "`); ok {
		_, text, _ = strings.Cut(rest, `" `)
	}
	if t, ok := headOf(text); ok {
		r.head, r.ownLine, r.since = &t, saysException(t.name), 0
	} else if r.head == nil || !r.ownLine {
		if t, ok := headIn(text); ok {
			r.head, r.ownLine, r.since = &t, false, 0
		}
	}
	return ended
}

// finish ends the open trace and returns it, or "".
func (r *traceReader) finish() string {
	r.head = nil
	return r.close()
}

// close ends the open trace alone: a head that waits for frames goes on waiting.
func (r *traceReader) close() string {
	if !r.open {
		return ""
	}
	kind := simpleName(r.top.name)
	last := r.top
	if r.root != nil {
		kind += " <- " + simpleName(r.root.name)
		last = *r.root
	}
	r.open, r.root, r.top = false, nil, thrown{}
	if last.message != "" {
		kind += ": " + normalise(last.message)
	}
	return kind
}

// headOf reads a line that begins with the name of an exception: java.io.IOException,
// or java.io.IOException: reason.
func headOf(text string) (thrown, bool) {
	name, message, _ := strings.Cut(text, ":")
	if message != "" && message[0] != ' ' && message[0] != '\t' || !isClassName(name) {
		return thrown{}, false
	}
	if message = strings.TrimSpace(message); message == "null" {
		message = ""
	}
	return thrown{name, message}, true
}

// headIn looks for an exception in the middle of a line, such as after
// `Exception in thread "main"` or a logger's message; the last one is the one that
// frames would follow.
func headIn(text string) (thrown, bool) {
	for _, end := range []string{"Exception", "Error", "Throwable"} {
		at := strings.LastIndex(text, end)
		if at < 0 {
			continue
		}
		from := strings.LastIndexAny(text[:at], " \t\"'([{<>=,;") + 1
		if t, ok := headOf(text[from:]); ok && strings.Contains(t.name, ".") {
			return t, true
		}
	}
	return thrown{}, false
}

// isClassName: dots between Java identifiers, the last of them a class by its
// capital letter; a name without a package counts when it says that it is an exception.
func isClassName(s string) bool {
	if s == "" || len(s) > 300 {
		return false
	}
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
		switch {
		case c == '.':
			if i == start {
				return false
			}
			start = i + 1
		case !letter && (i == start || c < '0' || c > '9'):
			return false
		}
	}
	if start == len(s) || s[start] < 'A' || s[start] > 'Z' {
		return false
	}
	return start > 0 || saysException(s)
}

func saysException(name string) bool {
	return strings.HasSuffix(name, "Exception") || strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Throwable")
}

// simpleName is the class's own name: IOException of java.io.IOException, and
// Timeout of a.Client$Timeout.
func simpleName(name string) string {
	name = name[strings.LastIndexByte(name, '.')+1:]
	if at := strings.LastIndexByte(name, '$'); at >= 0 && at+1 < len(name) && (name[at+1] < '0' || name[at+1] > '9') {
		return name[at+1:]
	}
	return name
}
