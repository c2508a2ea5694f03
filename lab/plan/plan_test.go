package plan

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

func article(t *testing.T) *record.Experiment {
	t.Helper()
	e, err := experiment.Builtin("article")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ptr[T any](v T) *T { return &v }

// jdkMachine has a JDK, and nothing that constrains.
var jdkMachine = Facts{Self: "/bin/loomlab", FindApps: func(record.SUT) string { return "/cache/apps" }, FindJDK: func(spec string) (string, error) {
	if spec == "99" {
		return "", errors.New("no JDK 99 here")
	}
	return "/jdk" + spec, nil
}}

func TestPlanArticle(t *testing.T) {
	p, err := New(article(t), Options{}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 18 || p.Cells[0] != (CellKey{"platform", 1, 100, 1, 0}) || p.Cells[3] != (CellKey{"platform", 1, 1000, 2, 0}) || p.Cells[17] != (CellKey{"webflux", 1, 3000, 2, 0}) {
		t.Errorf("cells = %v", p.Cells)
	}
	if p.Needs.LoadFDs < 3000 || p.Needs.SUTFDs < 6000 || p.Needs.DownstreamFDs < 3000 || !p.Needs.JDK || p.Needs.ListenPorts != 2 || p.Needs.MemoryBytes < 1<<30 {
		t.Errorf("needs = %+v", p.Needs)
	}
	if p.Estimate.Min < 5*time.Minute || p.Estimate.Max > 9*time.Minute {
		t.Errorf("estimate = %v", p.Estimate)
	}
	var sum time.Duration
	for _, part := range p.Estimate.Parts {
		sum += part.Max
	}
	if sum != p.Estimate.Max {
		t.Errorf("parts add up to %v, not %v", sum, p.Estimate.Max)
	}
}

func TestDryRun(t *testing.T) {
	for name, opts := range map[string]Options{
		"article":  {},
		"standins": {Standins: true, Connections: []int{1000, 100}, Quick: true, Rounds: ptr(2)},
		"custom":   {SUTs: []string{"mine=./srv '{{port}}' 'a b'", "other=http://127.0.0.1:9/x"}, Warmup: &record.Warmup{}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := jdkMachine
			facts.FDLimit = 2048
			p, err := New(article(t), opts, facts)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := p.WriteDryRun(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, "plans/"+name+".golden", b.String())
		})
	}
}

func TestPlanSUTs(t *testing.T) {
	for _, tc := range []struct {
		flags []string
		want  []string
	}{
		{nil, []string{"platform", "virtual", "webflux"}},
		{[]string{"webflux", "platform"}, []string{"webflux", "platform"}},
		{[]string{"mine=srv {{port}}"}, []string{"mine"}},
		{[]string{"mine=srv {{port}}", "all"}, []string{"mine", "platform", "virtual", "webflux"}},
		{[]string{"all", "up=http://h:1"}, []string{"platform", "virtual", "webflux", "up"}},
	} {
		p, err := New(article(t), Options{SUTs: tc.flags}, jdkMachine)
		if err != nil || !reflect.DeepEqual(p.Order(), tc.want) {
			t.Errorf("--sut %q: %v, %v", tc.flags, p, err)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	none, err := experiment.Parse("f", []byte("name: none\ndownstream: none\nload: {connections: [1]}\nsuts: [{name: s, url: 'http://h'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		exp  *record.Experiment
		opts Options
		want string
	}{
		{"unknown SUT", nil, Options{SUTs: []string{"virtal"}}, "--sut virtal: the experiment article has no such SUT; did you mean virtual?; it has platform, virtual, webflux"},
		{"twice", nil, Options{SUTs: []string{"all", "virtual"}}, "--sut virtual: virtual is asked for twice"},
		{"custom twice", nil, Options{SUTs: []string{"m=a {{port}}", "m=b {{port}}"}}, "--sut m=b {{port}}: m is asked for twice"},
		{"custom with an own name", nil, Options{SUTs: []string{"virtual=a {{port}}"}}, "--sut virtual=a {{port}}: the experiment article has its own virtual"},
		{"no port", nil, Options{SUTs: []string{"m=srv 8080"}}, "--sut m=srv 8080: the command has no {{port}}"},
		{"empty command", nil, Options{SUTs: []string{"m="}}, "--sut m=: the command is empty"},
		{"open quote", nil, Options{SUTs: []string{"m=srv '{{port}}"}}, "--sut m=srv '{{port}}: in the command, column 5: this single quote"},
		{"unknown placeholder", nil, Options{SUTs: []string{"m=srv {{port}} {{x}}"}}, "--sut m=srv {{port}} {{x}}: unknown placeholder {{x}}"},
		{"https", nil, Options{SUTs: []string{"m=https://h"}}, "--sut m=https://h: only http:// URLs"},
		{"no host", nil, Options{SUTs: []string{"m=http://"}}, "--sut m=http://: not a URL"},
		{"bad name", nil, Options{SUTs: []string{"a b=srv {{port}}"}}, `--sut a b=srv {{port}}: "a b": a SUT's name is`},
		{"all as a name", nil, Options{SUTs: []string{"all=srv {{port}}"}}, `--sut all=srv {{port}}: "all": "all" cannot be`},
		{"rounds", nil, Options{Rounds: ptr(0)}, "--rounds 0: want 1 or more"},
		{"forks", nil, Options{Forks: ptr(-1)}, "--forks -1: want 1 or more"},
		{"duration", nil, Options{Duration: ptr(time.Duration(0))}, "--duration 0s: want more than 0"},
		{"timeout", nil, Options{Timeout: ptr(-time.Second)}, "--timeout -1s: want more than 0"},
		{"delay", nil, Options{Delay: ptr(-time.Second)}, "--delay -1s: want 0 or more"},
		{"path", nil, Options{Path: ptr("call")}, `--path "call": a path begins with /`},
		{"JDK not there", nil, Options{JDK: []string{"99"}}, "platform: no JDK 99 here"},
		{"delay without downstream", none, Options{Delay: ptr(time.Second)}, "--delay 1s: the experiment none has no downstream"},
		{"downstream without downstream", none, Options{SUTs: []string{"m=a {{port}} {{downstream}}"}}, "--sut m=a {{port}} {{downstream}}: {{downstream}}: the experiment none has no downstream"},
		{"no stand-in", none, Options{Standins: true}, "nothing to run: s is skipped, it has no stand-in"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			exp := tc.exp
			if exp == nil {
				exp = article(t)
			}
			_, err := New(exp, tc.opts, jdkMachine)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s…", err, tc.want)
			}
		})
	}
}

// TestPlanWithoutMaven: what is built runs, and is not mixed with stand-ins.
func TestPlanWithoutMaven(t *testing.T) {
	machine := jdkMachine
	machine.NoMaven = "no Maven is on the PATH"
	p, err := New(article(t), Options{}, machine)
	if err != nil || p.Standins || p.Note != "" {
		t.Errorf("everything is built: standins %v, note %q, %v", p.Standins, p.Note, err)
	}
	machine.FindApps = func(s record.SUT) string {
		if s.App == "mvc" {
			return "/cache/apps"
		}
		return ""
	}
	p, err = New(article(t), Options{}, machine)
	if err != nil || p.Note != "no Maven is on the PATH; the stand-ins run in place of the apps" {
		t.Fatalf("webflux is not built: note %q, %v", p.Note, err)
	}
	for _, s := range p.SUTs {
		if s.Kind != record.KindStandin {
			t.Errorf("%s is a %s", s.Name, s.Kind)
		}
	}
	if p, err := New(article(t), Options{SUTs: []string{"platform"}}, machine); err != nil || p.Standins {
		t.Errorf("platform alone, which is built: %v", err)
	}
}

// TestPlanWithoutJDK: the stand-ins take the apps' places and it is said, unless
// a JDK was asked for; a custom SUT runs as it is.
func TestPlanWithoutJDK(t *testing.T) {
	bare := Facts{NoApps: "no JDK 21 or later was found"}
	p, err := New(article(t), Options{SUTs: []string{"all", "m=a {{port}}"}}, bare)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Standins || p.Note != "no JDK 21 or later was found; the stand-ins run in place of the apps" || p.Needs.JDK {
		t.Errorf("standins %v, note %q, needs %+v", p.Standins, p.Note, p.Needs)
	}
	kinds := []string{}
	for _, s := range p.SUTs {
		kinds = append(kinds, s.Kind)
	}
	if want := []string{record.KindStandin, record.KindStandin, record.KindStandin, record.KindCommand}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds = %v", kinds)
	}
	if _, err := New(article(t), Options{JDK: []string{"21"}}, bare); err == nil || err.Error() != "platform cannot run: no JDK 21 or later was found" {
		t.Errorf("with --jdk: %v", err)
	}
	p, err = New(article(t), Options{SUTs: []string{"m=a {{port}}"}}, bare)
	if err != nil || p.Standins || p.Note != "" {
		t.Errorf("a custom SUT alone: %+v, %v", p, err)
	}
}

func TestPlanOptions(t *testing.T) {
	e := article(t)
	p, err := New(e, Options{Connections: []int{5, 3}, Rounds: ptr(1), Forks: ptr(2), Duration: ptr(time.Second), Timeout: ptr(2 * time.Second),
		Delay: ptr(time.Duration(0)), Path: ptr("/hello"), Warmup: &record.Warmup{}, JDK: []string{"25"}, Boot: []string{"3.5.7"}}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	l := p.Experiment.Load
	if !reflect.DeepEqual(l.Connections, []int{5, 3}) || l.Rounds != 1 || l.Duration.Seconds() != 1 || l.Timeout.Seconds() != 2 || l.Warmup.Max != 0 || p.Experiment.Downstream.Delay != 0 {
		t.Errorf("load %+v, downstream %+v", l, p.Experiment.Downstream)
	}
	s := p.SUTs[0]
	if s.Path != "/hello" || s.Ready.Path != "/hello" || s.JDKHome != "/jdk25" || s.Boot != "3.5.7" || s.SUT.JDK != "25" {
		t.Errorf("sut = %+v", s)
	}
	if len(p.Cells) != 12 || p.Cells[6].Fork != 2 {
		t.Errorf("cells = %v", p.Cells)
	}
	if want := article(t); !reflect.DeepEqual(e, want) {
		t.Error("NewPlan changed the experiment it was given")
	}
	quick, err := New(e, Options{Quick: true}, jdkMachine)
	if err != nil || !quick.Experiment.Quick || len(quick.Cells) != 6 || quick.Experiment.Load.Duration.Seconds() != 3 {
		t.Errorf("quick: %+v, %v", quick, err)
	}
}

func TestSUTArgv(t *testing.T) {
	p, err := New(article(t), Options{}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	argv, _, err := p.SUTs[1].Argv(experiment.Placeholders{"port": "1", "downstream": "http://127.0.0.1:2"})
	want := "/jdk/bin/java -Xmx1g -Xms256m -XX:+UseG1GC -Xlog:gc,gc+phases:file={{run_dir}}/gc-virtual-%p.log:tm,tn:filecount=0 -jar /cache/apps/mvc/mvc.jar --server.port=1 --lab.downstream=http://127.0.0.1:2 --spring.threads.virtual.enabled=true"
	if err != nil || strings.Join(argv, " ") != want {
		t.Errorf("got  %s, %v\nwant %s", strings.Join(argv, " "), err, want)
	}
	load := p.EngineArgv(p.SUTs[1], p.SUTs[1].BaseURL(Loopback(1)), record.Rung{Connections: 100}, true)
	if want := "/bin/loomlab load http://127.0.0.1:1/call -c 100 -d 10s --timeout 10s --samples --json --hold"; strings.Join(load, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(load, " "), want)
	}
}

func TestDownstreamArgv(t *testing.T) {
	d := record.Downstream{Delay: record.Duration(time.Second), Jitter: "5ms", Faults: []string{"reset:0.1", "slow"}, Seed: 7,
		KeepAlive: record.KeepAlive{MaxRequests: 100, Rude: true, IdleTimeout: record.Duration(30 * time.Second), MaxIdle: 200, Lifetime: record.Duration(time.Minute)},
		GRPCDelay: new(record.Duration)}
	p := &Plan{Experiment: record.Experiment{Downstream: &d}}
	want := "loomlab downstream --listen 127.0.0.1:5 --delay 1s --jitter 5ms --max-requests 100 --rude --idle-timeout 30s --max-idle 200 --lifetime 1m0s --grpc 127.0.0.1:6 --grpc-delay 0s --fault reset:0.1 --fault slow --seed 7 --json"
	if got := strings.Join(p.DownstreamArgv(p.Experiment.Downstream, "127.0.0.1:5", "127.0.0.1:6"), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (&Plan{}).DownstreamArgv(nil, "x", "y"); got != nil {
		t.Errorf("without a downstream: %q", got)
	}
}

func TestParseConnections(t *testing.T) {
	for text, want := range map[string][]int{"100": {100}, "200,100": {200, 100}, "1, 2": {1, 2}} {
		if got, err := ParseConnections(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseConnections(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "1e3", "100,,200", "100,", ",", "1000001", "1.5", "a", "0x10", "100,100", "99999999999999999999"} {
		_, err := ParseConnections(text)
		if err == nil || !strings.HasPrefix(err.Error(), "--connections "+text+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseConnections(%q): %v", text, err)
		}
	}
}

func TestParseWarmup(t *testing.T) {
	five := record.Duration(5 * time.Second)
	for text, want := range map[string]record.Warmup{"none": {}, "5s": {Min: five, Max: five}} {
		if got, err := ParseWarmup(text); err != nil || got != want {
			t.Errorf("ParseWarmup(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1s", "5", "off"} {
		if _, err := ParseWarmup(text); err == nil || !strings.HasPrefix(err.Error(), "--warmup "+text+": ") {
			t.Errorf("ParseWarmup(%q): %v", text, err)
		}
	}
}

func TestHeapBytes(t *testing.T) {
	for _, tc := range []struct {
		flags []string
		want  int64
	}{
		{[]string{"-Xmx1g"}, 1 << 30},
		{[]string{"-Xmx1g", "-Xmx512m"}, 512 << 20},
		{[]string{"-Xmx2048K"}, 2 << 20},
		{[]string{"-Xmx1048576"}, 1 << 20},
		{[]string{"-Xmx"}, 1 << 30},
		{nil, 1 << 30},
	} {
		if got := heapBytes(tc.flags, 4<<30); got != tc.want {
			t.Errorf("heapBytes(%q) = %d; want %d", tc.flags, got, tc.want)
		}
	}
}

func TestGRPCInAPlan(t *testing.T) {
	exp, err := experiment.Parse("a.yaml", []byte("name: a\ndownstream: {grpc_delay: 15ms}\nload: {connections: [1], path: /grpc}\nsuts: [{name: s, app: mvc}, {name: c, command: [x, '{{port}}', '{{grpc}}']}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	argv, _, err := plan.SUTs[0].Argv(experiment.Placeholders{"grpc": "127.0.0.1:3"})
	if err != nil || argv[len(argv)-1] != "--lab.grpc=127.0.0.1:3" {
		t.Errorf("the app is started as %q, %v", argv, err)
	}
	var b strings.Builder
	if err := plan.WriteDryRun(&b); err != nil || !strings.Contains(b.String(), "--grpc 127.0.0.1:18091 --grpc-delay 15ms") || !strings.Contains(b.String(), "x 18080 127.0.0.1:18091\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestWarmupByCount(t *testing.T) {
	exp, err := experiment.Parse("a.yaml", []byte("name: a\nload: {connections: [1, 2, 3], duration: 4s, warmup: {count: 5}}\nsuts: [{name: s, url: 'http://127.0.0.1:1'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Experiment.Load.Warmup
	if want := (record.Warmup{Min: record.Duration(20 * time.Second), Max: record.Duration(20 * time.Second), Count: 5}); w != want || Warmest(w, false) != 20*time.Second {
		t.Errorf("%+v, and later %v; want %+v", w, Warmest(w, false), want)
	}
	two := 2 * time.Second
	if plan, err = New(exp, Options{Duration: &two}, Facts{}); err != nil || plan.Experiment.Load.Warmup.Max != record.Duration(10*time.Second) {
		t.Errorf("with --duration 2s: %+v, %v", plan.Experiment.Load.Warmup, err)
	}
	if plan, err = New(exp, Options{Quick: true}, Facts{}); err != nil || plan.Experiment.Load.Warmup != (record.Warmup{Min: quickTime, Max: quickTime}) {
		t.Errorf("with --quick: %+v, %v", plan.Experiment.Load.Warmup, err)
	}
	article, err := experiment.Builtin(experiment.DefaultExperiment)
	if err != nil {
		t.Fatal(err)
	}
	plan, err = New(article, Options{Quick: true, Standins: true}, Facts{})
	if err != nil || plan.Experiment.Load.Warmup.Max != quickStandinWarmup || plan.Estimate.Min > time.Minute {
		t.Errorf("--quick --standins takes more than a minute: %v, %+v", err, plan)
	}
}

// TestPlacesOfASUT holds that --place has the last word.
func TestPlacesOfASUT(t *testing.T) {
	exp, err := experiment.Parse("a.yaml", []byte("name: a\nload: {connections: [1]}\nplace: {load: 'cpus:0'}\nsuts: [{name: s, command: [x, '{{port}}'], place: {load: 'cpus:1', sut: 'cpus:2'}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{Place: map[string]string{"sut": "local"}}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	for tier, want := range map[string]string{"load": "1", "sut": "", "downstream": ""} {
		if l := plan.Launcher(&plan.SUTs[0].SUT, tier); l.CPUs != want {
			t.Errorf("%s runs on CPUs %q, want %q", tier, l.CPUs, want)
		}
	}
	if exp.SUTs[0].Place["sut"] != "cpus:2" {
		t.Error("the plan changed the experiment")
	}
	_, err = New(exp, Options{Place: map[string]string{"sut": "netns:a", "load": "netns:b", "downstream": "netns:a"}}, Facts{})
	if err == nil || err.Error() != "s: the load runs in network namespace b and the sut in network namespace a, where it cannot be reached over loopback; place both in one network namespace" {
		t.Errorf("two namespaces: %v", err)
	}
}

func TestHeadersAndFanout(t *testing.T) {
	const file = "name: a\ndownstream: {delay: 100ms}\nload: {connections: [200], headers: {X-B: b, Connection: keep-alive}}\nsuts: [{name: s, command: [x, '{{port}}'], calls: 100, fanout: 50}]\n"
	exp, err := experiment.Parse("a.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{}, Facts{FDLimit: 9999})
	if err != nil {
		t.Fatal(err)
	}
	argv := strings.Join(plan.EngineArgv(plan.SUTs[0], "http://127.0.0.1:1", record.Rung{Connections: 200}, false), " ")
	if !strings.Contains(argv, "-H Connection: keep-alive -H X-B: b") {
		t.Errorf("headers: %s", argv)
	}
	if c := plan.ceilings(plan.SUTs[0], 200); len(c) != 1 || c[0].PerS != 1000 { // two turns of 100 ms
		t.Errorf("ceilings %+v", c)
	}
	if why := plan.Unfit(plan.Cells[0]); why != "200 connections need 10456 descriptors in the SUT, which may open 9999; 190 would fit" {
		t.Errorf("200 connections with 50 calls each at once: %s", why)
	}
	for bad, want := range map[string]string{"'X B': b": `"X B: b" is no header of a request`, "X: \"a\\r\\nb\"": "is no header of a request"} {
		if _, err := experiment.Parse("a.yaml", []byte(strings.Replace(file, "X-B: b", bad, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with the file in testdata, and rewrites it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (run with -update after reading it):\n%s", path, got)
	}
}
