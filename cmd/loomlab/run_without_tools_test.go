package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loomlab/lab/java"
)

// What looks inside a JVM says why it cannot, and takes nothing else with it: on a
// JRE without the tools, on a JVM without performance counters, and on a SUT that
// is no JVM.
func TestRunWithoutTheToolsOfAJDK(t *testing.T) {
	t.Parallel()
	t.Run("no JVM", func(t *testing.T) {
		t.Parallel()
		sut := loomlabProgram(t) + " standin --listen 127.0.0.1:{{port}} --downstream {{downstream}} --model goroutines"
		withoutTools(t, sut, "/call", map[string]string{"memory": "no JVM", "recording": "no JVM", "heap": "no JVM"})
	})
	skip := t.Skipf
	if os.Getenv("LOOMLAB_REQUIRE_JDK") == "1" {
		skip = t.Fatalf
	}
	compiler, err := compilerFor(t.Context(), findJDKs(t.Context()), "")
	if err != nil {
		skip("SKIPPED: no JVM without tools: %v", err)
	}
	// A JDK's own server of files, for which there is nothing to build.
	server := " -m jdk.httpserver -b 127.0.0.1 -p {{port}} -d " + t.TempDir()
	t.Run("no performance counters", func(t *testing.T) {
		t.Parallel()
		withoutTools(t, compiler.Java+" -XX:-UsePerfData -XX:NativeMemoryTracking=summary"+server, "/", map[string]string{"heap": "perf"})
	})
	t.Run("no jcmd", func(t *testing.T) {
		t.Parallel()
		withoutTools(t, smallJRE(t, compiler)+server, "/", map[string]string{"memory": "no jcmd in", "recording": "no jcmd in"})
	})
	t.Run("with them on another machine", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		hosts := filepath.Join(dir, "hosts.yaml")
		// A command that runs words elsewhere; this one runs them here.
		text := fmt.Sprintf("hosts: {far: {command: [env], address: 127.0.0.1, dir: %q}}\n", filepath.Join(dir, "there"))
		if err := os.WriteFile(hosts, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sut := "{{jdk}}/bin/java -Xmx64m -m jdk.httpserver -b {{address}} -p {{port}} -d " + dir
		withoutTools(t, sut, "/", nil, "--hosts", hosts, "--place", "sut=far", "--jdk", compiler.Home)
	})
}

// withoutTools runs a SUT, asked for path, with all that looks inside it, and wants of what cannot
// the reasons, by name; of what is not named, figures. A nil map means that there is
// a GC log too.
func withoutTools(t *testing.T, sut, path string, reasons map[string]string, flags ...string) {
	t.Helper()
	p := startRun(t, append([]string{"article", "--sut", "x=" + sut, "--path", path, "--connections", "4", "--memory", "--jfr"}, flags...)...)
	status := p.end(2 * time.Minute)
	doc := p.document()
	if status != exitOK || statuses(doc.Cells) != "ok" || len(doc.Run.Recordings) != 1 {
		t.Fatalf("exit status %d, cells %q, %d recordings", status, statuses(doc.Cells), len(doc.Run.Recordings))
	}
	cell, recording := doc.Cells[0], doc.Run.Recordings[0]
	probe := cell.Probes["sut"]
	if probe == nil || probe.CPUS == nil || probe.RSSBytes == nil {
		t.Fatalf("the system's own figures are gone too: %+v", probe)
	}
	if reasons == nil && cell.Pauses == nil {
		t.Errorf("no pauses: %q", cell.Unavailable["pauses"])
	}
	for name, got := range map[string]struct {
		has    bool
		reason string
	}{
		"memory":    {cell.Memory != nil, cell.Unavailable["memory"]},
		"recording": {recording.Failed == "", recording.Failed},
		"heap":      {probe.HeapCommittedBytes != nil, probe.Unavailable["heap_committed_bytes"]},
	} {
		want, missing := reasons[name]
		if got.has == missing || missing && !strings.Contains(got.reason, want) {
			t.Errorf("%s: there is %v, %q; want %q", name, got.has, got.reason, want)
		}
	}
}

func loomlabProgram(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("loomlab")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// smallJRE makes a JRE that has no tools, and returns its java.
func smallJRE(t *testing.T, jdk java.JDK) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "jre")
	link := exec.CommandContext(t.Context(), filepath.Join(jdk.Home, "bin", "jlink"), "--add-modules", "jdk.httpserver", "--output", home)
	if out, err := link.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no JRE without tools: jlink: %v: %.300s", err, out)
	}
	return filepath.Join(home, "bin", "java")
}
