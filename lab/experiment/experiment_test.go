package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
)

// TestMistakes reads a file with nearly every mistake there is and expects all
// of them in one error, each with its place.
func TestMistakes(t *testing.T) {
	data, err := os.ReadFile("testdata/mistakes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("mistakes.yaml", data)
	if err == nil {
		t.Fatal("no error")
	}
	want, readErr := os.ReadFile("testdata/mistakes.golden")
	if readErr != nil {
		t.Fatal(readErr)
	}
	if got := err.Error() + "\n"; got != string(want) {
		t.Errorf("differs from testdata/mistakes.golden; when it is right, keep it there:\n%s", got)
	}
}

// minimal is the least that a file can hold; tests append to it.
const minimal = `name: x
suts: [{name: s, url: "http://127.0.0.1:8080"}]
load: {connections: [10]}
`

func TestSingleMistakes(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"empty file", "", "f:1:1: the file is empty"},
		{"only comments", "# nothing\n", "f:1:1: the file is empty"},
		{"a list", "- a\n", "f:1:1: a list; an experiment is a mapping"},
		{"a word", "article\n", `f:1:1: "article"; an experiment is a mapping`},
		{"not YAML", "name: [a,\nb: c\n", "f:1:7: not YAML: sequence end token ']' not found"},
		{"tab indent", "name: a\nload:\n\trounds: 1\n", "f:3:1: not YAML"},
		{"two documents", minimal + "---\nname: y\n", "f:5:1: a second document"},
		{"unknown anchor", minimal + "jvm: *flags\n", "f:4:6: an alias to an anchor that is not set before it"},
		{"merge key", minimal + "downstream:\n  <<: {delay: 1s}\n", "f:5:3: merge keys (<<) are not accepted"},
		{"no ladder", "name: x\nsuts: [{name: s, url: 'http://h'}]\n", "f:1:1: an empty ladder"},
		{"null", minimal + "question:\n", "f:4:11: nothing here; want text"},
		{"suggestion", minimal + "fork: 2\n", `f:4:1: unknown key "fork"; did you mean forks?; an experiment has name,`},
		{"placeholder without downstream", "name: x\ndownstream: none\nload: {connections: [1]}\nsuts: [{name: s, command: [a, \"{{port}}\", \"{{downstream}}\"]}]\n",
			"f:4:43: {{downstream}} in an experiment with downstream: none"},
		{"rude", minimal + "downstream: {keep_alive: {rude: true}}\n", "f:4:33: rude without max_requests"},
		{"warm-up twice", "name: x\nsuts: [{name: s, url: 'http://h'}]\nload: {connections: [1], warmup: {count: 5, max: 9s}}\n", "f:3:34: a warm-up by count, which is so many windows long, and by time"},
		{"no sysctl of a network", minimal + "netns: {sysctl: {vm.swappiness: 1}}\n", `f:4:33: "vm.swappiness" is no setting of a network namespace`},
		{"gRPC that nobody serves", "name: x\nload: {connections: [1]}\nsuts: [{name: s, command: [a, '{{port}}', '{{grpc}}']}]\n", `f:3:8: SUT "s" calls {{grpc}}, which its downstream does not serve`},
		{"wrong place of a SUT", "name: x\nload: {connections: [1]}\nsuts: [{name: s, url: 'http://h', place: {sut: 'netns:../a'}}]\n", `f:3:42: launcher "netns:../a": "../a" is no name`},
		{"huge rung", "name: x\nload: {connections: [2000000]}\nsuts: [{name: s, url: 'http://h'}]\n", "f:2:22: a rung of 2000000 connections; want 1 to 1000000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.file))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s…", err, tc.want)
			}
		})
	}
}

