package java

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/tool"
	"loomlab/testdata"
)

// DefaultBoot is the Spring Boot version that the apps are built with.
const DefaultBoot = "4.0.8"

// AppNames are the apps of testdata/apps, by the names of their Maven modules.
//
// Note: mvc and webflux have what the article's SUTs need, and no more. The same
// apps with a database, or with gRPC, are apps of their own: drivers and pools on
// the class path cost memory and start-up time also where nobody calls them.
var AppNames = []string{"mvc", "webflux", "mvc-data", "webflux-data", "mvc-grpc", "webflux-grpc"}

// ToolsFolder has the single-file Java tiers, which a JDK runs as they are:
// {{apps}}/tools/LoadClient.java and {{apps}}/tools/DelayServer.java. Each says
// at its top which arguments it takes.
const ToolsFolder = "tools"

// App is a built app, unpacked: it starts from a plain class path with
// `java <flags> -jar <Jar> <arguments>`.
type App struct {
	Name string
	Dir  string // holds the jar and its lib folder
	Jar  string
}

// Apps are apps of one build.
type Apps struct {
	Dir  string // a folder for each app that is built, and the single-file Java tiers in tools
	Boot string
	List []App
}

// App is the app of that name.
func (a Apps) App(name string) (App, bool) {
	for _, app := range a.List {
		if app.Name == name {
			return app, true
		}
	}
	return App{}, false
}

// BuildOptions say which build of the apps is meant.
type BuildOptions struct {
	Apps  []string     // their names; nil for all, empty for the tools alone
	App   string       // one of [Contestants] makes this the build of that one alone
	Boot  string       // Spring Boot version; empty for [DefaultBoot]
	JDK   JDK          // compiles and unpacks; see [CompilerFor]
	Cache string       // where builds are kept; empty for loomlab/apps in the user's cache folder
	Log   func(string) // told of the progress, a line at a time; may be nil
}

// bootPattern is 3.5 and later; it also keeps the version harmless in a path and
// an argument.
var bootPattern = regexp.MustCompile(`^(3\.[5-9]|4\.\d+)\.\d+(-[A-Za-z0-9.]+)?$`)

// CheckBoot judges a Spring Boot version by its form.
func CheckBoot(version string) error {
	if !bootPattern.MatchString(version) {
		return fmt.Errorf("--boot %q: the apps build with Spring Boot 3.5 and 4.x, such as %s or 3.5.7", version, DefaultBoot)
	}
	return nil
}

func (o BuildOptions) resolve() (BuildOptions, error) {
	if o.Boot == "" {
		o.Boot = DefaultBoot
	}
	if err := CheckBoot(o.Boot); err != nil {
		return o, err
	}
	if o.contestant() {
		o.Apps = []string{o.App}
	}
	if o.Apps == nil {
		o.Apps = AppNames
	}
	if o.Cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("no folder to keep the jars in: %w", err)
		}
		o.Cache = filepath.Join(cache, "loomlab", "apps")
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o, nil
}

// dir is where this build is kept: sources, Boot and JDK decide what is in it.
func (o BuildOptions) dir() (string, error) {
	hash, err := hashSources(testdata.Apps, o.concerns)
	if err != nil {
		return "", err
	}
	return filepath.Join(o.Cache, fmt.Sprintf("%s-%s-jdk%d", hash, o.label(), o.JDK.Major)), nil
}

// CachedApps returns those of the apps that are built already, and whether all of
// them are, with the tools; it starts nothing.
func CachedApps(o BuildOptions) (apps Apps, all bool) {
	o, err := o.resolve()
	if err != nil {
		return Apps{}, false
	}
	dir, err := o.dir()
	if err != nil {
		return Apps{}, false
	}
	apps = Apps{Dir: dir, Boot: o.Boot}
	for _, name := range o.Apps {
		app := App{Name: name, Dir: filepath.Join(dir, name), Jar: filepath.Join(dir, name, name+".jar")}
		if _, err := os.Stat(app.Jar); err == nil {
			apps.List = append(apps.List, app)
		}
	}
	return apps, len(apps.List) == len(o.Apps) && (o.contestant() || isFolder(filepath.Join(dir, ToolsFolder)))
}

