package experiment

import (
	"reflect"
	"strings"
	"testing"
)

func TestPlaceholders(t *testing.T) {
	values := Placeholders{"port": "18080", "downstream": "http://127.0.0.1:1"}
	got, err := values.ExpandAll([]string{"--port={{port}}", "{{downstream}}/x{{port}}", "{{jdk}}/bin/java", "{port}", "plain"})
	want := []string{"--port=18080", "http://127.0.0.1:1/x18080", "{{jdk}}/bin/java", "{port}", "plain"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for text, want := range map[string]string{
		"{{prot}}":   "unknown placeholder {{prot}}; known are {{address}}, {{apps}}, {{connections}}, ",
		"{{ port }}": "unknown placeholder {{ port }}",
		"a{{}}b":     "unknown placeholder {{}}",
		"{{PORT}}":   "unknown placeholder {{PORT}}",
	} {
		if _, err := values.Expand(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Expand(%q): %v; want %s…", text, err, want)
		}
		if _, err := values.ExpandEnv(map[string]string{"A": text}); err == nil || !strings.HasPrefix(err.Error(), "A: "+want) {
			t.Errorf("ExpandEnv(%q): %v", text, err)
		}
	}
}
