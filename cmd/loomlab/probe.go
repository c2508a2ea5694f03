package main

import (
	"github.com/urfave/cli/v2"

	"loomlab/lab"
)

// probeCommand is hidden: the orchestrator sends this program to other machines
// and runs it so there.
func probeCommand() *cli.Command {
	return &cli.Command{
		Name:   "probe",
		Usage:  "serve an orchestrator on another machine over stdin and stdout: start tiers, sample them, answer questions",
		Hidden: true,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("probe takes no argument: %q", c.Args().First())
			}
			if err := lab.Probe(c.App.Reader, c.App.Writer); err != nil {
				return failedf("probe: %w", err)
			}
			return nil
		},
	}
}
