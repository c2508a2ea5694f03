package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// version and commit are set by the linker in release builds; in others they are
// what Go has read of the repository, if it has.
var version, commit = "", ""

func init() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	version, commit = stamped(version, commit, info)
}

// stamped fills what the linker has left empty: "dev" is a version that nobody
// knows, such as that of a test.
func stamped(version, commit string, info *debug.BuildInfo) (string, string) {
	if info.Main.Version != "(devel)" {
		version = cmp.Or(version, info.Main.Version)
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = cmp.Or(commit, s.Value)
		}
	}
	return cmp.Or(version, "dev"), cmp.Or(commit, "unknown")
}

// fullVersion is the version with all that decides what is in the binary.
func fullVersion() string {
	return fmt.Sprintf("%s (commit %s, %s, %s/%s)", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Category: helpItself,
		Usage:     "print the version, the commit, and the Go that it was built with",
		ArgsUsage: " ",
		Description: "A version that ends in +dirty was built with changes that are in no commit; dev is a build that Go knew no repository of.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab version\n" +
			"\n" +
			"Exit status:\n" +
			"  0  printed\n" +
			"  2  usage",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("version takes no argument, got %q", c.Args().First())
			}
			cli.ShowVersion(c)
			return nil
		},
	}
}
