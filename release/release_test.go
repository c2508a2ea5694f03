package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestPackKnowsNeitherOrderNorZone(t *testing.T) {
	a := []file{{"loomlab", []byte("binary"), 0o755}, {"LICENSE", []byte("text"), 0o644}}
	b := []file{a[1], a[0]}
	one, err := pack("x", a, noon)
	if err != nil {
		t.Fatal(err)
	}
	two, err := pack("x", b, noon.In(time.FixedZone("elsewhere", 7200)).Add(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("the same files give other bytes")
	}
	z, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, head.Name+" "+head.FileInfo().Mode().String()+" "+head.ModTime.UTC().Format(time.TimeOnly)+" "+string(body))
	}
	want := "x/LICENSE -rw-r--r-- 12:00:00 text|x/loomlab -rwxr-xr-x 12:00:00 binary"
	if strings.Join(got, "|") != want {
		t.Errorf("packed %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestDescribe(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for tag, want := range map[string]string{
		"":                       "v0.0.0-20261130120000-0123456789ab",
		"v1.2.0":                 "v1.2.0",
		"v1.2.0-3-g0123456789ab": "v1.2.0-3-g0123456789ab",
	} {
		if got := describe(tag, hash, noon.In(time.FixedZone("elsewhere", -3600))); got != want {
			t.Errorf("describe(%q) = %q, want %q", tag, got, want)
		}
	}
}

// TestExportIsTheCommit: nothing that lies about in the working tree gets into a
// release, whether git ignores it or not.
func TestExportIsTheCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git on the PATH")
	}
	dir, out := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		if _, err := git(dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitignore", "target/\n")
	write("apps/a.txt", "committed")
	run("init", "-q")
	run("add", ".")
	run("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "x")
	clean, err := headCommit(dir)
	if err != nil {
		t.Fatal(err)
	}
	run("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "tag.gpgsign=false", "tag", "v1.0.0")
	write("apps/a.txt", "changed")
	write("apps/b.txt", "new")
	write("apps/target/c.txt", "ignored")
	c, err := headCommit(dir)
	if err != nil {
		t.Fatal(err)
	}
	if clean.dirty || !c.dirty || len(c.hash) != 40 || !strings.HasPrefix(clean.version, "v0.0.0-2") || c.version != "v1.0.0" {
		t.Errorf("commits %+v and %+v", clean, c)
	}
	if err := c.export(dir, out); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.WalkDir(out, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		got = append(got, entry.Name()+"="+strings.TrimSpace(string(body)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := ".gitignore=target/ a.txt=committed"; strings.Join(got, " ") != want {
		t.Errorf("exported %q, want %q", strings.Join(got, " "), want)
	}
}

// TestManual: an archive's README finds its pages and pictures.
func TestManual(t *testing.T) {
	files, err := manual("..")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range files {
		there[f.name] = len(f.body) > 0
	}
	for _, want := range []string{"LICENSE", "README.md", "docs/your-app.md"} {
		if !there[want] {
			t.Errorf("no %s", want)
		}
	}
	if got := image.FindStringSubmatch("x ![a picture](dir/a.svg) [a page](b.md)"); got == nil || got[1] != "dir/a.svg" || image.MatchString("![far](https://example.org/a.svg)") {
		t.Errorf("pictures: %q", got)
	}
}

// TestLicences: every module in the binary comes with its licence.
func TestLicences(t *testing.T) {
	root, err := goTool("..", platforms[0], "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(root)), "LICENSE")); err != nil {
		t.Skipf("SKIPPED: this distribution of Go keeps its licence elsewhere: %v", err)
	}
	text, err := licences("..", platforms[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== The Go standard library: LICENSE", "==== github.com/urfave/cli/v2 ", "==== golang.org/x/sync ", "==== uPlot: uPlot.LICENSE"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no line %q", want)
		}
	}
}