func TestParseFillsDefaults(t *testing.T) {
	e, err := Parse("f", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	want := record.Load{Path: "/call", Connections: []int{10}, Rounds: 2, Duration: record.Duration(10 * time.Second), Timeout: record.Duration(10 * time.Second),
		Warmup: record.Warmup{Min: record.Duration(8 * time.Second), Max: record.Duration(20 * time.Second)}}
	if !reflect.DeepEqual(e.Load, want) {
		t.Errorf("load = %+v", e.Load)
	}
	if e.Downstream == nil || e.Downstream.Delay != record.Duration(100*time.Millisecond) || e.Forks != 1 {
		t.Errorf("downstream %+v, forks %d", e.Downstream, e.Forks)
	}
	Resolve(e)
	if r := e.SUTs[0].Ready; r.Path != "/call" || r.Status != 200 || r.Timeout != record.Duration(time.Minute) {
		t.Errorf("ready = %+v", r)
	}
}

func TestParseValues(t *testing.T) {
	e, err := Parse("f", []byte(`name: x
downstream: none
load: {connections: [10, 5], path: &p /p, warmup: none, duration: 1m30s}
suts:
  - {name: app, app: mvc, jdk: 21, boot: 3.5, path: *p}
  - {name: url, url: "http://127.0.0.1:80/x?y=1"}
  - {name: fixed, command: [srv], url: "http://127.0.0.1:81", calls: 2.5, env: {N: 1}}
published:
  - {sut: app, connections: 10, throughput: 7, p50_ms: [1.5, 2], p99_ms: timeouts, rss_mb: "12"}
`))
	if err != nil {
		t.Fatal(err)
	}
	Resolve(e)
	if e.Downstream != nil {
		t.Error("downstream: none is a downstream")
	}
	if e.Load.Warmup != (record.Warmup{}) || e.Load.Duration.Seconds() != 90 || !reflect.DeepEqual(e.Load.Connections, []int{10, 5}) {
		t.Errorf("load = %+v", e.Load)
	}
	if s := e.SUTs[0]; s.JDK != "21" || s.Boot != "3.5" || s.Path != "/p" || s.Calls != nil {
		t.Errorf("app = %+v", s)
	}
	if s := e.SUTs[1]; s.URL != "http://127.0.0.1:80" || s.Path != "/x?y=1" || s.Ready.Path != "/x?y=1" {
		t.Errorf("url = %+v", s)
	}
	if s := e.SUTs[2]; *s.Calls != 2.5 || s.Env["N"] != "1" {
		t.Errorf("fixed = %+v", s)
	}
	p := e.Published[0]
	if !reflect.DeepEqual(p.Throughput, []float64{7}) || !reflect.DeepEqual(p.P50MS, []float64{1.5, 2}) || !reflect.DeepEqual(p.RSSMB, []float64{12}) || p.Texts["p99_ms"] != "timeouts" {
		t.Errorf("published = %+v", p)
	}
}

// TestBuiltins parses every experiment in the binary and holds each to its file's name.
func TestBuiltins(t *testing.T) {
	for i, name := range Builtins() {
		e, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != name || e.Title == "" || e.Question == "" || (i == 0) != (name == DefaultExperiment) {
			t.Errorf("%d: %s holds %q, title %q, question %q", i, name, e.Name, e.Title, e.Question)
		}
		if len(e.Question) > 160 || !strings.HasSuffix(e.Question, "?") {
			t.Errorf("%s: %d characters are no short question: %s", name, len(e.Question), e.Question)
		}
	}
}

// TestArticle checks published figures against the article, read off by hand.
func TestArticle(t *testing.T) {
	e, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Published) != 9 || e.Source.Counting != "with-drain" || !reflect.DeepEqual(e.JVM, []string{"-Xmx1g", "-Xms256m", "-XX:+UseG1GC"}) {
		t.Errorf("%d rows, source %+v, jvm %v", len(e.Published), e.Source, e.JVM)
	}
	for _, p := range e.Published {
		if len(p.Throughput) != 2 || len(p.P50MS) != 2 || len(p.P99MS) != 2 || len(p.Errors) != 2 || len(p.RSSMB) != 1 || len(p.ThreadsPeak) != 1 || len(p.HeapUsedMB) != 1 {
			t.Errorf("row %s at %d is not complete: %+v", p.SUT, p.Connections, p)
		}
	}
	last := e.Published[8]
	if last.SUT != "webflux" || last.Throughput[0] != 19622 || last.P99MS[1] != 4541.7 || last.Errors[0] != 114 || last.RSSMB[0] != 522 {
		t.Errorf("webflux at 3000 = %+v", last)
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(minimal), 0o644); err != nil {
		t.Fatal(err)
	}
	if e, err := Load(file); err != nil || e.Name != "x" {
		t.Errorf("Load(file) = %v, %v", e, err)
	}
	for _, tc := range []struct{ arg, want string }{
		{"artikle", `unknown experiment "artikle"; did you mean article?; known are article`},
		{"zzz", `unknown experiment "zzz"; known are article`},
		{"./none.yaml", "experiment file: open ./none.yaml"},
		{"none.yaml", "experiment file: open none.yaml"},
	} {
		if _, err := Load(tc.arg); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("Load(%q) = %v; want %s…", tc.arg, err, tc.want)
		}
	}
	if _, err := Load(t.TempDir() + "/no.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzParse holds that no bytes make Parse panic, and that every mistake has a place.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	if data, err := os.ReadFile("testdata/mistakes.yaml"); err == nil {
		f.Add(data)
	}
	f.Add([]byte("name: &a [*a, <<: *a]\nsuts: {<<: {}}\npublished: [[]]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse("f", data)
		var m *Mistakes
		switch {
		case err == nil:
			Resolve(e)
		case !errors.As(err, &m) || len(m.List) == 0:
			t.Errorf("error without mistakes: %v", err)
		}
	})
}
