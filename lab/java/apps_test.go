package java

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"loomlab/lab/record"
)

// fakeTools puts an mvn with the given body alone on the PATH, beside the
// system's own folders, and returns options whose JDK unpacks what it built.
func fakeTools(t *testing.T, mvn string) BuildOptions {
	t.Helper()
	dir := t.TempDir()
	script(t, filepath.Join(dir, "bin", "mvn"), mvn)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":/usr/bin:/bin")
	java := script(t, filepath.Join(dir, "jdk", "bin", "java"), `
[ "$1 $2 $4 $5 $7" = "-Djarmode=tools -jar extract --destination --application-filename" ] || exit 9
mkdir -p "$6/lib" && cp "$3" "$6/$8"`)
	return BuildOptions{
		JDK:   JDK{Home: filepath.Join(dir, "jdk"), Java: java, Version: "25.0.3", Major: 25},
		Cache: filepath.Join(dir, "cache"),
	}
}

// goodMaven builds empty jars for what --projects names; it counts its runs and
// keeps its arguments.
const goodMaven = `
echo run >> "$(dirname "$0")/runs"
echo "$JAVA_HOME $*" > "$(dirname "$0")/call"
echo '[INFO] Building mvc 1                                [3/4]'
[ -f mvnw ] && [ -f .mvn/wrapper/maven-wrapper.properties ] || exit 8
while [ "$1" != --projects ]; do shift; done
for app in $(echo "$2" | tr , ' '); do mkdir -p $app/target; echo jar > $app/target/$app-exec.jar; done`

func TestBuildAppsOnce(t *testing.T) {
	o := fakeTools(t, goodMaven)
	var said []string
	o.Log = func(line string) { said = append(said, line) }
	if apps, ok := CachedApps(o); ok {
		t.Fatalf("cached before the build: %v", apps)
	}
	apps, err := BuildApps(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range AppNames {
		app, ok := apps.App(name)
		if content, err := os.ReadFile(app.Jar); !ok || err != nil || string(content) != "jar\n" || app.Dir != filepath.Dir(app.Jar) {
			t.Errorf("%s: %+v %v %v", name, app, ok, err)
		}
	}
	if !strings.HasSuffix(apps.Dir, "-boot"+DefaultBoot+"-jdk25") {
		t.Errorf("kept in %s", apps.Dir)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "building mvc (3 of 4)") {
		t.Errorf("progress: %s", text)
	}
	mvn := filepath.Join(filepath.Dir(o.JDK.Home), "bin")
	call, _ := os.ReadFile(filepath.Join(mvn, "call"))
	if text := string(call); !strings.HasPrefix(text, o.JDK.Home+" ") || !strings.Contains(text, "-Dboot.version="+DefaultBoot+" --projects "+strings.Join(AppNames, ",")+" --also-make package") {
		t.Errorf("Maven was called with %q", text)
	}

	// From now on neither Maven nor Java is needed.
	t.Setenv("PATH", "")
	again, err := BuildApps(t.Context(), BuildOptions{JDK: JDK{Major: 25, JRE: true}, Cache: o.Cache})
	if err != nil || again.Dir != apps.Dir {
		t.Errorf("cached: %v, %v", again, err)
	}
	if _, ok := CachedApps(BuildOptions{Boot: "3.5.7", JDK: o.JDK, Cache: o.Cache}); ok {
		t.Error("another Boot version is cached too")
	}
}

// An experiment does not wait for apps that it has no use for.
func TestBuildAppsThatAreAsked(t *testing.T) {
	o := fakeTools(t, goodMaven)
	call := filepath.Join(filepath.Dir(o.JDK.Home), "bin", "call")
	names := func(apps Apps) (names string) {
		for _, app := range apps.List {
			names += " " + app.Name
		}
		return names
	}

	o.Apps = []string{} // the tools alone, without Maven
	tools, err := BuildApps(t.Context(), o)
	if _, statErr := os.Stat(filepath.Join(tools.Dir, "tools", "LoadClient.java")); err != nil || statErr != nil || len(tools.List) > 0 {
		t.Fatalf("tools: %v, %v, %v", tools, err, statErr)
	}
	if text, err := os.ReadFile(call); err == nil {
		t.Errorf("Maven was called with %q for the tools", text)
	}

	o.Apps = []string{"mvc"}
	if _, all := CachedApps(o); all {
		t.Error("mvc is cached before its build")
	}
	if _, err := BuildApps(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Apps = []string{"webflux", "mvc"}
	if apps, all := CachedApps(o); all || names(apps) != " mvc" {
		t.Errorf("cached:%s, all: %v", names(apps), all)
	}
	apps, err := BuildApps(t.Context(), o)
	if err != nil || names(apps) != " mvc webflux" || apps.Dir != tools.Dir {
		t.Errorf("built:%s in %s, %v", names(apps), apps.Dir, err)
	}
	if text, _ := os.ReadFile(call); !strings.Contains(string(text), "--projects webflux --also-make") {
		t.Errorf("Maven was called with %q", text)
	}
	if _, all := CachedApps(BuildOptions{JDK: o.JDK, Cache: o.Cache}); all {
		t.Error("all apps are cached after two of them")
	}
}

func TestAppsOf(t *testing.T) {
	for _, tt := range []struct {
		sut  record.SUT
		want []string
	}{
		{record.SUT{App: "mvc-data"}, []string{"mvc-data"}},
		{record.SUT{App: "mvc", Args: []string{"--x={{apps}}/webflux/lib", "{{apps}}/mvc"}}, []string{"mvc", "webflux"}},
		{record.SUT{Command: []string{"{{jdk}}/bin/java", "{{apps}}/tools/DelayServer.java", "{{port}}"}}, nil},
		{record.SUT{Command: []string{"./server", "{{port}}"}}, nil},
		{record.SUT{Command: []string{"sh", "-c", "cd {{apps}} && exec ./run {{port}}"}}, AppNames},
		{record.SUT{Command: []string{"./run"}, Env: map[string]string{"CP": "{{apps}}/mvc/lib/*:{{apps}}/mvc/mvc.jar"}}, []string{"mvc"}},
	} {
		if got := AppsOf(tt.sut); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.sut, got, tt.want)
		}
	}
}

