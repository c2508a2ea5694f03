package main

import (
	"github.com/urfave/cli/v2"

	"loomlab/lab/report"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Category: helpRead,
		Usage:     "say in words, with arithmetic, what held each cell of a stored run back",
		ArgsUsage: "[RUN]",
		Description: "The verdict of each cell with its evidence, the ceilings by Little's law, and the doubts with what to do about each. RUN is a run directory, its run.json, a {run, cells} document, or the name of a run under --dir; without it the last one.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab explain\n" +
			"\n" +
			"Exit status:\n" +
			"  0  shown\n" +
			"  1  it could not be written\n" +
			"  2  usage, or no such run",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Usage: "`FOLDER` that holds the runs", Value: defaultRuns},
		},
		Action: func(c *cli.Context) error {
			saved, err := storedRun(c)
			if err != nil {
				return err
			}
			if err := report.Explain(c.App.Writer, saved, textOptions(c.App.Writer)); err != nil {
				return failedf("cannot write: %w", err)
			}
			return nil
		},
	}
}
