package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"loomlab/lab/plan"
)

// The rung of --jfr may be left out, and then the word after it is no rung.
func TestJFRFlag(t *testing.T) {
	for line, want := range map[string]string{
		"run article --jfr":            "0 article",
		"run --jfr article":            "0 article",
		"run article --jfr=1000":       "1000 article",
		"run --jfr=3000 --json custom": "3000 custom",
		"run article":                  "none article",
		"run article --jfr=0":          `loomlab: --jfr 0: want`,
		"run article --jfr=much":       `loomlab: --jfr much: want`,
	} {
		app := newApp(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
		got := ""
		app.Command("run").Action = func(c *cli.Context) error {
			opts, err := runOptions(c)
			if err != nil {
				return err
			}
			got = rungText(opts) + " " + c.Args().First()
			return nil
		}
		if err := app.Run(append([]string{app.Name}, flagsFirst(app, strings.Fields(line))...)); err != nil {
			got = "loomlab: " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func rungText(opts plan.Options) string {
	if opts.JFR == nil {
		return "none"
	}
	return (&rungFlag{opts.JFR}).String()
}
