package lab

import (
	"bytes"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"loomlab/lab/experiment"
)

func TestParseLauncher(t *testing.T) {
	for text, want := range map[string][]string{
		"local":      {"loomlab", "guard", "--grace", "5s", "--", "java", "-jar"},
		"cpus:0-1,3": {"loomlab", "guard", "--grace", "5s", "--cpus", "0-1,3", "--", "java", "-jar"},
		"netns:blue": {"loomlab", "guard", "--grace", "5s", "--netns", "/var/run/netns/blue", "--", "java", "-jar"},
	} {
		l, err := experiment.ParseLauncher(text, nil)
		if got := (launcher{Launcher: l}).guarded("loomlab", "5s", []string{"java", "-jar"}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "here", "cpus", "cpus:", "cpus:x", "cpus:1-0", "local:1", "netns:", "netns:..", "netns:a/b", "ssh", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b"} {
		if _, err := experiment.ParseLauncher(text, nil); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestTierRunsOnItsCPUsOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CPU affinity needs Linux")
	}
	var log bytes.Buffer
	tr, err := start(os.Args[0], launch{tier: "sut", place: launcher{Launcher: experiment.Launcher{CPUs: "0"}}, argv: []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, log: &log})
	if err != nil {
		t.Fatal(err)
	}
	<-tr.gone
	if got := strings.Fields(log.String()); len(got) != 2 || got[1] != "0" {
		t.Errorf("the tier says %q", log.String())
	}
	_, err = start(os.Args[0], launch{tier: "sut", place: launcher{Launcher: experiment.Launcher{CPUs: "8191"}}, argv: []string{"true"}, log: &log})
	if err == nil || !strings.Contains(err.Error(), "cannot run on CPUs 8191") {
		t.Errorf("a CPU that is not there: %v", err)
	}
}
