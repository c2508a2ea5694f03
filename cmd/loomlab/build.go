package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/lab/java"
)

func buildCommand() *cli.Command {
	return &cli.Command{
		Name: "build", Category: helpMeasure,
		Usage:     "build the Spring Boot apps, unpacked in the user's cache folder",
		ArgsUsage: "[APP…]",
		Description: "Without APP it builds those of Spring Boot; " + strings.Join(java.Contestants, ", ") + " are built when a run needs them, or here by their names.\n\n" +
			"The jars are kept by source hash, Boot version and JDK, so that a run builds them only once. It takes Maven on the PATH (else the Maven wrapper) and, the first time, the network. `loomlab run` does the same when it needs them.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab build\n" +
			"  loomlab build --jdk 21 --boot 3.5\n" +
			"\n" +
			"Files:\n" +
			"  ~/.cache/loomlab/apps   sources, jars and Maven's log (macOS: ~/Library/Caches/loomlab/apps)\n" +
			"\n" +
			"Exit status:\n" +
			"  0  the jars are there\n" +
			"  2  usage, no JDK, or Maven failed\n" +
			"  129, 130, 143  ended by SIGHUP, SIGINT or SIGTERM",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "boot", Usage: "Spring Boot `VERSION`: 4.x or 3.5", Value: java.DefaultBoot},
			&cli.StringFlag{Name: "jdk", Usage: "`VERSION|PATH` of the JDK, 21 or newer (default: the newest found)"},
		},
		Action: func(c *cli.Context) error {
			for _, name := range c.Args().Slice() {
				if !slices.Contains(java.AllApps(), name) {
					return usagef("build: no app is called %q; there are %s", name, strings.Join(java.AllApps(), ", "))
				}
			}
			return build(c)
		},
	}
}

func build(c *cli.Context) error {
	ctx, stopped := signalContext(c.Context)
	defer stopped.stop()
	began := time.Now()
	found := findJDKs(ctx)
	jdk, err := java.SelectJDK(ctx, found, c.String("jdk"))
	if err != nil {
		return usagef("%w", err)
	}
	if jdk, err = java.CompilerFor(found, jdk); err != nil {
		return usagef("%w", err)
	}
	cached := true
	boot := ""
	for _, name := range buildsOf(c.Args().Slice()) {
		options := java.BuildOptions{App: name, Apps: bootApps(c.Args().Slice()), Boot: c.String("boot"), JDK: jdk, Log: func(line string) { fmt.Fprintln(c.App.ErrWriter, line) }}
		apps, there := java.CachedApps(options)
		if !there {
			cached = false
			if apps, err = java.BuildApps(ctx, options); err != nil {
				if status := stopped.status(); status != 0 {
					return &statusError{code: status}
				}
				return usagef("%w", err)
			}
		}
		for _, app := range apps.List {
			fmt.Fprintf(c.App.Writer, "%-12s %s\n", app.Name, app.Jar)
		}
		if name == "" {
			boot = fmt.Sprintf("Spring Boot %s, ", apps.Boot)
		}
	}
	how := "were there already"
	if !cached {
		how = fmt.Sprintf("built in %.1f s", time.Since(began).Seconds())
	}
	fmt.Fprintf(c.App.Writer, "%s%v: %s\n", boot, jdk, how)
	return nil
}

// bootApps are those of the named apps that come with Spring Boot; nil where none is named: all.
func bootApps(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(java.Contestants, name) })
}

// buildsOf are the builds that the named apps come from: "" is the one of all Boot apps.
func buildsOf(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	var builds []string
	for _, name := range names {
		if !slices.Contains(java.Contestants, name) {
			name = ""
		}
		if !slices.Contains(builds, name) {
			builds = append(builds, name)
		}
	}
	return builds
}
