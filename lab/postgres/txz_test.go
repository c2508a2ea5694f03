package postgres

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// txz packs entries; a file's content is its name.
func txz(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	for _, entry := range entries {
		if entry.Typeflag == tar.TypeReg {
			entry.Size = int64(len(entry.Name))
		}
		if err := archive.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
		if entry.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(archive, entry.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func regular(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}
}

func TestUnpackTXZ(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "programs")
	data := txz(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o700},
		regular("bin/postgres", 0o700),
		regular("share/deep/postgres.bki", 0o600), // its folders have no entry
		regular("lib/libpq.so.5.17", 0o755),
		tar.Header{Typeflag: tar.TypeSymlink, Name: "lib/libpq.so", Linkname: "libpq.so.5.17"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "lib/up", Linkname: "../bin/postgres"},
		tar.Header{Typeflag: tar.TypeLink, Name: "lib/hard", Linkname: "bin/postgres"},
	)
	if err := unpackTXZ(bytes.NewReader(data), dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		content string
		mode    os.FileMode
	}{
		"bin/postgres":            {"bin/postgres", 0o755},
		"share/deep/postgres.bki": {"share/deep/postgres.bki", 0o644},
		"lib/libpq.so":            {"lib/libpq.so.5.17", 0o755},
		"lib/up":                  {"bin/postgres", 0o755},
		"lib/hard":                {"bin/postgres", 0o755},
	} {
		content, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || string(content) != want.content {
			t.Errorf("%s: %q, %v", path, content, err)
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm()|0o022 != want.mode|0o022 {
			t.Errorf("%s: mode %v, want %v", path, info.Mode(), want.mode)
		}
	}
}

// Nothing of a hostile archive lands outside of the folder.
func TestUnpackTXZStaysInside(t *testing.T) {
	for name, entries := range map[string][]tar.Header{
		"up":                   {regular("../evil", 0o644)},
		"up in the middle":     {regular("a/../../evil", 0o644)},
		"absolute":             {regular("/tmp/evil", 0o644)},
		"a link up":            {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "../.."}},
		"an absolute link":     {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"}},
		"a hard link up":       {{Typeflag: tar.TypeLink, Name: "a", Linkname: "../evil"}},
		"a device":             {{Typeflag: tar.TypeChar, Name: "a"}},
		"the same file twice":  {regular("a", 0o644), regular("a", 0o644)},
		"through its own link": {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "b"}, {Typeflag: tar.TypeSymlink, Name: "b", Linkname: "a"}, regular("a/evil", 0o644)},
	} {
		parent := t.TempDir()
		err := unpackTXZ(bytes.NewReader(txz(t, entries...)), filepath.Join(parent, "x", "programs"))
		if err == nil {
			t.Errorf("%s: unpacked without an error", name)
		}
		_ = filepath.WalkDir(parent, func(path string, entry os.DirEntry, _ error) error {
			if entry.Name() == "evil" {
				t.Errorf("%s: %s was written", name, path)
			}
			return nil
		})
	}
	whole := txz(t, regular("bin/postgres", 0o755))
	for name, data := range map[string][]byte{"not xz": []byte("PK\x03\x04"), "empty": nil, "torn": whole[:len(whole)/2]} {
		if err := unpackTXZ(bytes.NewReader(data), filepath.Join(t.TempDir(), "p")); err == nil {
			t.Errorf("%s: unpacked without an error", name)
		}
	}
}

func TestUnpackPostgresFindsTheArchiveInTheJar(t *testing.T) {
	jar := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), "a.jar")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		archive := zip.NewWriter(file)
		for entry, data := range map[string][]byte{"META-INF/MANIFEST.MF": []byte("x"), name: content} {
			w, err := archive.Create(entry)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := jar("postgres-linux-x86_64.txz", txz(t, regular("bin/postgres", 0o755)))
	dir := filepath.Join(t.TempDir(), "p")
	if err := unpack(good, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "postgres")); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{
		jar("readme.txt", nil):                      "no .txz",
		jar("a.txz", []byte("nothing of the kind")): "not an xz archive",
		filepath.Join(t.TempDir(), "missing.jar"):   "not a jar",
	} {
		if err := unpack(path, filepath.Join(t.TempDir(), "p")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}

	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSHA256(good, fmt.Sprintf("%x", sha256.Sum256(content))); err != nil {
		t.Error(err)
	}
	if err := checkSHA256(good, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "not what its publisher released") {
		t.Errorf("another file: %v", err)
	}
}

func TestArtifacts(t *testing.T) {
	for platform, artifact := range artifacts {
		if len(artifact.sha256) != 64 || !strings.HasPrefix(artifact.Coordinates(), "io.zonky.test.postgres:embedded-postgres-binaries-") {
			t.Errorf("%s: %+v", platform, artifact)
		}
	}
	if _, err := ArtifactFor("plan9/mips"); err == nil || !strings.Contains(err.Error(), "plan9/mips") || !strings.Contains(err.Error(), "--postgres") {
		t.Errorf("an unknown platform: %v", err)
	}
}
