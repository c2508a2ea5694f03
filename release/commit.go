package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commit is what a release is made of.
type commit struct {
	hash    string
	time    time.Time
	version string // see describe
	dirty   bool   // the working tree differs from it
}

// headCommit reads the commit that is checked out in dir.
func headCommit(dir string) (commit, error) {
	var c commit
	stamp, err := git(dir, "log", "-1", "--format=%H %ct")
	if err != nil {
		return c, fmt.Errorf("a release is built in a clone of the repository: %w", err)
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(stamp), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return c, fmt.Errorf("git says %q of the commit's time: %w", seconds, err)
	}
	c.hash, c.time = hash, time.Unix(unix, 0).UTC()
	status, err := git(dir, "status", "--porcelain")
	if err != nil {
		return c, err
	}
	c.dirty = strings.TrimSpace(status) != ""
	// Without a tag, which is no mistake, describe fails. The length of the
	// abbreviation is given: git's own depends on what else a clone holds.
	tag, _ := git(dir, "describe", "--tags", "--match=v[0-9]*", "--abbrev=12")
	c.version = describe(strings.TrimSpace(tag), c.hash, c.time)
	return c, nil
}

// describe is the name of a version: the tag, tag-N-gHASH for the Nth commit
// after it, or what Go calls a commit without a tag: v0.0.0-TIME-HASH.
func describe(tag, hash string, at time.Time) string {
	if tag != "" {
		return tag
	}
	return fmt.Sprintf("v0.0.0-%s-%.12s", at.UTC().Format("20060102150405"), hash)
}

// export writes the files of the commit below folder: only what was committed,
// nothing that lies about in the working tree, ignored or not.
func (c commit) export(dir, folder string) error {
	archive, err := git(dir, "archive", "--format=tar", c.hash)
	if err != nil {
		return err
	}
	return unpack(strings.NewReader(archive), folder)
}

// unpack writes the regular files of a tar archive below folder.
func unpack(archive io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for t := tar.NewReader(archive); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		body, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(head.Name)), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(head.Name), body, head.FileInfo().Mode().Perm()); err != nil {
			return err
		}
	}
}

// git runs git in dir and returns what it prints. What git tells its hooks of
// another repository does not reach it.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(stdout), nil
}
