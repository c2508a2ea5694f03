package java

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script writes an executable shell script.
func script(t *testing.T, path, body string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeJDK lays out a JDK with a release file; its java must not be run.
func fakeJDK(t *testing.T, home, version string, compiler bool) string {
	t.Helper()
	script(t, filepath.Join(home, "bin", "java"), "echo it has a release file; exit 1")
	if compiler {
		script(t, filepath.Join(home, "bin", "javac"), "exit 1")
	}
	release := "IMPLEMENTOR=\"Acme\"\nJAVA_VERSION=\"" + version + "\"\nJAVA_VERSION_DATE=\"2026-01-01\"\n"
	if err := os.WriteFile(filepath.Join(home, "release"), []byte(release), 0o644); err != nil {
		t.Fatal(err)
	}
	return home
}

// search looks at nothing but root and the given environment.
func search(t *testing.T, root string, env map[string]string) []JDK {
	t.Helper()
	if env["HOME"] == "" {
		env["HOME"] = filepath.Join(root, "nobody")
	}
	return JDKSearch{Root: root, Getenv: func(k string) string { return env[k] }}.Find(t.Context())
}

func TestFindReadsReleaseFilesInEveryFolder(t *testing.T) {
	root := t.TempDir()
	for path, version := range map[string]string{
		"usr/lib/jvm/a": "21.0.7",
		"home/.sdkman/candidates/java/25.0.3-tem":               "25.0.3",
		"opt/homebrew/opt/openjdk@23":                           "23.0.1",
		"usr/local/opt/openjdk":                                 "24",
		"Library/Java/JavaVirtualMachines/x/Contents/Home":      "1.8.0_392",
		"home/Library/Java/JavaVirtualMachines/y/Contents/Home": "26-ea",
	} {
		fakeJDK(t, filepath.Join(root, path), version, true)
	}
	home := filepath.Join(root, "home")
	// SDKMAN's `current` is a second name of the same JDK.
	if err := os.Symlink("25.0.3-tem", filepath.Join(home, ".sdkman/candidates/java/current")); err != nil {
		t.Fatal(err)
	}
	majors := map[int]string{}
	for _, j := range search(t, root, map[string]string{"HOME": home}) {
		if j.Problem != "" || j.JRE || j.Vendor != "Acme" || majors[j.Major] != "" {
			t.Errorf("found %+v", j)
		}
		majors[j.Major] = j.Version
	}
	want := map[int]string{8: "1.8.0_392", 21: "21.0.7", 23: "23.0.1", 24: "24", 25: "25.0.3", 26: "26-ea"}
	for major, version := range want {
		if majors[major] != version {
			t.Errorf("Java %d: got %q, want %q", major, majors[major], version)
		}
	}
	if len(majors) != len(want) {
		t.Errorf("found %v", majors)
	}
}

func TestFindAsksAJavaWithoutReleaseFile(t *testing.T) {
	root := t.TempDir()
	elsewhere := fakeJDK(t, filepath.Join(root, "elsewhere"), "22.0.2", true)
	tests := []struct {
		name, java string
		major      int
		problem    string // part of it
		home       string
	}{
		{name: "banners before the version", major: 21, java: `
echo "Picked up JAVA_TOOL_OPTIONS: -Dx=y" >&2
echo "Picked up _JAVA_OPTIONS: -version \"9\"" >&2
echo 'openjdk version "21.0.7" 2025-04-15' >&2
echo 'OpenJDK Runtime Environment (build 21.0.7+6)' >&2`},
		{name: "version on stdout", major: 25, java: `echo 'java version "25.0.3" 2026-04-21 LTS'`},
		{name: "decimal comma and a version in other words", problem: "said", java: `echo 'Java-Version: 21,0'`},
		{name: "class-version error", problem: "UnsupportedClassVersionError", java: `
echo 'Error: LinkageError: java.lang.UnsupportedClassVersionError: A has been compiled by a more recent version' >&2
exit 1`},
		{name: "a stub names the JDK behind it", major: 22, home: elsewhere, java: `
echo '    java.home = ` + elsewhere + `' >&2
echo 'openjdk version "22.0.2" 2024-07-16' >&2`},
		{name: "silent", problem: "said", java: "exit 0"},
		{name: "no version", problem: "unknown version", java: `echo 'openjdk version "internal"'`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bin")
			script(t, filepath.Join(dir, "java"), tt.java)
			found := search(t, root+"/none", map[string]string{"PATH": "/nonexistent:" + dir})
			if len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			j := found[0]
			if j.Major != tt.major || !strings.Contains(j.Problem, tt.problem) || (tt.problem == "") != (j.Problem == "") {
				t.Errorf("found %+v", j)
			}
			if tt.home != "" && (j.Home != tt.home || j.JRE || j.Java != filepath.Join(tt.home, "bin", "java")) {
				t.Errorf("found %+v, want home %s", j, tt.home)
			}
		})
	}
}

