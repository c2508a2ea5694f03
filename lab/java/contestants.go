package java

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Contestants are the apps of other frameworks than Spring, by the names of their
// Maven modules in testdata/apps/frameworks. Each is built alone, and only for a run
// that has it: Quarkus brings two hundred jars that nobody else needs.
var Contestants = []string{"helidon", "quarkus", "jdkhttp"}

// AllApps are the apps that an experiment can name.
func AllApps() []string { return append(slices.Clone(AppNames), Contestants...) }

// frameworksFolder holds the contestants' sources, apart from the Boot apps'.
const frameworksFolder = "frameworks"

// contestantBuilds says where a build leaves its app whole, below target, and which
// jar of it starts it, for those that do not leave NAME.jar in the folder app.
var contestantBuilds = map[string]struct{ folder, launcher string }{
	"quarkus": {"quarkus-app", "quarkus-run.jar"},
}

// ContestantOf is the app of a SUT if it is one of [Contestants], else "".
func ContestantOf(s record.SUT) string {
	if slices.Contains(Contestants, s.App) {
		return s.App
	}
	return ""
}

// contestant tells whether the build is one of [Contestants].
func (o BuildOptions) contestant() bool { return slices.Contains(Contestants, o.App) }

// concerns tells whether a source file, named from the folder apps on, is part of
// what the build is made of: a change in it makes another build.
func (o BuildOptions) concerns(path string) bool {
	rest, ofFrameworks := strings.CutPrefix(path, frameworksFolder+"/")
	if !o.contestant() {
		return !ofFrameworks
	}
	folder, _, nested := strings.Cut(rest, "/")
	return ofFrameworks && (!nested || folder == "lab" || folder == o.App)
}

// label names the build in the cache, beside the hash of its sources.
func (o BuildOptions) label() string {
	if o.contestant() {
		return o.App
	}
	return "boot" + o.Boot
}

// takeContestant moves what Maven built of a contestant to its folder in out.
func (o BuildOptions) takeContestant(sources, out string) error {
	built := contestantBuilds[o.App]
	if built.folder == "" {
		built.folder, built.launcher = "app", o.App+".jar"
	}
	dir := filepath.Join(out, o.App)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(sources, frameworksFolder, o.App, "target", built.folder), dir); err != nil {
		return fmt.Errorf("no %s where Maven was expected to leave it: %w", o.App, err)
	}
	if jar := o.App + ".jar"; built.launcher != jar {
		return os.Rename(filepath.Join(dir, built.launcher), filepath.Join(dir, jar))
	}
	return nil
}
