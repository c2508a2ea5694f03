package plan

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// mixed is an experiment in which every SUT has another load.
const mixed = `name: mixed
title: every kind of load
downstream: {delay: 20ms, command: ["{{jdk}}/bin/java", Delay.java, "{{port}}", "{{delay_ms}}"]}
load: {path: /a, connections: [10, 100], rounds: 2, duration: 5s, warmup: {min: 4s, max: 8s}}
suts:
  - {name: plain, command: [./s, "{{port}}"], downstream: {delay: 30ms}}
  - {name: counted, command: [./s, "{{port}}"], downstream: none, load: {requests: 5000, connections: [25], rounds: 1, warmup: none}}
  - {name: rated, command: [./s, "{{port}}"], downstream: {delay: 30ms}, load: {rate: [500, 750.5]}}
  - {name: mix, command: [./s, "{{port}}"], downstream: {delay: 30ms}, load: {targets: [{path: /light, weight: 3}, {path: /heavy, weight: 1}], warmup: {max: 3s}}}
  - {name: foreign, app: mvc, load: {command: ["{{jdk}}/bin/java", "{{apps}}/tools/Load.java", "{{url}}", "{{connections}}", "{{seconds}}", "{{timeout}}"], rounds: 1}}
published:
  - {sut: rated, rate: 750.5, throughput: 750}
  - {sut: counted, connections: 25, total_s: 0.4, mean_ms: 1, cpu_cores: 1.5}
claims:
  - {text: t, expr: "p90_ms('rated', 500) < 100 && total_s('counted', 25) < 10"}
`

