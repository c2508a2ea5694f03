package java

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// walkSources calls f for every source file, in the order of their names.
func walkSources(sources fs.FS, f func(path string, content []byte) error) error {
	return fs.WalkDir(sources, "apps", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "target":
			return fs.SkipDir // left by a build in place
		case entry.IsDir():
			return nil
		}
		content, err := fs.ReadFile(sources, path)
		if err != nil {
			return err
		}
		return f(strings.TrimPrefix(path, "apps/"), content)
	})
}

// hashSources sums up the source files that concern a build.
func hashSources(sources fs.FS, concerns func(path string) bool) (string, error) {
	sum := sha256.New()
	err := walkSources(sources, func(path string, content []byte) error {
		if !concerns(path) {
			return nil
		}
		fmt.Fprintf(sum, "%d %s %d ", len(path), path, len(content))
		sum.Write(content)
		return nil
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), err
}

// CopySources writes sources below dir.
func CopySources(sources fs.FS, dir string) error {
	return walkSources(sources, func(path string, content []byte) error {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o644)
	})
}

// SumFile is the SHA-256 of a file, in hexadecimal digits, and its size.
func SumFile(path string) (sum string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := sha256.New()
	if size, err = io.Copy(h, file); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