func TestFindDoesNotWaitForAHangingJava(t *testing.T) {
	dir := t.TempDir()
	script(t, filepath.Join(dir, "java"), "sleep 60 & wait")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan []JDK)
	go func() {
		done <- JDKSearch{Root: dir, Getenv: func(k string) string { return map[string]string{"PATH": dir}[k] }}.Find(ctx)
	}()
	select {
	case found := <-done:
		if len(found) != 1 || found[0].Problem != "java -version did not end" {
			t.Errorf("found %+v", found)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting")
	}
}

func TestFindReportsAJavaHomeWithoutJava(t *testing.T) {
	root := t.TempDir()
	found := search(t, root, map[string]string{"JAVA_HOME": filepath.Join(root, "gone")})
	if len(found) != 1 || found[0].Problem == "" || found[0].From != "JAVA_HOME" {
		t.Errorf("found %+v", found)
	}
}

func TestSelectJDK(t *testing.T) {
	root := t.TempDir()
	old := fakeJDK(t, filepath.Join(root, "17"), "17.0.15", true)
	bundle := filepath.Join(root, "macos.jdk")
	fakeJDK(t, filepath.Join(bundle, "Contents", "Home"), "24.0.2", true)
	found := []JDK{
		{Home: "/jdk17", Version: "17.0.15", Major: 17},
		{Home: "/broken", Java: "/broken/bin/java", Version: "27", Major: 27, Problem: "java -version did not end"},
		{Home: "/jdk21.0.7", Version: "21.0.7", Major: 21},
		{Home: "/jdk21.0.10", Version: "21.0.10", Major: 21},
		{Home: "/jdk25-ea", Version: "25-ea", Major: 25},
		{Home: "/jdk25", Version: "25", Major: 25},
		{Home: "/jre26", Version: "26.0.1", Major: 26, JRE: true},
	}
	tests := []struct {
		want, home, err string
		found           []JDK
	}{
		{want: "", found: found, home: "/jdk25"},
		{want: "21", found: found, home: "/jdk21.0.10"},
		{want: "21.0.7", found: found, home: "/jdk21.0.7"},
		{want: "26", found: found, home: "/jre26"},
		{want: "2", found: found, err: "too old"},
		{want: "17", found: found, err: "too old: the apps need 21"},
		{want: "22", found: found, err: "/jdk25"},
		{want: "27", found: found, err: "did not end"},
		{want: "", found: found[:1], err: "JDK 17.0.15 at /jdk17"},
		{want: "", err: "no Java at all"},
		{want: bundle, home: filepath.Join(bundle, "Contents", "Home")},
		{want: filepath.Join(bundle, "Contents", "Home", "bin", "java"), home: filepath.Join(bundle, "Contents", "Home")},
		{want: old, err: "17.0.15"},
		{want: root, err: "neither a version"},
		{want: "latest", found: found, err: "neither a version"},
	}
	for _, tt := range tests {
		jdk, err := SelectJDK(t.Context(), tt.found, tt.want)
		switch {
		case tt.err == "" && (err != nil || resolved(jdk.Home) != resolved(tt.home)):
			t.Errorf("SelectJDK(%q) = %v, %v; want %s", tt.want, jdk, err, tt.home)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("SelectJDK(%q) = %v, %v; want an error with %q", tt.want, jdk, err, tt.err)
		case tt.err != "" && errors.Is(err, ErrNoJDK) != (tt.want == ""):
			t.Errorf("SelectJDK(%q): %v; only an unnamed JDK may be missing without being a mistake", tt.want, err)
		}
	}
}

func TestCompilerForAJRE(t *testing.T) {
	jre := JDK{Home: "/jre21", Version: "21.0.1", Major: 21, JRE: true}
	jdk := JDK{Home: "/jdk25", Version: "25", Major: 25}
	if got, err := CompilerFor([]JDK{jre, jdk}, jre); err != nil || got != jdk {
		t.Errorf("for a JRE: %v, %v", got, err)
	}
	if got, err := CompilerFor([]JDK{jre, jdk}, jdk); err != nil || got != jdk {
		t.Errorf("for a JDK: %v, %v", got, err)
	}
	if got, err := CompilerFor([]JDK{jre, {Home: "/jdk17", Version: "17", Major: 17}}, jre); err == nil {
		t.Errorf("without a compiler: %v", got)
	}
}