func TestBuildAppsWithBoot3(t *testing.T) {
	o := fakeTools(t, goodMaven)
	o.Boot = "3.5.7"
	if _, err := BuildApps(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	call, _ := os.ReadFile(filepath.Join(filepath.Dir(o.JDK.Home), "bin", "call"))
	if !strings.Contains(string(call), "-Dboot.version=3.5.7 -Pboot3 --projects ") {
		t.Errorf("Maven was called with %q", call)
	}
}

func TestBuildAppsRefusesBootVersions(t *testing.T) {
	for _, boot := range []string{"3.4.9", "2.7.18", "5.0.0", "4.0", "../..", "4.0.8 -X", "latest"} {
		o := BuildOptions{Boot: boot, Cache: t.TempDir()}
		if _, err := BuildApps(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--boot") {
			t.Errorf("--boot %q: %v", boot, err)
		}
	}
}

func TestBuildAppsTogether(t *testing.T) {
	o := fakeTools(t, goodMaven+"\nsleep 0.3")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := BuildApps(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	runs, _ := os.ReadFile(filepath.Join(filepath.Dir(o.JDK.Home), "bin", "runs"))
	if string(runs) != "run\n" {
		t.Errorf("Maven ran %d times", strings.Count(string(runs), "run"))
	}
}

func TestBuildAppsSaysWhyMavenFailed(t *testing.T) {
	o := fakeTools(t, `
echo '[INFO] Scanning for projects...'
printf '[ERROR] cannot find \033[31msymbol in %s/mvc/A.java\n' "$PWD"
echo '[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.'
echo '[ERROR] [Help 1] somewhere'
exit 1`)
	_, err := BuildApps(t.Context(), o)
	if err == nil || errors.Is(err, ErrNoMaven) {
		t.Fatalf("error: %v", err)
	}
	text := err.Error()
	if !strings.Contains(text, "[ERROR] cannot find") || !strings.Contains(text, "exit status 1") || !strings.Contains(text, "apps/mvc/A.java") {
		t.Errorf("it does not say why: %s", text)
	}
	if strings.Contains(text, "\x1b") || strings.Contains(text, "Help 1") || strings.Contains(text, "Scanning") {
		t.Errorf("it says too much: %q", text)
	}
	onlyLockAndLog(t, o)
}

func TestBuildAppsWithoutMaven(t *testing.T) {
	o := fakeTools(t, "")
	// No mvn, and a shell whose wrapper cannot download.
	bin := t.TempDir()
	script(t, filepath.Join(bin, "sh"), "echo 'wget: Failed to fetch it' >&2; exit 1")
	t.Setenv("PATH", bin)
	_, err := BuildApps(t.Context(), o)
	if !errors.Is(err, ErrNoMaven) || !strings.Contains(err.Error(), "Failed to fetch") {
		t.Errorf("error: %v", err)
	}
	onlyLockAndLog(t, o)
}

func TestBuildAppsCancelled(t *testing.T) {
	o := fakeTools(t, `
sleep 60 &
echo "$$ $!" > "$(dirname "$0")/pids.new" && mv "$(dirname "$0")/pids.new" "$(dirname "$0")/pids"
wait`)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the user")
	pidFile := filepath.Join(filepath.Dir(o.JDK.Home), "bin", "pids")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(pidFile); err == nil {
				cancel(stopped)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := BuildApps(ctx, o); !errors.Is(err, stopped) {
		t.Errorf("error: %v", err)
	}
	pids, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(pids)) {
		pid, _ := strconv.Atoi(word)
		if !goneSoon(pid) {
			t.Errorf("process %d of Maven is still there", pid)
		}
	}
	onlyLockAndLog(t, o)
}

func TestBuildAppsNeedsACompiler(t *testing.T) {
	o := fakeTools(t, goodMaven)
	o.JDK.JRE = true
	if _, err := BuildApps(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no compiler") {
		t.Errorf("error: %v", err)
	}
}

// onlyLockAndLog checks that nothing of a failed build is left in the cache.
func onlyLockAndLog(t *testing.T, o BuildOptions) {
	t.Helper()
	entries, err := os.ReadDir(o.Cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".lock" && ext != ".log" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// goneSoon waits for a process that was killed but may not be reaped yet: a zombie
// whose parent died first belongs to init.
func goneSoon(pid int) bool {
	for range 300 {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestHashSources(t *testing.T) {
	hash := func(files fstest.MapFS) string {
		t.Helper()
		h, err := hashSources(files, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	base := hash(fstest.MapFS{"apps/pom.xml": file("a"), "apps/mvc/B.java": file("b")})
	if again := hash(fstest.MapFS{"apps/mvc/B.java": file("b"), "apps/pom.xml": file("a")}); again != base {
		t.Errorf("not stable: %s and %s", base, again)
	}
	if built := hash(fstest.MapFS{"apps/pom.xml": file("a"), "apps/mvc/B.java": file("b"), "apps/mvc/target/mvc.jar": file("x")}); built != base {
		t.Error("a build in place changes the hash")
	}
	for name, changed := range map[string]fstest.MapFS{
		"content": {"apps/pom.xml": file("a"), "apps/mvc/B.java": file("c")},
		"name":    {"apps/pom.xml": file("a"), "apps/mvc/C.java": file("b")},
		"split":   {"apps/pom.xml": file("ab"), "apps/mvc/B.java": file("")},
	} {
		if hash(changed) == base {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

// A contestant is built alone, from its own sources, and starts as NAME.jar.
func TestBuildContestant(t *testing.T) {
	o := fakeTools(t, `
echo "$(pwd) $*" > "$(dirname "$0")/call"
[ -f mvnw ] && cd frameworks && [ -f pom.xml ] || exit 8
mkdir -p quarkus/target/quarkus-app/lib helidon/target/app/lib
echo jar > quarkus/target/quarkus-app/quarkus-run.jar
echo jar > helidon/target/app/helidon.jar`)
	for _, name := range []string{"quarkus", "helidon"} {
		o.App = name
		apps, err := BuildApps(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		app, ok := apps.App(name)
		if content, err := os.ReadFile(app.Jar); !ok || err != nil || string(content) != "jar\n" || !isFolder(filepath.Join(app.Dir, "lib")) || len(apps.List) != 1 {
			t.Errorf("%s: %+v %v %v", name, apps, ok, err)
		}
		if !strings.HasSuffix(apps.Dir, "-"+name+"-jdk25") || app.Jar != filepath.Join(apps.Dir, name, name+".jar") {
			t.Errorf("%s is kept at %s", name, app.Jar)
		}
		call, _ := os.ReadFile(filepath.Join(filepath.Dir(o.JDK.Home), "bin", "call"))
		if text := string(call); !strings.HasSuffix(text, " --file frameworks/pom.xml --projects "+name+" --also-make package\n") {
			t.Errorf("Maven was called with %q", text)
		}
	}
	if _, ok := CachedApps(BuildOptions{JDK: o.JDK, Cache: o.Cache}); ok {
		t.Error("the Boot apps are cached too")
	}
}

// What changes one build does not touch the others.
func TestSourcesOfEachBuild(t *testing.T) {
	for path, want := range map[string]string{
		"pom.xml":                       "boot",
		"mvc/src/A.java":                "boot",
		"lab/pom.xml":                   "boot",
		"frameworks/pom.xml":            "quarkus helidon",
		"frameworks/lab/pom.xml":        "quarkus helidon",
		"frameworks/quarkus/src/A.java": "quarkus",
		"frameworks/helidon/pom.xml":    "helidon",
		"frameworks/helidonX/pom.xml":   "",
	} {
		var of []string
		for _, app := range []string{"", "quarkus", "helidon"} {
			if (BuildOptions{App: app}).concerns(path) {
				if app == "" {
					app = "boot"
				}
				of = append(of, app)
			}
		}
		if got := strings.Join(of, " "); got != want {
			t.Errorf("%s concerns %q, want %q", path, got, want)
		}
	}
}
