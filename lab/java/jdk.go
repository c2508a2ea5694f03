package java

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/tool"
)

// MinJDK is the oldest Java that the apps run on: they are compiled with
// --release 21, the first with virtual threads.
const MinJDK = 21

// JDK is a Java installation found on the machine.
type JDK struct {
	Home    string
	Java    string // its java command
	Version string // such as 25.0.3
	Major   int    // such as 25
	Vendor  string // empty if it does not say
	JRE     bool   // it has no javac: it runs apps but cannot build them
	From    string // what led to it: JAVA_HOME, PATH, a folder, --jdk
	Problem string // why it cannot be used; empty if it can
}

func (j JDK) String() string {
	if j.Problem != "" {
		return fmt.Sprintf("%s (%s)", j.Java, j.Problem)
	}
	kind := "JDK"
	if j.JRE {
		kind = "JRE"
	}
	return fmt.Sprintf("%s %s at %s", kind, j.Version, j.Home)
}

// JDKSearch is where JDKs are looked for.
type JDKSearch struct {
	Getenv func(string) string // JAVA_HOME, PATH and HOME
	Root   string              // goes before the well-known folders; empty outside tests
}

// jdkFolders are the well-known homes of JDKs, as patterns: those of Linux
// packages, Homebrew and macOS; a leading ~ is the home directory.
var jdkFolders = []string{
	"/usr/lib/jvm/*",
	"~/.sdkman/candidates/java/*",
	"/opt/homebrew/opt/openjdk*",
	"/usr/local/opt/openjdk*",
	"/home/linuxbrew/.linuxbrew/opt/openjdk*",
	"/Library/Java/JavaVirtualMachines/*/Contents/Home",
	"~/Library/Java/JavaVirtualMachines/*/Contents/Home",
}

// FindJDKs looks for JDKs on this machine.
func FindJDKs(ctx context.Context) []JDK {
	return JDKSearch{Getenv: os.Getenv}.Find(ctx)
}

// Find returns every Java installation once, in the order of the search:
// JAVA_HOME, PATH, then the well-known folders. Those that cannot be used are
// among them, with their Problem.
func (s JDKSearch) Find(ctx context.Context) []JDK {
	var found []JDK
	if home := s.Getenv("JAVA_HOME"); home != "" {
		found = append(found, JDK{Java: filepath.Join(home, "bin", "java"), From: "JAVA_HOME"})
	}
	for _, dir := range filepath.SplitList(s.Getenv("PATH")) {
		if java := filepath.Join(dir, "java"); IsExecutable(java) {
			found = append(found, JDK{Java: java, From: "PATH"})
		}
	}
	for _, folder := range jdkFolders {
		pattern := s.Root + folder
		if rest, ok := strings.CutPrefix(folder, "~"); ok {
			pattern = s.Getenv("HOME") + rest
		}
		homes, _ := filepath.Glob(pattern) // fails for a malformed pattern only
		for _, home := range homes {
			if java := filepath.Join(home, "bin", "java"); IsExecutable(java) {
				found = append(found, JDK{Java: java, From: folder})
			}
		}
	}
	// A machine has one JDK under many names: ask each file only once.
	found = firstOfEach(found, func(j JDK) string { return resolved(j.Java) })
	var asked sync.WaitGroup
	for i := range found {
		asked.Go(func() { found[i] = inspectJava(ctx, found[i].Java, found[i].From) })
	}
	asked.Wait()
	return firstOfEach(found, func(j JDK) string { return resolved(j.Home) })
}

func firstOfEach(jdks []JDK, key func(JDK) string) []JDK {
	seen := map[string]bool{}
	return slices.DeleteFunc(jdks, func(j JDK) bool {
		k := key(j)
		defer func() { seen[k] = true }()
		return seen[k]
	})
}

// inspectJava finds out what the given java command belongs to.
func inspectJava(ctx context.Context, java, from string) JDK {
	home := filepath.Dir(resolved(java))
	if filepath.Base(home) == "bin" {
		home = filepath.Dir(home)
	}
	jdk := JDK{Home: home, Java: java, From: from}
	if !IsExecutable(java) {
		jdk.Problem = "no such command"
		return jdk
	}
	if release, err := os.ReadFile(filepath.Join(jdk.Home, "release")); err == nil {
		jdk.Version = releaseValue(release, "JAVA_VERSION")
		jdk.Vendor = releaseValue(release, "IMPLEMENTOR")
	}
	if jdk.Version == "" {
		jdk.ask(ctx)
	}
	if own := filepath.Join(jdk.Home, "bin", "java"); IsExecutable(own) {
		jdk.Java = own
	}
	jdk.Major = majorOf(jdk.Version)
	if jdk.Major == 0 && jdk.Problem == "" {
		jdk.Problem = fmt.Sprintf("unknown version %q", jdk.Version)
	}
	jdk.JRE = !IsExecutable(filepath.Join(filepath.Dir(jdk.Java), "javac"))
	return jdk
}

var (
	// Banners such as "Picked up JAVA_TOOL_OPTIONS: ..." may stand before it.
	versionLine  = regexp.MustCompile(`(?m)^(?:java|openjdk) version "([^"]+)"`)
	homeLine     = regexp.MustCompile(`(?m)^\s*java\.home = (.+?)\s*$`)
	vendorLine   = regexp.MustCompile(`(?m)^\s*java\.vendor = (.+?)\s*$`)
	releaseLine  = regexp.MustCompile(`(?m)^([A-Z_]+)="?([^"\n\r]*)"?\r?$`)
	majorPattern = regexp.MustCompile(`^(?:1\.)?(\d+)`)
)

// JavaPatience bounds a JVM that is only asked for its version.
const JavaPatience = 10 * time.Second

// ask runs the java command. It may be a script or a stub that stands for a JDK
// elsewhere, so its word on java.home counts more than where it lies.
func (j *JDK) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, JavaPatience)
	defer cancel()
	var out tool.Opening
	cmd := tool.Command(ctx, j.Java, "-XshowSettings:properties", "-version")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &out, &out
	err := tool.Run(cmd)
	version := versionLine.FindSubmatch(out.Bytes())
	switch {
	case ctx.Err() != nil:
		j.Problem = "java -version did not end"
	case err != nil || version == nil:
		j.Problem = fmt.Sprintf("java -version said %q", phrase.FirstLine(out.String()))
		if err != nil {
			j.Problem += ", " + err.Error()
		}
	default:
		j.Version = string(version[1])
		if m := vendorLine.FindSubmatch(out.Bytes()); m != nil {
			j.Vendor = string(m[1])
		}
		if m := homeLine.FindSubmatch(out.Bytes()); m != nil && IsExecutable(filepath.Join(string(m[1]), "bin", "java")) {
			j.Home = string(m[1])
		}
	}
}

// releaseValue reads the file `release` of a JDK's home: lines of KEY="value".
func releaseValue(release []byte, key string) string {
	for _, m := range releaseLine.FindAllSubmatch(release, -1) {
		if string(m[1]) == key {
			return string(m[2])
		}
	}
	return ""
}

// majorOf is 8 for 1.8.0_392, 21 for 21.0.7, 26 for 26-ea, and 0 for no version.
func majorOf(version string) int {
	m := majorPattern.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1])
	return major
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Clean(path)
}

// IsExecutable tells whether path is a file that somebody may execute.
func IsExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// ErrNoJDK says that the machine has no JDK for the apps; stand-ins still run.
var ErrNoJDK = errors.New("no JDK 21 or newer found")
