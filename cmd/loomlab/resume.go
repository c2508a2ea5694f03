package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/lab/java"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// resumeFlags are those that may stand beside --resume: all others would change
// the settings of the run.
var resumeFlags = []string{"resume", "check", "out", "json", "quiet", "postgres"}

// resumeRun goes on with a run that was interrupted.
func resumeRun(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("--resume takes the settings of the run itself: unexpected %q", c.Args().First())
	}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !slices.Contains(resumeFlags, name) {
			return usagef("--resume takes the settings of the run itself, so --%s cannot stand beside it; start a new run to change them", name)
		}
	}
	path, err := record.Find(c.String("out"), c.String("resume"))
	if err != nil {
		return usagef("%w", err)
	}
	saved, err := record.Open(path)
	if err != nil {
		return usagef("%w", err)
	}
	if info, err := os.Stat(saved.Path); err != nil || !info.IsDir() {
		return usagef("--resume %s: a document holds a copy; name the run directory", path)
	}
	p, jdks, err := resumePlan(c.Context, saved, c.String("postgres"))
	if err != nil {
		return usagef("%s cannot be resumed: %w", saved.Path, err)
	}
	for _, warning := range saved.Warnings {
		fmt.Fprintf(c.App.ErrWriter, "note: %s\n", warning)
	}
	if err := preflight(p, saved.Path, c.App.ErrWriter); err != nil {
		return err
	}
	ctx, stopped := signalContext(c.Context)
	defer stopped.stop()
	hosts, err := prepare(ctx, p, jdks, c.App.ErrWriter, stopped)
	if err != nil {
		return err
	}
	defer hosts.Disconnect()
	if differences := p.Differences(saved, version, machine()); len(differences) > 0 {
		return usagef("%s cannot be resumed, for its cells would not be comparable: %s", saved.Path, strings.Join(differences, "; "))
	}
	run := saved.Run
	dir, err := record.Reopen(saved.Path, run)
	if errors.Is(err, record.ErrBusy) {
		return usagef("%s cannot be resumed: %w", saved.Path, err)
	}
	if err != nil {
		return usagef("cannot go on writing %s: %w", saved.Path, err)
	}
	run.Resumed = append(run.Resumed, record.Resumption{At: time.Now().UTC(), Args: os.Args})
	fmt.Fprintf(c.App.ErrWriter, "resuming %s: %d of %d cells are there\n", dir.ID(), p.Kept(), len(p.Cells))
	return conduct(ctx, c, p, hosts, dir, run, stopped)
}

// resumePlan plans the rest of a run for this machine.
func resumePlan(ctx context.Context, saved *record.Saved, dsn string) (*plan.Plan, []java.JDK, error) {
	jdks := findJDKs(ctx)
	p, err := plan.Resume(saved, planFacts(ctx, machine(), jdks, plan.Options{}), dsn)
	return p, jdks, err
}