// BuildApps returns the apps, building from the embedded sources those that are not
// cached. An app appears in the cache whole or not at all. Only a build needs Maven
// and, the first time, the network; the tools need neither.
func BuildApps(ctx context.Context, o BuildOptions) (Apps, error) {
	o, err := o.resolve()
	if err != nil {
		return Apps{}, err
	}
	if apps, ok := CachedApps(o); ok {
		return apps, nil
	}
	if o.JDK.JRE && len(o.Apps) > 0 {
		return Apps{}, fmt.Errorf("%v has no compiler: the apps must be built with a JDK", o.JDK)
	}
	dir, err := o.dir()
	if err != nil {
		return Apps{}, err
	}
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return Apps{}, fmt.Errorf("cannot keep the jars: %w", err)
	}
	unlock, err := LockBuild(ctx, dir+".lock", o.Log)
	if err != nil {
		return Apps{}, err
	}
	defer unlock()
	cached, ok := CachedApps(o)
	if ok { // built while we waited for the lock
		return cached, nil
	}
	o.Apps = slices.DeleteFunc(slices.Clone(o.Apps), func(name string) bool { _, ok := cached.App(name); return ok })
	if err := buildInto(ctx, o, dir); err != nil {
		return Apps{}, err
	}
	built, ok := CachedApps(o)
	if !ok {
		return Apps{}, fmt.Errorf("the build left no jars in %s", dir)
	}
	built.List = append(cached.List, built.List...)
	return built, nil
}

// buildInto builds in a folder beside dir and moves what it has made, folder by
// folder. The caller has the lock.
func buildInto(ctx context.Context, o BuildOptions, dir string) (err error) {
	work := dir + ".work"
	// Under the lock, whatever is there was left by a build that was killed.
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("cannot clear an unfinished build: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	sources, out := filepath.Join(work, "sources"), filepath.Join(work, "out")
	if err := CopySources(testdata.Apps, sources); err != nil {
		return fmt.Errorf("cannot write the sources: %w", err)
	}
	if len(o.Apps) > 0 {
		if err := packageApps(ctx, o, sources, dir+".log"); err != nil {
			return err
		}
	}
	if o.contestant() {
		if err := o.takeContestant(sources, out); err != nil {
			return err
		}
		return moveInto(dir, filepath.Join(out, o.App))
	}
	for _, name := range o.Apps {
		if err := unpack(ctx, o.JDK, filepath.Join(sources, name, "target", name+"-exec.jar"), filepath.Join(out, name), name+".jar"); err != nil {
			return err
		}
	}
	for _, name := range o.Apps {
		if err := moveInto(dir, filepath.Join(out, name)); err != nil {
			return err
		}
	}
	if isFolder(filepath.Join(dir, ToolsFolder)) {
		return nil
	}
	return moveInto(dir, filepath.Join(sources, ToolsFolder))
}

// moveInto moves a folder into dir, in place of what is there under its name.
func moveInto(dir, folder string) error {
	place := filepath.Join(dir, filepath.Base(folder))
	return errors.Join(os.MkdirAll(dir, 0o755), os.RemoveAll(place), os.Rename(folder, place))
}

// unpack turns a Boot jar into a folder with a thin jar of the given name and its
// libraries, which starts faster than nested jars and is how Boot recommends to run
// in production.
func unpack(ctx context.Context, jdk JDK, jar, dir, name string) error {
	cmd := tool.Command(ctx, jdk.Java, "-Djarmode=tools", "-jar", jar, "extract", "--destination", dir, "--application-filename", name)
	var out tool.Opening
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := tool.Run(cmd); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("cannot unpack %s: %w: %s", filepath.Base(jar), err, phrase.Printable(phrase.FirstLine(out.String())))
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// LockBuild keeps two processes from building the same apps. The file stays:
// removing it would let a third lock another file of the same name.
func LockBuild(ctx context.Context, path string, log func(string)) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the build: %w", err)
	}
	for said := false; ; {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			file.Close()
			return nil, fmt.Errorf("cannot lock the build: %s: %w", path, err)
		}
		if !said {
			log("another loomlab is at it already; waiting for it")
			said = true
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
