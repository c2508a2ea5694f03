// Command release builds the archives of a release into dist/: for each platform
// the binary, the manual and the licences of everything that is linked into it,
// and SHA256SUMS over the archives.
//
//	go run ./release [--out dist]
//
// The usual steps: read the commit with git, export its files, build each
// platform from the export, pack. Two builds of a commit with the same Go are
// equal byte for byte, wherever they are made: what is built is the commit, not
// the folder, paths are trimmed, C is not linked, and times are the commit's.
//
// Limits: it takes git and a clone; another version of Go makes other bytes.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// platforms are what a release is built for.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
}

type platform struct{ os, arch string }

func main() {
	out := flag.String("out", "dist", "`FOLDER` of the archives, which is emptied first")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "release: takes no argument, got %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := release(*out); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release builds everything into a fresh folder out.
func release(out string) error {
	c, err := headCommit(".")
	if err != nil {
		return err
	}
	if c.dirty {
		fmt.Fprintf(os.Stderr, "release: the working tree has changes, which are left out: commit %.12s is built\n", c.hash)
	}
	source, err := os.MkdirTemp("", "loomlab-release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(source)
	if err := c.export(".", source); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, p := range platforms {
		name, err := releasePlatform(source, out, c, p)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		sum, err := sha256File(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
		fmt.Printf("%s  %s\n", sum, filepath.Join(out, name))
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// releasePlatform builds and packs for one platform and returns the archive's name.
func releasePlatform(source, out string, c commit, p platform) (string, error) {
	binary, err := build(source, c, p)
	if err != nil {
		return "", err
	}
	licences, err := licences(source, p)
	if err != nil {
		return "", err
	}
	files, err := manual(source)
	if err != nil {
		return "", err
	}
	files = append(files, file{"loomlab", binary, 0o755}, file{"THIRD-PARTY-LICENSES.txt", licences, 0o644})
	folder := fmt.Sprintf("loomlab-%s-%s-%s", c.version, p.os, p.arch)
	body, err := pack(folder, files, c.time)
	if err != nil {
		return "", err
	}
	return folder + ".tar.gz", os.WriteFile(filepath.Join(out, folder+".tar.gz"), body, 0o644)
}

// image is a picture of the repository in a page.
var image = regexp.MustCompile(`!\[[^\]]*\]\(([^):]+)\)`)

// manual reads the licence, the README with its pictures, and the pages of docs.
func manual(source string) ([]file, error) {
	names := []string{"LICENSE", "README.md"}
	pages, err := filepath.Glob(filepath.Join(source, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		names = append(names, "docs/"+filepath.Base(page))
	}
	readme, err := os.ReadFile(filepath.Join(source, "README.md"))
	if err != nil {
		return nil, err
	}
	for _, m := range image.FindAllSubmatch(readme, -1) {
		names = append(names, string(m[1]))
	}
	var files []file
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, body, 0o644})
	}
	return files, nil
}

func sha256File(path string) (string, error) {
	body, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(body)), err
}
