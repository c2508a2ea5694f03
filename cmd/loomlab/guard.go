package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/lab/guard"
)

// guardCommand is hidden: the orchestrator puts it around every child.
func guardCommand() *cli.Command {
	return &cli.Command{
		Name:      "guard",
		Usage:     "run a command and end all its descendants when it, or the orchestrator, ends",
		ArgsUsage: "-- COMMAND [ARG…]",
		Hidden:    true,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "grace", Value: 5 * time.Second, Usage: "time between TERM and KILL"},
			&cli.StringFlag{Name: "cpus", Usage: "let the command run on these CPUs only, a `LIST` such as 0-1,3"},
			&cli.StringFlag{Name: "netns", Usage: "run the command in the network namespace of this `FILE`"},
			&cli.StringFlag{Name: "user", Usage: "run the command as `UID:GID`"},
			&cli.StringFlag{Name: "dir", Usage: "working `FOLDER` of the command"},
			&cli.StringFlag{Name: "stop", Usage: "`SIGNAL` that asks the command alone to end, INT or QUIT (default: TERM to every descendant)"},
			&cli.StringFlag{Name: "remove", Usage: "`FOLDER` to remove in the end when the orchestrator has died"},
		},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() && c.String("remove") == "" {
				return usagef("guard: no command; usage: loomlab guard -- COMMAND [ARG…]")
			}
			options := guard.Options{
				Grace: c.Duration("grace"), CPUs: c.String("cpus"), Netns: c.String("netns"),
				User: c.String("user"), Dir: c.String("dir"),
				Stop: c.String("stop"), Remove: c.String("remove"),
			}
			if code := guard.Run(c.Args().Slice(), options); code != 0 {
				return &statusError{code: code}
			}
			return nil
		},
	}
}
