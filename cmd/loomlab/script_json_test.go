package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptJSON checks a file that is one JSON document, or else its last line:
//
//	json stdout requests.sent = 20
//	json stdout latency_ms.p50 >= 10
//	json stdout targets.0.ok = 5            an element of a list
//	json stdout warnings ~ redirects        its JSON text contains
//
// A path that does not exist fails; null, true and texts compare as JSON text.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: json FILE PATH =|<=|>=|~ VALUE")
	}
	content := ts.ReadFile(args[0])
	var value any
	if json.Unmarshal([]byte(content), &value) != nil {
		lines := strings.Split(strings.TrimSpace(content), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &value); err != nil {
			ts.Fatalf("%v in %.200q", err, lines[len(lines)-1])
		}
	}
	for _, key := range strings.Split(args[1], ".") {
		ok := false
		switch v := value.(type) {
		case map[string]any:
			value, ok = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if ok = err == nil && i >= 0 && i < len(v); ok {
				value = v[i]
			}
		}
		if !ok {
			ts.Fatalf("no key %q of %s", key, args[1])
		}
	}
	text, err := json.Marshal(value)
	ts.Check(err)
	got, isNumber := value.(float64)
	want, wantErr := strconv.ParseFloat(args[3], 64)
	holds := false
	switch args[2] {
	case "=":
		holds = string(text) == args[3] || string(text) == strconv.Quote(args[3]) || isNumber && wantErr == nil && got == want
	case "<=":
		holds = isNumber && wantErr == nil && got <= want
	case ">=":
		holds = isNumber && wantErr == nil && got >= want
	case "~":
		holds = strings.Contains(string(text), args[3])
	}
	if !holds {
		ts.Fatalf("%s is %s, want %s %s", args[1], text, args[2], args[3])
	}
}
