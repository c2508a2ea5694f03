package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"loomlab/lab/experiment"
	"loomlab/lab/java"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/lab/report"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Category: helpMeasure,
		Usage: "list the experiments, the apps and the JDKs found",
		Description: "For each experiment: its question, how long it takes, what it needs of the machine, and where it was published. Then the apps, with Boot version and jar, and the JDKs, with the reason where one cannot be used.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab list\n" +
			"  loomlab list --json\n" +
			"\n" +
			"Exit status:\n" +
			"  0  listed\n" +
			"  2  usage",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON document"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("list takes no arguments, got %q", c.Args().First())
			}
			l, err := takeListing(c.Context, findJDKs(c.Context))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				enc := json.NewEncoder(c.App.Writer)
				enc.SetIndent("", "  ")
				return enc.Encode(l)
			}
			_, width := report.Terminal(c.App.Writer)
			return l.write(c.App.Writer, width)
		},
	}
}

// listing is what `loomlab list` shows, and its JSON.
type listing struct {
	Experiments []listedExperiment `json:"experiments"`
	Apps        []listedApp        `json:"apps"`
	JDKs        []listedJDK        `json:"jdks"`
}

type listedExperiment struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Question    string         `json:"question"`
	Source      *record.Source `json:"source"`
	SUTs        []string       `json:"suts"`
	Connections []int          `json:"connections"` // rungs of the closed loops
	Rates       []float64      `json:"rates"`       // of the open ones
	Cells       int            `json:"cells"`
	Time        listedTime     `json:"time"`
	QuickTime   listedTime     `json:"quick_time"` // with --quick
	Needs       string         `json:"needs"`

	needs plan.Needs // the same in figures
}

// listedTime is an estimate, in seconds and as text.
type listedTime struct {
	MinS float64 `json:"min_s"`
	MaxS float64 `json:"max_s"`
	Text string  `json:"text"`
}

type listedApp struct {
	Name string  `json:"name"`
	Boot string  `json:"boot"`
	Jar  *string `json:"jar"` // null: not built yet
}

type listedJDK struct {
	Home    string `json:"home"`
	Version string `json:"version"`
	Vendor  string `json:"vendor"`
	JRE     bool   `json:"jre"` // runs apps, cannot build them
	From    string `json:"from"`
	Default bool   `json:"default"` // the one that apps run on unless told otherwise
	Problem string `json:"problem"` // why it cannot be used, or ""
}

func takeListing(ctx context.Context, found []java.JDK) (*listing, error) {
	l := &listing{Experiments: []listedExperiment{}, Apps: []listedApp{}, JDKs: []listedJDK{}}
	for _, name := range experiment.Builtins() {
		e, err := listExperiment(name)
		if err != nil {
			return nil, err
		}
		l.Experiments = append(l.Experiments, e)
	}
	chosen, noJDK := java.SelectJDK(ctx, found, "")
	for _, j := range found {
		problem := j.Problem
		if problem == "" && j.Major < java.MinJDK {
			problem = fmt.Sprintf("%s is too old for the apps, which need %d or later", j.Version, java.MinJDK)
		}
		l.JDKs = append(l.JDKs, listedJDK{
			Home: j.Home, Version: j.Version, Vendor: j.Vendor, JRE: j.JRE, From: j.From,
			Default: noJDK == nil && j.Home == chosen.Home, Problem: problem,
		})
	}
	var apps java.Apps
	if compiler, err := java.CompilerFor(found, chosen); noJDK == nil && err == nil {
		apps, _ = java.CachedApps(java.BuildOptions{JDK: compiler})
	}
	for _, name := range java.AppNames {
		listed := listedApp{Name: name, Boot: java.DefaultBoot}
		if app, ok := apps.App(name); ok {
			listed.Jar = &app.Jar
		}
		l.Apps = append(l.Apps, listed)
	}
	return l, nil
}

// listExperiment plans the experiment for a machine without limits.
func listExperiment(name string) (listedExperiment, error) {
	e, err := experiment.Builtin(name)
	if err != nil {
		return listedExperiment{}, err
	}
	p, err := plan.New(e, plan.Options{}, plan.Facts{})
	if err != nil {
		return listedExperiment{}, fmt.Errorf("%s: %w", name, err)
	}
	quick, err := plan.New(e, plan.Options{Quick: true}, plan.Facts{})
	if err != nil {
		return listedExperiment{}, fmt.Errorf("%s: %w", name, err)
	}
	connections, rates := []int{}, []float64{}
	for _, rung := range p.Experiment.Rungs() {
		if rung.Rate > 0 {
			rates = append(rates, rung.Rate)
		} else {
			connections = append(connections, rung.Connections)
		}
	}
	return listedExperiment{
		Name: e.Name, Title: e.Title, Question: e.Question, Source: e.Source,
		SUTs: p.Order(), Connections: connections, Rates: rates, Cells: len(p.Cells),
		Time: listTime(p.Estimate), QuickTime: listTime(quick.Estimate), Needs: p.Needs.String(), needs: p.Needs,
	}, nil
}

func listTime(e plan.Estimate) listedTime {
	return listedTime{e.Min.Seconds(), e.Max.Seconds(), e.String()}
}

func (j listedJDK) String() string {
	switch {
	case j.Problem != "":
		return fmt.Sprintf("%s: cannot be used, %s", j.Home, j.Problem)
	case j.Default:
		return fmt.Sprintf("%s at %s (from %s; the default)", j.Version, j.Home, j.From)
	}
	return fmt.Sprintf("%s at %s (from %s)", j.Version, j.Home, j.From)
}