func parseMixed(t *testing.T) *record.Experiment {
	t.Helper()
	e, err := experiment.Parse("mixed.yaml", []byte(mixed))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestOwnLoads(t *testing.T) {
	e := parseMixed(t)
	second := record.Duration(time.Second)
	want := map[string]*record.Load{
		"plain":   nil,
		"counted": {Path: "/a", Connections: []int{25}, Rounds: 1, Requests: 5000, Timeout: 10 * second},
		"rated": {Path: "/a", Rate: []float64{500, 750.5}, Rounds: 2, Duration: 5 * second, Timeout: 10 * second,
			Warmup: record.Warmup{Min: 4 * second, Max: 8 * second}},
		"mix": {Connections: []int{10, 100}, Rounds: 2, Duration: 5 * second, Timeout: 10 * second, Warmup: record.Warmup{Min: 3 * second, Max: 3 * second},
			Targets: []record.Target{{Path: "/light", Weight: 3}, {Path: "/heavy", Weight: 1}}},
		"foreign": {Path: "/a", Connections: []int{10, 100}, Rounds: 1, Duration: 5 * second, Timeout: 10 * second, Warmup: record.Warmup{Min: 4 * second, Max: 8 * second},
			Command: []string{"{{jdk}}/bin/java", "{{apps}}/tools/Load.java", "{{url}}", "{{connections}}", "{{seconds}}", "{{timeout}}"}},
	}
	for _, s := range e.SUTs {
		if !reflect.DeepEqual(s.Load, want[s.Name]) {
			t.Errorf("%s: %+v\nwant %+v", s.Name, s.Load, want[s.Name])
		}
	}
	experiment.Resolve(e)
	for i, path := range []string{"/a", "/a", "/a", "/light", "/a"} {
		if e.SUTs[i].Path != path {
			t.Errorf("path of %s is %s, want %s", e.SUTs[i].Name, e.SUTs[i].Path, path)
		}
	}
	rungs := []record.Rung{{Connections: 10}, {Connections: 25}, {Connections: 100}, {Rate: 500}, {Rate: 750.5}}
	if got := e.Rungs(); !reflect.DeepEqual(got, rungs) {
		t.Errorf("rungs %v, want %v", got, rungs)
	}
	if got := e.Cells(); got != 4+1+4+4+2 {
		t.Errorf("%d cells", got)
	}
}

// TestPathInPlaceOfTargets: a SUT with one path of its own is not mixed.
func TestPathInPlaceOfTargets(t *testing.T) {
	e, err := experiment.Parse("f", []byte("name: x\nload: {connections: [1], targets: [{path: /a, weight: 1}, {path: /b, weight: 1}]}\n"+
		"suts: [{name: s, url: 'http://h'}, {name: own, url: 'http://h', path: /c}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is as once
		experiment.Resolve(e)
	}
	if s := e.SUTs[0]; s.Path != "/a" || s.Load != nil {
		t.Errorf("%+v", s)
	}
	if s := e.SUTs[1]; s.Path != "/c" || s.Load == nil || s.Load.Targets != nil {
		t.Errorf("%+v", s)
	}
}

func TestLoadMistakes(t *testing.T) {
	const head = "name: x\nsuts: [{name: s, url: 'http://h'}]\n"
	own := func(load string) string {
		return "name: x\nload: {connections: [10]}\nsuts: [{name: s, url: 'http://h', load: " + load + "}]\n"
	}
	for _, tc := range []struct{ file, want string }{
		{head + "load: {connections: [1], requests: 10, duration: 1s}\n", "f:3:50: duration and requests; want one of them"},
		{head + "load: {connections: [1], rate: [5]}\n", "f:3:32: connections and rate; want one of them"},
		{head + "load: {rate: [0, 5, 5, -1, fast]}\n", "f:3:15: a rung of 0 requests offered a second; want more than 0"},
		{head + "load: {rate: [5, 5]}\n", "f:3:18: a second rung of 5 requests offered a second"},
		{head + "load: {rate: fast}\n", `f:3:14: "fast"; want a list`},
		{head + "load: {connections: [100], requests: 99}\n", "f:3:38: 99 requests for 100 connections"},
		{head + "load: {connections: [1], requests: 0}\n", "f:3:36: 0; want at least 1"},
		{head + "load: {connections: [1], requests: many}\n", `f:3:36: "many"; want a whole number`},
		{head + "load: {connections: [1], targets: []}\n", "f:3:35: no targets"},
		{head + "load: {connections: [1], targets: [{path: a, weight: 0}]}\n", `f:3:43: "a": a path begins with /`},
		{head + "load: {connections: [1], targets: [{path: /a, weight: 0}]}\n", "f:3:55: 0; want more than 0"},
		{head + "load: {connections: [1], targets: [{path: /a}]}\n", "a target without weight"},
		{head + "load: {connections: [1], path: /x, targets: [{path: /a, weight: 1}]}\n", "path and targets; want one of them"},
		{head + "load: {connections: [1], command: []}\n", "f:3:35: an empty command"},
		{head + "load: {connections: [1], command: [x]}\n", "a load command without {{url}}"},
		{head + "load: {connections: [1], command: [x, '{{url}}', '{{duration}}']}\n", "a load command without {{connections}}"},
		{head + "load: {connections: [1], command: [x, '{{url}}', '{{connections}}']}\n", "a load command without {{duration}} (10s) or {{seconds}} (10)"},
		{head + "load: {rate: [1], command: [x, '{{url}}', '{{duration}}']}\n", "a load command without {{rate}}"},
		{head + "load: {connections: [1], requests: 5, command: [x, '{{url}}', '{{connections}}']}\n", "a load command without {{requests}}"},
		{head + "load: {connections: [1], command: [x, '{{url}}', '{{connections}}', '{{port}}', '{{seconds}}']}\n", "f:3:69: unknown placeholder {{port}}; known are {{apps}}, {{connections}}"},
		{head + "load: {connections: [1], engine: epoll, command: [x, '{{url}}', '{{connections}}', '{{seconds}}']}\n", "command and engine; want one of them"},
		{head + "load: {rate: [1], equal_rate: true}\n", "no equal rate: s climbs offered rates already"},
		{own("{rounds: 0}"), "f:3:50: 0; want at least 1"},
		{own("{equal_rate: true}"), "f:3:54: the equal rate concerns all SUTs"},
		{own("{connections: []}"), "f:3:41: an empty ladder"},
		{own("{connectons: [1]}"), `f:3:42: unknown key "connectons"; did you mean connections?; load has path, connections, rate, `},
		{own("{warmup: {min: 2s, max: 1s}}"), "a warm-up of at least 2s and at most 1s"},
		{own("{targets: [{path: /b, weight: 1}]}, path: /c"), "path and load.targets; want one of them"},
		{"name: x\nload: {connections: [10], targets: [{path: /a, weight: 1}]}\nsuts: [{name: s, url: 'http://h', load: {command: [x, '{{url}}', '{{connections}}', '{{seconds}}']}}]\n",
			"f:3:51: a load command cannot take the experiment's targets"},
		{"name: x\nsuts: [{name: s, url: 'http://h', load: {connections: [1]}}, {name: t, url: 'http://h'}]\n", "an empty ladder"},
		{head + "load: {connections: [1]}\ndownstream: {command: [x]}\n", "f:4:23: a command without {{port}}"},
		{head + "load: {connections: [1]}\ndownstream: {command: []}\n", "f:4:23: an empty command"},
		{head + "load: {connections: [1]}\ndownstream: {command: [x, '{{port}}'], jitter: 5ms}\n", "f:4:48: jitter is of our own downstream"},
		{head + "load: {connections: [1]}\ndownstream: {command: [x, '{{port}}', '{{url}}']}\n", "f:4:39: unknown placeholder {{url}}; known are {{address}}, {{apps}}, {{delay}}"},
		{own("{connections: [5]}") + "published: [{sut: s, connections: 10, throughput: 1}]\n", "10 is no rung of the ladder of s; it has 5"},
		{own("{rate: [5]}") + "published: [{sut: s, rate: 6, throughput: 1}]\n", "6/s offered is no rung of the ladder of s; it has 5/s offered"},
		{own("{rate: [5]}") + "claims: [{text: t, expr: \"throughput('s', 10) > 1\"}]\n", "10/s offered is no rung of the ladder of s"},
	} {
		_, err := experiment.Parse("f", []byte(tc.file))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\ngot  %v\nwant %s…", tc.file, err, tc.want)
		}
	}
	// Every SUT with a ladder of its own needs none beside it.
	if _, err := experiment.Parse("f", []byte("name: x\nsuts: [{name: s, url: 'http://h', load: {rate: [1]}}]\n")); err != nil {
		t.Error(err)
	}
}

func TestPlanOwnLoads(t *testing.T) {
	p, err := New(parseMixed(t), Options{}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.WriteDryRun(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "plans/mixed.golden", b.String())
	if len(p.Cells) != p.Experiment.Cells() {
		t.Errorf("%d cells planned, the experiment has %d", len(p.Cells), p.Experiment.Cells())
	}
	if c := p.Cells[5]; c != (CellKey{SUT: "rated", Fork: 1, Rate: 500, Round: 1}) {
		t.Errorf("cell %+v", c)
	}
	if !p.Needs.JDK || p.Needs.LoadFDs != 938+ownFDs { // 1.25 connections for each of 750.5/s
		t.Errorf("needs %+v", p.Needs)
	}
	if p.WantsEqualRate() {
		t.Error("an equal rate where one SUT climbs rates")
	}
}

func TestIsolatedLaddersOfDifferentLength(t *testing.T) {
	e := parseMixed(t)
	e.Isolate = experiment.IsolateRung
	p, err := New(e, Options{SUTs: []string{"plain", "counted"}}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, turn := range p.turns() {
		got = append(got, turn.SUT.Name+" "+turn.Cells[0].Rung().String())
	}
	if want := []string{"plain 10", "counted 25", "plain 100"}; !reflect.DeepEqual(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}

func TestLoadArgv(t *testing.T) {
	p, err := New(parseMixed(t), Options{}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{
		1: "/bin/loomlab load http://127.0.0.1:1/a -c 25 -n 5000 --lead-in 2s --timeout 10s --samples --json",
		2: "/bin/loomlab load http://127.0.0.1:1/a -R 500 -d 5s --timeout 10s --samples --json",
		3: "/bin/loomlab load http://127.0.0.1:1/light -c 10 -d 5s --timeout 10s --samples --json --target 3=/light --target 1=/heavy",
	} {
		s := p.SUTs[i]
		if got := strings.Join(p.EngineArgv(s, s.BaseURL(Loopback(1)), p.Load(s).Rungs()[0], false), " "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", s.Name, got, want)
		}
	}
	s := p.SUTs[4]
	got, err := p.LoadCommandArgv(s, s.BaseURL(Loopback(1)), record.Rung{Connections: 100}, nil)
	if want := "/jdk/bin/java /cache/apps/tools/Load.java http://127.0.0.1:1/a 100 5 10s"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got  %s, %v\nwant %s", strings.Join(got, " "), err, want)
	}
	got, err = p.DownstreamCommand(s, experiment.Placeholders{"port": "7"})
	if want := "/jdk/bin/java Delay.java 7 20"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got  %s, %v\nwant %s", strings.Join(got, " "), err, want)
	}
	if p.DownstreamArgv(s.Downstream, "x", "y") != nil {
		t.Error("two downstreams for one SUT")
	}
}

// TestTiersThatNeedJava: a SUT whose load is a Java command is left out where
// there is no JDK, also when a stand-in could run in its place.
func TestTiersThatNeedJava(t *testing.T) {
	bare := Facts{NoApps: "no JDK 21 or later was found"}
	p, err := New(parseMixed(t), Options{SUTs: []string{"counted", "foreign"}}, bare)
	if err != nil {
		t.Fatal(err)
	}
	want := []SkippedSUT{{"foreign", "its load or its downstream is a command that needs a JDK: no JDK 21 or later was found"}}
	if !reflect.DeepEqual(p.Skipped, want) || len(p.SUTs) != 1 {
		t.Errorf("skipped %v, runs %v", p.Skipped, p.Order())
	}
}

func TestOptionsOnOwnLoads(t *testing.T) {
	plan := func(o Options) map[string]*record.Load {
		t.Helper()
		p, err := New(parseMixed(t), o, jdkMachine)
		if err != nil {
			t.Fatal(err)
		}
		loads := map[string]*record.Load{}
		for _, s := range p.SUTs {
			loads[s.Name] = p.Load(s)
		}
		return loads
	}
	quick := plan(Options{Quick: true})
	for name, l := range quick {
		if l.Rounds != 1 || l.Duration != quickTime || l.Requests != 0 || l.Warmup.Max != quickTime || len(l.Rungs()) > 2 {
			t.Errorf("quick %s: %+v", name, l)
		}
	}
	scaled := plan(Options{Scale: 0.01})
	if l := scaled["counted"]; l.Requests != 50 || l.RequestsAt(record.Rung{Connections: 60}) != 60 {
		t.Errorf("scaled: %+v", l)
	}
	if l := scaled["plain"]; l.Duration.Seconds() != 5 {
		t.Errorf("scaled: %+v", l)
	}
	changed := plan(Options{Connections: []int{7}, Duration: ptr(time.Second), Rounds: ptr(3), Path: ptr("/z"), Timeout: ptr(2 * time.Second)})
	for name, l := range changed {
		if name == "rated" {
			if len(l.Rate) != 2 || len(l.Connections) != 0 {
				t.Errorf("--connections changed a ladder of rates: %+v", l)
			}
		} else if !reflect.DeepEqual(l.Connections, []int{7}) {
			t.Errorf("%s: %+v", name, l)
		}
		if l.Requests != 0 || l.Duration.Seconds() != 1 || l.Rounds != 3 || l.Targets != nil || l.Timeout.Seconds() != 2 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	for _, tc := range []struct {
		opts Options
		want string
	}{
		{Options{Scale: 0.5, Duration: ptr(time.Second)}, "--scale with --quick or --duration"},
		{Options{EqualRate: ptr(true)}, "--equal-rate: the windows of counted are numbers of requests"},
	} {
		if _, err := New(parseMixed(t), tc.opts, jdkMachine); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc.opts, err)
		}
	}
	if _, err := New(article(t), Options{Scale: 0.5}, jdkMachine); err == nil || !strings.HasPrefix(err.Error(), "--scale: the experiment article has no windows of a number of requests") {
		t.Errorf("%v", err)
	}
}

func TestParseScale(t *testing.T) {
	for text, want := range map[string]float64{"0.5": 0.5, "1": 1, "1/50": 0.02, "2/4": 0.5} {
		if got, err := ParseScale(text); err != nil || got != want {
			t.Errorf("ParseScale(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5", "1/0", "0/5", "1/", "/2", "half", "1/2/3", "NaN", "5/1"} {
		if _, err := ParseScale(text); err == nil || !strings.HasPrefix(err.Error(), "--scale "+text+": ") {
			t.Errorf("ParseScale(%q): %v", text, err)
		}
	}
}
