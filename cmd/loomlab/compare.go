package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"loomlab/lab/record"
	"loomlab/lab/report"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Category: helpRead,
		Usage:     "compare two stored runs, or two SUTs of a run, over their forks; starts nothing",
		ArgsUsage: "BASE NEW",
		Description: "BASE and NEW are each a RUN as `report` takes it, or RUN:sut for one SUT of it (last:platform last:virtual). The independent repeat is the fork: a verdict takes 4 a side on the primary metric of a cell and 6 on the others.\n" +
			"\n" +
			"Each regime has one primary metric: SUT CPU per request (then p50 minus delay) where the load is the limit, SUT CPU per request where a pool is, throughput where the SUT's CPU is, p99 at an equal offered rate.\n" +
			"\n" +
			"Sides that were measured in different ways are refused, naming the difference. One difference in what was run (sut, jdk, boot, heap, collector, flags, …) is the thing compared; with several, --ignore says which do not matter.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab compare last:platform last:virtual\n" +
			"  loomlab compare runs/before runs/after --fail-if-worse 5%\n" +
			"  loomlab compare base.json last --format markdown -o comparison.md\n" +
			"\n" +
			"Exit status:\n" +
			"  0  compared\n" +
			"  1  it could not be written\n" +
			"  2  usage, no such run, or not comparable\n" +
			"  3  with --fail-if-worse: something is shown to be worse by more than that",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: " + strings.Join(report.CompareFormats, ", "), Value: report.CompareFormats[0]},
			&cli.StringFlag{Name: "fail-if-worse", Usage: "exit 3 where a primary metric is worse by more than `SHARE` (such as 5%), its whole interval beyond it; needs 6 forks a side"},
			&cli.StringFlag{Name: "ignore", Usage: "`CONDITIONS` that may differ, with commas between: " + strings.Join(report.ConditionNames(), ", ")},
			&cli.StringFlag{Name: "o", Usage: "write to `FILE` instead of stdout"},
			&cli.StringFlag{Name: "dir", Usage: "`FOLDER` that holds the runs", Value: defaultRuns},
		},
		Action: compareRuns,
	}
}

func compareRuns(c *cli.Context) error {
	format := c.String("format")
	if !slices.Contains(report.CompareFormats, format) {
		return usagef("unknown format %q; there are %s (for benchstat: `loomlab report --format bench` of each run)", format, strings.Join(report.CompareFormats, ", "))
	}
	limit := -1.0
	if c.IsSet("fail-if-worse") {
		var err error
		if limit, err = parseShare(c.String("fail-if-worse")); err != nil {
			return usagef("--fail-if-worse %s: %w", c.String("fail-if-worse"), err)
		}
	}
	if c.NArg() != 2 {
		return usagef("compare takes BASE and NEW, each RUN or RUN:sut; got %d of them", c.NArg())
	}
	comparison, err := compareSides(c)
	if err != nil {
		return usagef("%w", err)
	}
	if err := writeComparison(c, format, comparison); err != nil {
		return err
	}
	if limit < 0 {
		return nil
	}
	return failIfWorse(c.App.ErrWriter, comparison, limit)
}

func compareSides(c *cli.Context) (*report.Comparison, error) {
	var sides [2]report.Side
	for i := range sides {
		side, err := openSide(c.String("dir"), c.Args().Get(i))
		if err != nil {
			return nil, err
		}
		if i == 1 && side.Saved.Path == sides[0].Saved.Path {
			side.Saved = sides[0].Saved // one run, whose cells are read once
		} else {
			for _, warning := range side.Saved.Warnings {
				fmt.Fprintf(c.App.ErrWriter, "loomlab: %s\n", warning)
			}
		}
		sides[i] = side
	}
	if sides[0].Saved.Path == sides[1].Saved.Path && sides[0].SUT == sides[1].SUT {
		fmt.Fprintln(c.App.ErrWriter, "note: both sides are the same, so nothing can differ; two SUTs of one run are RUN:one and RUN:other")
	}
	var ignore []string
	if c.IsSet("ignore") {
		for _, name := range strings.Split(c.String("ignore"), ",") {
			ignore = append(ignore, strings.TrimSpace(name))
		}
	}
	return report.Compare(sides[0], sides[1], ignore)
}

// openSide reads RUN or RUN:sut. A path may hold colons, so the whole text is
// tried as a run first.
func openSide(dir, name string) (report.Side, error) {
	side := report.Side{Name: name}
	path, err := record.Find(dir, name)
	if at := strings.LastIndexByte(name, ':'); errors.Is(err, record.ErrNoRun) && at >= 0 {
		side.SUT = name[at+1:]
		if side.SUT == "" {
			return side, fmt.Errorf("%s: a SUT's name is missing after the colon", name)
		}
		path, err = record.Find(dir, name[:at])
	}
	if err != nil {
		return side, err
	}
	side.Saved, err = record.Open(path)
	return side, err
}

func writeComparison(c *cli.Context, format string, comparison *report.Comparison) error {
	file := c.String("o")
	if file == "" || file == "-" {
		if err := report.WriteComparison(c.App.Writer, format, comparison, textOptions(c.App.Writer)); err != nil {
			return failedf("cannot write the comparison: %w", err)
		}
		return nil
	}
	var body bytes.Buffer
	if err := report.WriteComparison(&body, format, comparison, report.TextOptions{Width: pipeWidth}); err != nil {
		return failedf("cannot make the comparison: %w", err)
	}
	if err := replaceFile(file, body.Bytes()); err != nil {
		return failedf("cannot write the comparison: %w", err)
	}
	return nil
}

// failIfWorse says what decides the exit status, on stderr.
func failIfWorse(stderr io.Writer, comparison *report.Comparison, limit float64) error {
	worse, undecided := comparison.FailIfWorse(limit)
	for _, line := range worse {
		fmt.Fprintf(stderr, "worse by more than %g %%: %s\n", 100*limit, line)
	}
	for _, line := range undecided {
		fmt.Fprintf(stderr, "not decided by --fail-if-worse: %s\n", line)
	}
	if len(worse) > 0 {
		return &statusError{code: exitShown}
	}
	return nil
}

// parseShare reads "5%", "2.5 %" or "0.05".
func parseShare(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 10) {
		return 0, fmt.Errorf("want a share such as 5%% or 0.05")
	}
	if !isPercent && v >= 1 {
		return 0, fmt.Errorf("want a share such as 5%% or 0.05; %s would be %s", text, strconv.FormatFloat(100*v, 'f', -1, 64)+" %")
	}
	return v, nil
}
