package jvm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// jfrEvent is one event as `jfr print --json` writes it; of its values those that
// the lab reads. Null stays the zero value.
type jfrEvent struct {
	Type   string    `json:"type"`
	Values jfrValues `json:"values"`
}

type jfrValues struct {
	StartTime   string    `json:"startTime"`
	Duration    string    `json:"duration"` // ISO 8601, such as PT0.0123S
	StackTrace  *jfrStack `json:"stackTrace"`
	ObjectClass *jfrClass `json:"objectClass"`
	Weight      int64     `json:"weight"` // bytes that a sample stands for
	Host        string    `json:"host"`
	Address     string    `json:"address"`
	Port        int       `json:"port"`
	ActiveCount int64     `json:"activeCount"`
	PeakCount   int64     `json:"peakCount"`
	// Since JDK 24.
	PinnedReason string `json:"pinnedReason"`
}

type jfrStack struct {
	Truncated bool       `json:"truncated"`
	Frames    []jfrFrame `json:"frames"` // innermost first
}

type jfrFrame struct {
	Method jfrMethod `json:"method"`
	Line   int       `json:"lineNumber"`
}

type jfrMethod struct {
	Type jfrClass `json:"type"`
	Name string   `json:"name"`
}

type jfrClass struct {
	Name string `json:"name"`
}

// name is the class with dots; arrays of the class file's form become Java's.
func (c jfrClass) name() string {
	name := strings.ReplaceAll(c.Name, "/", ".")
	depth := len(name) - len(strings.TrimLeft(name, "["))
	if depth == 0 {
		return name
	}
	element := name[depth:]
	primitives := map[string]string{"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean"}
	if p, ok := primitives[element]; ok {
		element = p
	} else {
		element = strings.TrimSuffix(strings.TrimPrefix(element, "L"), ";")
	}
	return element + strings.Repeat("[]", depth)
}

// String is the method as people write it: Class.method, with the package.
func (f jfrFrame) String() string {
	if f.Method.Type.Name == "" {
		return f.Method.Name
	}
	return hiddenClass(f.Method.Type.name()) + "." + f.Method.Name
}

// hiddenClass drops the address from the name of a lambda's class, which no two runs share.
func hiddenClass(name string) string {
	at := strings.Index(name, "$$Lambda")
	if at < 0 {
		return name
	}
	return name[:at] + "$$Lambda"
}

// started is when the event began, of the wall clock; zero where it does not say.
func (v jfrValues) started() time.Time {
	t, err := time.Parse(time.RFC3339Nano, v.StartTime)
	if err != nil {
		return time.Time{}
	}
	return t
}

// ms is the event's duration in milliseconds; 0 for none.
func (v jfrValues) ms() float64 {
	s, err := isoSeconds(v.Duration)
	if err != nil {
		return 0
	}
	return s * 1000
}

// isoSeconds reads a duration such as PT1M2.5S.
func isoSeconds(text string) (float64, error) {
	rest, ok := strings.CutPrefix(text, "PT")
	if !ok || rest == "" {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	units := map[byte]float64{'H': 3600, 'M': 60, 'S': 1}
	total := 0.0
	for rest != "" {
		end := strings.IndexAny(rest, "HMS")
		if end < 1 {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		v, err := strconv.ParseFloat(rest[:end], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		total += v * units[rest[end]]
		rest = rest[end+1:]
	}
	return total, nil
}

// eachJFREvent streams the answer of `jfr print --json` to f, which may return
// errEnough to stop. Nothing of it is kept: a recording of ten seconds can print as
// hundreds of megabytes.
func eachJFREvent(r io.Reader, f func(jfrEvent) error) error {
	dec := json.NewDecoder(r)
	// {"recording": {"events": [ … ]}}
	for {
		token, err := dec.Token()
		if err != nil {
			return fmt.Errorf("no events in what jfr printed: %w", err)
		}
		if token == "events" {
			break
		}
	}
	if token, err := dec.Token(); err != nil || token != json.Delim('[') {
		return errors.New("what jfr printed as events is no list")
	}
	for dec.More() {
		var e jfrEvent
		if err := dec.Decode(&e); err != nil {
			return fmt.Errorf("an event that jfr printed cannot be read: %w", err)
		}
		if err := f(e); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
	return nil
}

var errEnough = errors.New("enough events")

// parseJFRSummary reads the counts from the table of `jfr summary`.
func parseJFRSummary(text string) map[string]int64 {
	counts := map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 || !strings.Contains(fields[0], ".") {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil && n > 0 {
			counts[fields[0]] = n
		}
	}
	return counts
}
