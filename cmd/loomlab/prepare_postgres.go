package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"loomlab/lab"
	"loomlab/lab/java"
	"loomlab/lab/plan"
	"loomlab/lab/postgres"
)

// preparePostgres gets the programs of the plan's PostgreSQL, or makes the user's
// own database ready. Where there is none after all, the SUTs that use it fail
// with the reason and the others run; the error is for a run with no others.
func preparePostgres(ctx context.Context, p *plan.Plan, jdks []java.JDK, progress io.Writer) error {
	pg := p.Postgres
	if pg == nil {
		return nil
	}
	tell := func(line string) { fmt.Fprintln(progress, line) }
	if pg.DSN != nil {
		return lab.PrepareOwn(ctx, pg, tell) // asked for by name: never without it
	}
	home, err := postgresPrograms(ctx, jdks, tell)
	if err == nil {
		pg.Home = home
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	pg.Missing = "there is no PostgreSQL: " + err.Error()
	if slices.ContainsFunc(p.SUTs, func(s plan.SUT) bool { return !s.UsesPostgres() }) {
		tell("note: " + pg.Missing)
		return nil
	}
	return fmt.Errorf("%s\n    your own database can take its place: --postgres %s", pg.Missing, postgres.DSNForm)
}

// postgresPrograms finds or fetches them.
func postgresPrograms(ctx context.Context, jdks []java.JDK, tell func(string)) (home string, err error) {
	options := postgres.Options{Log: tell}
	if home, ok := postgres.Cached(options); ok {
		return home, nil
	}
	if options.JDK, err = java.SelectJDK(ctx, jdks, ""); err != nil {
		return "", fmt.Errorf("fetching it takes Maven and a JDK: %w", err)
	}
	return postgres.Fetch(ctx, options)
}
