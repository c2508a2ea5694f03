package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"loomlab/lab/claim"
	"loomlab/lab/record"
	"loomlab/lab/report"
)

// pipeWidth is the width of a table that goes to no terminal.
const pipeWidth = 100

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Category: helpRead,
		Usage:     "show a stored run again, in any format; starts nothing",
		ArgsUsage: "[RUN]",
		Description: "RUN is a run directory, its run.json, a {run, cells} document, or the name of a run under --dir; without it the last one.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab report                                        # the last run's table\n" +
			"  loomlab report --format markdown                      # for an issue or a wiki\n" +
			"  loomlab report last --format html -o report.html      # one file, needs no network\n" +
			"  loomlab report last --format bench                    # for benchstat\n" +
			"\n" +
			"Exit status:\n" +
			"  0  shown\n" +
			"  1  it could not be written\n" +
			"  2  usage, or no such run",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: " + strings.Join(report.Formats, ", "), Value: report.Formats[0]},
			&cli.StringFlag{Name: "o", Usage: "write to `FILE` instead of stdout"},
			&cli.StringFlag{Name: "dir", Usage: "`FOLDER` that holds the runs", Value: defaultRuns},
		},
		Action: func(c *cli.Context) error {
			format := c.String("format")
			if err := report.CheckFormat(format); err != nil {
				return usagef("%w", err)
			}
			saved, err := storedRun(c)
			if err != nil {
				return err
			}
			return writeReport(c.App.Writer, c.String("o"), format, saved)
		},
	}
}

// storedRun opens the one run that a command's argument names, the last one
// without, and passes on what could not be read of it.
func storedRun(c *cli.Context) (*record.Saved, error) {
	if c.NArg() > 1 {
		return nil, usagef("%s takes one RUN, not %d", c.Command.Name, c.NArg())
	}
	path, err := record.Find(c.String("dir"), c.Args().First())
	if err != nil {
		return nil, usagef("%w", err)
	}
	saved, err := record.Open(path)
	if err != nil {
		return nil, usagef("%w", err)
	}
	for _, warning := range saved.Warnings {
		fmt.Fprintf(c.App.ErrWriter, "loomlab: %s\n", warning)
	}
	saved.Run.Claims = claim.Decide(saved) // as this version judges, also of older runs
	return saved, nil
}

// writeReport renders saved to file, or to stdout when file is "" or "-".
func writeReport(stdout io.Writer, file, format string, saved *record.Saved) error {
	if file == "" || file == "-" {
		if err := report.Write(stdout, format, saved, textOptions(stdout)); err != nil {
			return failedf("cannot write the report: %w", err)
		}
		return nil
	}
	var body bytes.Buffer
	if err := report.Write(&body, format, saved, report.TextOptions{Width: pipeWidth}); err != nil {
		return failedf("cannot make the report: %w", err)
	}
	if err := replaceFile(file, body.Bytes()); err != nil {
		return failedf("cannot write the report: %w", err)
	}
	return nil
}

// textOptions fits a table to where it goes.
func textOptions(w io.Writer) report.TextOptions {
	color, width := report.Terminal(w)
	if width <= 0 {
		width = pipeWidth
	}
	return report.TextOptions{Width: width, Color: color}
}

// replaceFile writes file in one step, so that a reader never sees half of it.
// What is no regular file, such as /dev/null or a pipe, is written to in place.
func replaceFile(file string, body []byte) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(file, body, 0o644)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails once it was renamed
	if _, err := temp.Write(body); err != nil {
		_ = temp.Close()
		return err
	}
	if err := temp.Chmod(0o644); err != nil {
		_ = temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
