package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFuzzTargets: `make fuzz` knows every fuzz target of the module, and no other.
func TestFuzzTargets(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^FUZZ := (.*)$`).FindSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile has no FUZZ")
	}
	listed := strings.Fields(string(m[1]))
	var there []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, f := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F`).FindAllSubmatch(source, -1) {
			there = append(there, filepath.ToSlash(dir)+":"+string(f[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(listed)
	slices.Sort(there)
	if !slices.Equal(listed, there) {
		t.Errorf("make fuzz runs  %v\nthe module has %v", listed, there)
	}
}
