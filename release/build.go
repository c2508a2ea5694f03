package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// build compiles the command for a platform and returns the binary.
func build(source string, c commit, p platform) ([]byte, error) {
	folder, err := os.MkdirTemp("", "loomlab-build-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "loomlab")
	stamp := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", c.version, c.hash)
	// The export has no repository: the linker says what Go would read of one.
	if _, err := goTool(source, p, "build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", binary, "./cmd/loomlab"); err != nil {
		return nil, err
	}
	return os.ReadFile(binary)
}

// goTool runs go in source for a platform, without whatever the user's
// environment adds to builds.
func goTool(source string, p platform, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0",
		"GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return stdout, nil
}

// module is a dependency whose code is in the binary.
type module struct{ Path, Version, Dir string }

// modules lists those that the command is linked from, ours apart, by path.
func modules(source string, p platform) ([]module, error) {
	listed, err := goTool(source, p, "list", "-deps", "-json=Module", "./cmd/loomlab")
	if err != nil {
		return nil, err
	}
	found := map[string]module{}
	for packages := json.NewDecoder(bytes.NewReader(listed)); ; {
		var of struct {
			Module *struct {
				module
				Main bool
			}
		}
		if err := packages.Decode(&of); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if of.Module != nil && !of.Module.Main {
			found[of.Module.Path] = of.Module.module
		}
	}
	var all []module
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(.*\.)?((un)?licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licences is one text of all licences, Go's own first. A module without one
// is an error: it may not be given away.
func licences(source string, p platform) ([]byte, error) {
	root, err := goTool(source, p, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	all, err := modules(source, p)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := appendLicences(&text, module{"The Go standard library", "", strings.TrimSpace(string(root))}); err != nil {
		return nil, err
	}
	all = append(all, module{"uPlot", "", filepath.Join(source, "lab", "report", "assets")})
	for _, m := range all {
		if err := appendLicences(&text, m); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// appendLicences writes the licence files of a module, in order of their names.
func appendLicences(text *bytes.Buffer, m module) error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		body, err := os.ReadFile(filepath.Join(m.Dir, entry.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(text, "==== %s: %s\n\n%s\n\n", strings.TrimSpace(m.Path+" "+m.Version), entry.Name(), bytes.TrimSpace(body))
	}
	if !found {
		return fmt.Errorf("%s %s: no licence in %s", m.Path, m.Version, m.Dir)
	}
	return nil
}
