//go:build linux

package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startJVM runs Allocate behind a shell, as a SUT with a start script would, until it has collected.
func startJVM(t *testing.T, home string, env []string, args ...string) *Tree {
	t.Helper()
	source, err := filepath.Abs(filepath.Join(hsperfDir, "Allocate.java"))
	if err != nil {
		t.Fatal(err)
	}
	line := append([]string{filepath.Join(home, "bin/java")}, args...)
	line = append(line, "-Xmx64m", source, "4", "60000")
	c := exec.Command("sh", "-c", `"$@"; :`, "sh")
	c.Args = append(c.Args, line...)
	c.Env = append(os.Environ(), env...)
	ch := start(t, c)
	tree := newTree(t, c.Process.Pid)
	t.Cleanup(func() {
		for _, pid := range NewFS("").Descendants(c.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	})
	for text := ""; !strings.Contains(text, "Old Gen") && !strings.Contains(text, "Tenured Gen"); {
		text = ch.line(t) // printed after the collections
	}
	return tree
}

func someJDK(t *testing.T) string {
	t.Helper()
	jdks := installedJDKs(t)
	for _, version := range []string{"25", "21", "17"} {
		if home := jdks[version]; home != "" {
			return home
		}
	}
	if os.Getenv("LOOMLAB_REQUIRE_JDK") == "1" {
		t.Fatal("LOOMLAB_REQUIRE_JDK=1, but there is no JDK in JAVA_HOME or /usr/lib/jvm")
	}
	t.Skip("NO JDK FOUND in JAVA_HOME or /usr/lib/jvm: the probes are not tested against a real JVM")
	return ""
}

func TestRealJVM(t *testing.T) {
	other := t.TempDir() // java.io.tmpdir must not matter
	tree := startJVM(t, someJDK(t), nil, "-XX:+UseSerialGC", "-Djava.io.tmpdir="+other)
	s := tree.Detailed()
	j := s.JVM
	if j == nil {
		t.Fatalf("no JVM: %v", s.Unavailable)
	}
	if j.Collector != "Serial" || j.Version == "" || *j.ThreadsLive < 2 || *j.HeapCommittedBytes < 1<<20 || *j.JITSeconds <= 0 || j.HeapAfterGCBytes == nil {
		t.Errorf("%s", asJSON(j))
	}
	if n, ms := collected(j); n < 4 || ms <= 0 {
		t.Errorf("collections: %s", asJSON(j.GC))
	}
	if s.Processes != 2 || *s.Threads <= *j.ThreadsLive {
		t.Errorf("%d processes with %d threads, of them %d platform threads", s.Processes, *s.Threads, *j.ThreadsLive)
	}
	names := asJSON(s.Groups)
	if !strings.Contains(names, "VM Thread") || !strings.Contains(names, "C1 Comp") {
		t.Errorf("thread groups: %s", names)
	}
	if facts, err := tree.JVM(); err != nil || !strings.Contains(facts.Args, "UseSerialGC") || facts.PID != j.PID || tree.JVMPID() != j.PID {
		t.Errorf("facts: %+v, %v", facts, err)
	}
	if exact, err := tree.RSSNow(); err != nil || exact < *s.RSSBytes/2 {
		t.Errorf("RSS %d, %v; sampled %d", exact, err, *s.RSSBytes)
	}
}

func TestRealJVMWithPerfDataOff(t *testing.T) {
	home := someJDK(t)
	for name, tree := range map[string]*Tree{
		"JAVA_TOOL_OPTIONS": startJVM(t, home, []string{"JAVA_TOOL_OPTIONS=-XX:-UsePerfData"}, "-XX:+UseSerialGC"),
		"shared memory off": startJVM(t, home, nil, "-XX:+PerfDisableSharedMem", "-XX:+UseSerialGC"),
	} {
		s := tree.Sample()
		if s.JVM != nil || !strings.Contains(s.Unavailable["jvm"], "perf data off") {
			t.Errorf("%s: %s", name, asJSON(s))
		}
		if s.CPUS == nil || *s.CPUS <= 0 || s.RSSBytes == nil || s.Threads == nil {
			t.Errorf("%s: the rest is missing: %s", name, asJSON(s))
		}
	}
}
