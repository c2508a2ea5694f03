package plan

import (
	"reflect"
	"strings"
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/netns"
	"loomlab/lab/record"
)

func TestParsePlaces(t *testing.T) {
	got, err := experiment.ParsePlaces([]string{"sut=cpus:0", "load=local"})
	if want := map[string]string{"sut": "cpus:0", "load": "local"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for value, want := range map[string]string{
		"cpus:0":        `"cpus:0" is no tier`,
		"engine=cpus:0": `"engine" is no tier; want TIER=LAUNCHER with one of load, sut, downstream`,
		"laod=cpus:0":   `did you mean load?`,
	} {
		if _, err := experiment.ParsePlaces([]string{value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
	if _, err := experiment.ParsePlaces([]string{"sut=local", "sut=cpus:0"}); err == nil {
		t.Error("one tier has two places")
	}
}

// TestParseLaunchers: commas part launchers, and also the CPUs of one.
func TestParseLaunchers(t *testing.T) {
	hosts := map[string]record.Host{"pod": {Command: []string{"kubectl", "exec"}}, "bench1": {SSH: "user@10.0.0.2", CPUs: "0-3"}}
	for text, want := range map[string][]experiment.Launcher{
		"cpus:0-1,3":             {{CPUs: "0-1,3"}},
		"cpus:0,2,cpus:1":        {{CPUs: "0,2"}, {CPUs: "1"}},
		"local,local":            {{}, {}},
		"ssh:a,b":                {{Host: "a"}, {Host: "b"}},
		"ssh:me@a, you@b":        {{Host: "me@a"}, {Host: "you@b"}},
		"ssh:bench1,pod":         {{Host: "bench1", CPUs: "0-3"}, {Host: "pod"}},
		"pod,bench1,cpus:0,1":    {{Host: "pod"}, {Host: "bench1", CPUs: "0-3"}, {CPUs: "0,1"}},
		"cpus:0,pod":             {{CPUs: "0"}, {Host: "pod"}},
		"netns:blue,ssh:a,local": {{Netns: netns.Folder + "blue"}, {Host: "a"}, {}},
	} {
		if got, err := experiment.ParseLaunchers(text, hosts); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"ssh:a,":   `unknown launcher ""`,
		"bench2":   `unknown launcher "bench2"; did you mean bench1? (hosts are bench1, pod)`,
		"ssh:pod":  "the host pod is reached by a command, not by ssh; its launcher is pod",
		"pod,cpus": "no list of CPUs",
	} {
		if _, err := experiment.ParseLaunchers(text, hosts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestPlaceInAnExperimentAndAsAFlag(t *testing.T) {
	const head = "name: a\nload: {connections: [1]}\nsuts: [{name: s, command: [x, '{{port}}']}]\n"
	exp, err := experiment.Parse("a.yaml", []byte(head+"place: {sut: 'cpus:0', load: 'cpus:1'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{Place: map[string]string{"load": "local", "downstream": "cpus:1"}}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]experiment.Launcher{"sut": {CPUs: "0"}, "load": {}, "downstream": {CPUs: "1"}}
	for tier, launcher := range want {
		if got := plan.Launcher(&plan.SUTs[0].SUT, tier); got != launcher {
			t.Errorf("%s runs at %+v, want %+v", tier, got, launcher)
		}
	}
	if exp.Place["load"] != "cpus:1" {
		t.Error("the plan changed the experiment")
	}
	if _, err := experiment.Parse("a.yaml", []byte(head+"place: {sut: 'cpu:0'}\n")); err == nil || !strings.Contains(err.Error(), "unknown launcher") {
		t.Errorf("%v", err)
	}
}

func TestKeysOfOneTier(t *testing.T) {
	const head = "name: a\ndownstream: {delay: 1ms, max_conns: 7}\nsuts: [{name: s, command: [x, '{{port}}']}]\n"
	exp, err := experiment.Parse("a.yaml", []byte(head+"load: {connections: [1], no_keepalive: true, engine: portable}\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if argv := strings.Join(plan.EngineArgv(plan.SUTs[0], "http://127.0.0.1:1", record.Rung{Connections: 1}, false), " "); !strings.Contains(argv, "--engine portable --no-keepalive") {
		t.Errorf("no keep-alive: %s", argv)
	}
	if argv := strings.Join(plan.DownstreamArgv(plan.SUTs[0].Downstream, "127.0.0.1:2", ""), " "); !strings.Contains(argv, "--max-conns 7") {
		t.Errorf("7 connections: %s", argv)
	}
	if _, err := experiment.Parse("a.yaml", []byte(head+"load: {connections: [1], no_keepalive: maybe}\n")); err == nil || !strings.Contains(err.Error(), "want true or false") {
		t.Errorf("%v", err)
	}
}
