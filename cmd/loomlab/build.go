package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/lab"
)

func buildCommand() *cli.Command {
	return &cli.Command{
		Name:  "build",
		Usage: "build the Spring Boot apps, unpacked in the user's cache folder",
		Description: "The jars are kept by source hash, Boot version and JDK, so a run builds them only once.\n" +
			"It takes Maven on the PATH (else the Maven wrapper) and, the first time, the network.\n\n" +
			"Exit status: 0 the jars are there; 2 usage, no JDK, or Maven failed; 129, 130 and 143 by signal.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "boot", Usage: "Spring Boot `VERSION`: 4.x or 3.5", Value: lab.DefaultBoot},
			&cli.StringFlag{Name: "jdk", Usage: "`VERSION|PATH` of the JDK, 21 or newer (default: the newest found)"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("build takes no argument, got %q", c.Args().First())
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
	jdk, err := lab.SelectJDK(ctx, found, c.String("jdk"))
	if err != nil {
		return usagef("%w", err)
	}
	if jdk, err = lab.CompilerFor(found, jdk); err != nil {
		return usagef("%w", err)
	}
	options := lab.BuildOptions{Boot: c.String("boot"), JDK: jdk, Log: func(line string) { fmt.Fprintln(c.App.ErrWriter, line) }}
	apps, cached := lab.CachedApps(options)
	if !cached {
		if apps, err = lab.BuildApps(ctx, options); err != nil {
			if status := stopped.status(); status != 0 {
				return &statusError{code: status}
			}
			return usagef("%w", err)
		}
	}
	for _, app := range apps.List {
		fmt.Fprintf(c.App.Writer, "%-12s %s\n", app.Name, app.Jar)
	}
	how := "were there already"
	if !cached {
		how = fmt.Sprintf("built in %.1f s", time.Since(began).Seconds())
	}
	fmt.Fprintf(c.App.Writer, "Spring Boot %s, %v: %s\n", apps.Boot, jdk, how)
	return nil
}
