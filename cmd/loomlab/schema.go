package main

import (
	"github.com/urfave/cli/v2"

	"loomlab/lab/record"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Category: helpRead,
		Usage:     "print the JSON Schema of the record: what `run --json` and `report --format json` print",
		ArgsUsage: " ",
		Description: "The files of a run directory are parts of it: run.json is its `run`, a line of cells.jsonl an item of its `cells`, a line of series.jsonl the definition `Point`.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab schema > loomlab.schema.json\n" +
			"\n" +
			"Exit status:\n" +
			"  0  printed\n" +
			"  1  it could not be written\n" +
			"  2  usage",
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("schema takes no argument; unexpected %q", c.Args().First())
			}
			if _, err := c.App.Writer.Write(record.JSONSchema()); err != nil {
				return failedf("cannot write: %w", err)
			}
			return nil
		},
	}
}
