package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/lab"
	"loomlab/lab/experiment"
	"loomlab/lab/java"
	"loomlab/lab/plan"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
	"loomlab/lab/report"
)

// experimentsOwn is the default of the flags that change an experiment.
const experimentsOwn = "the experiment's"

// defaultRuns is the folder of runs, below the working directory.
const defaultRuns = "runs"

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Category: helpMeasure,
		Usage:     "run an experiment: start the tiers, climb the ladder, show the table",
		ArgsUsage: "[EXPERIMENT | FILE.yaml]",
		Description: "Starts the downstream and, one after the other, each SUT in fresh processes; climbs the experiment's ladder of connections; measures every tier in the same window; and shows one table: a block for each rung, a column for each SUT. Below each block stand the verdicts: what held each cell back.\n" +
			"\n" +
			"Without an argument the experiment is `article`; `loomlab list` shows all. A name with / or .yaml is a file. The flags change the experiment's own settings. With any --sut exactly those named run, in that order; --sut all stands for the experiment's own.\n" +
			"\n" +
			"Where no JDK 21 or newer is found, the experiment's Go stand-ins run in place of its apps, and the first line says so.\n" +
			"\n" +
			"Ctrl-C keeps the finished cells, stores the one in the making as interrupted and ends every process; a second one ends at once.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab run --quick --standins               # a first table within a minute, no JDK\n" +
			"  loomlab run article                          # the article's three apps, about 7 minutes\n" +
			"  loomlab run article --dry-run                # what would be started, and the time it takes\n" +
			"  loomlab run article --sut virtual --jdk 21 --jdk 25 --forks 6\n" +
			"  loomlab run --sut 'mine=java -jar app.jar --server.port={{port}} --api={{downstream}}' --path /api\n" +
			"  loomlab run --sut 'up=http://127.0.0.1:8080' --path /hello --connections 50,200\n" +
			"\n" +
			"Files:\n" +
			"  runs/TIME-EXPERIMENT/   run.json, cells.jsonl, series.jsonl, latency.hlog, logs, report.html\n" +
			"  runs/last               a link to the newest run, the one that report and explain take by default\n" +
			"  ~/.cache/loomlab/apps   the jars (macOS: ~/Library/Caches), by source, Boot version and JDK\n" +
			"\n" +
			"Exit status:\n" +
			"  0    every cell was measured; doubts do not matter\n" +
			"  1    a cell failed: its SUT died, was never ready, gave no success or over half errors\n" +
			"  2    usage, file, build, or a machine too small: nothing was measured\n" +
			"  3    with --check: a claim is refuted (what this run cannot decide refutes nothing)\n" +
			"  129, 130, 143  ended by SIGHUP, SIGINT or SIGTERM; finished cells are saved",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "sut", Usage: "`NAME`, all, 'name=command line with {{port}} and {{downstream}}' or 'name=http://…' (repeatable)"},
			&cli.StringFlag{Name: "connections", Usage: "ladder: `N,N,…` connections, such as 100,1000,3000 (default: the experiment's)"},
			&cli.IntFlag{Name: "rounds", DefaultText: experimentsOwn, Usage: "windows on each rung"},
			&cli.IntFlag{Name: "forks", DefaultText: experimentsOwn, Usage: "fresh processes of each SUT"},
			&cli.DurationFlag{Name: "duration", DefaultText: experimentsOwn, Usage: "length of a window"},
			&cli.DurationFlag{Name: "delay", DefaultText: experimentsOwn, Usage: "delay of the downstream"},
			&cli.StringFlag{Name: "path", DefaultText: experimentsOwn, Usage: "`PATH` to request"},
			&cli.DurationFlag{Name: "timeout", DefaultText: experimentsOwn, Usage: "limit of one request"},
			&cli.StringFlag{Name: "warmup", Usage: "warm-up of each rung: a `DURATION` or none (default: until steady)"},
			&cli.BoolFlag{Name: "standins", Usage: "run the Go stand-ins in place of the experiment's SUTs"},
			&cli.StringSliceFlag{Name: "jdk", Usage: "JDK of the apps, 21 or newer: `VERSION|PATH` (default: the newest found; repeatable: each SUT on each)"},
			&cli.StringSliceFlag{Name: "boot", Usage: "Spring Boot `VERSION` of the apps: 4.x or 3.5 (repeatable: each app with each)"},
			&cli.BoolFlag{Name: "memory", Usage: "say where each JVM's memory is, before and after each rung (native memory tracking, which costs it about 2 %)"},
			&cli.GenericFlag{Name: "jfr", Value: &rungFlag{}, Usage: "measure a rung of each JVM once more with its flight recorder on: --jfr is the highest one, --jfr=`RUNG` another"},
			&cli.StringSliceFlag{Name: "place", Usage: "where a tier runs, `TIER=LAUNCHER` (repeatable): load (also several, with commas between), sut, downstream or postgres; " + experiment.LauncherGrammar},
			&cli.StringFlag{Name: "hosts", Usage: "`FILE` with the hosts that --place names, in YAML as under hosts: of an experiment"},
			&cli.StringFlag{Name: "postgres", Usage: "your own database in place of the one that the lab starts, " + postgres.DSNForm + " as `DSN` (the password may come from PGPASSWORD); the lab makes the schema loomlab there, and leaves it"},
			&cli.BoolFlag{Name: "equal-rate", Usage: "end with an open-loop window of each SUT at 70 % of the weakest one's rate, where tails can be compared (default: with several forks)"},
			&cli.BoolFlag{Name: "quick", Usage: "one round, windows and warm-ups of 3 s (of stand-ins 1 s), the first two rungs"},
			&cli.StringFlag{Name: "scale", Usage: "multiply numbers of requests by a `FACTOR` such as 1/50; windows of time stay as they are"},
			&cli.BoolFlag{Name: "check", Usage: "exit with 3 when a claim of the experiment is refuted"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show the plan, the command lines and the time it takes; start nothing"},
			&cli.StringFlag{Name: "resume", Usage: "go on with an interrupted `RUN` (a directory, its name, or last) at its first missing cell, with its own settings"},
			&cli.StringFlag{Name: "out", Value: defaultRuns, Usage: "parent `FOLDER` of the run directory"},
			&cli.BoolFlag{Name: "json", Usage: "print {run, cells} as one JSON document, last; everything else goes to stderr"},
			&cli.BoolFlag{Name: "quiet", Usage: "no live view: one plain line a cell"},
		},
		Action: runExperiment,
	}
}

func runExperiment(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("run takes one experiment, not %d: unexpected %q", c.NArg(), c.Args().Get(1))
	}
	if c.IsSet("resume") {
		return resumeRun(c)
	}
	exp, err := experiment.Load(orDefault(c.Args().First(), "article"))
	if err != nil {
		return usagef("%w", err)
	}
	opts, err := runOptions(c)
	if err != nil {
		return err
	}
	host, jdks := machine(), findJDKs(c.Context)
	p, err := plan.New(exp, opts, planFacts(c.Context, host, jdks, opts))
	if err != nil {
		return usagef("%w", err)
	}
	if err := checkJDKFlags(p, opts); err != nil {
		return err
	}
	if c.Bool("check") && len(exp.Claims) == 0 {
		return usagef("--check: the experiment %s makes no claims", exp.Name)
	}
	if c.Bool("dry-run") {
		return p.WriteDryRun(c.App.Writer)
	}
	if p.Note != "" {
		fmt.Fprintf(c.App.ErrWriter, "note: %s\n", p.Note)
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(c.App.ErrWriter, "note: %s is skipped: %s\n", s.Name, s.Reason)
	}
	if err := checkOut(c.String("out")); err != nil {
		return err
	}
	if err := preflight(p, c.String("out"), c.App.ErrWriter); err != nil {
		return err
	}
	ctx, stopped := signalContext(c.Context)
	defer stopped.stop()
	hosts, err := prepare(ctx, p, jdks, c.App.ErrWriter, stopped)
	if err != nil {
		return err
	}
	defer hosts.Disconnect()
	started := time.Now().UTC()
	dir, err := record.Create(c.String("out"), p.Experiment.Name, started)
	if err != nil {
		return usagef("cannot make a run directory in %s: %w", c.String("out"), err)
	}
	run := record.Run{
		Schema: record.Schema, ID: dir.ID(), Version: version, Args: os.Args, Experiment: p.Experiment,
		Standins: p.Standins, Note: p.Note, Machine: host, Started: started, Order: p.ForkOrders(),
	}
	return conduct(ctx, c, p, hosts, dir, run, stopped)
}

// conduct runs the plan into dir, which it closes, and shows what came of it.
func conduct(ctx context.Context, c *cli.Context, p *plan.Plan, hosts *lab.Hosts, dir *record.Dir, run record.Run, stopped *signals) error {
	defer dir.Close()
	tty, width := report.Terminal(c.App.ErrWriter)
	view := report.NewLive(c.App.ErrWriter, tty && !c.Bool("quiet"), width, p.Experiment)
	view.Before(run.Starts, p.Before)
	view.Expect(len(p.Cells), (p.Estimate.Min+p.Estimate.Max)/2)
	_, runErr := lab.Run(ctx, p, hosts, dir, run, view)
	view.Done()
	closeErr := dir.Close()

	saved, err := record.Open(dir.Path())
	if err != nil {
		return failedf("the run cannot be read back: %w", err)
	}
	if err := showRun(c, saved, dir.Path()); err != nil {
		return failedf("%w", err)
	}
	writeRunPage(c, saved, dir.Path())
	switch status := stopped.status(); {
	case status != 0:
		return &statusError{code: status}
	case runErr != nil:
		return failedf("%w", runErr)
	case closeErr != nil:
		return failedf("%w", closeErr)
	case saved.Run.Status != "ok":
		return &statusError{code: exitFailed}
	case c.Bool("check"):
		return checkClaims(saved.Run.Claims)
	}
	return nil
}

// checkClaims asks for the exit status 3 where a claim is refuted.
func checkClaims(claims []record.ClaimResult) error {
	for _, claim := range claims {
		if claim.Outcome == record.Refuted {
			return &statusError{code: exitShown}
		}
	}
	return nil
}

// showRun prints the document or the table, and says where the run is kept.
func showRun(c *cli.Context, saved *record.Saved, path string) error {
	if c.Bool("json") {
		return saved.WriteJSON(c.App.Writer)
	}
	tty, width := report.Terminal(c.App.Writer)
	if err := report.Write(c.App.Writer, "table", saved, report.TextOptions{Width: width, Color: tty}); err != nil {
		return err
	}
	path = filepath.ToSlash(path)
	again := "last"
	if c.IsSet("out") {
		again = path
	}
	_, err := fmt.Fprintf(c.App.Writer, "\nkept in %s; `loomlab report %s` shows it again\n", path, again)
	if err == nil && saved.Run.Status == "interrupted" {
		_, err = fmt.Fprintf(c.App.Writer, "`loomlab run --resume %s` measures what is missing\n", again)
	}
	return err
}

// runOptions reads the flags that change the experiment.
func runOptions(c *cli.Context) (plan.Options, error) {
	opts := plan.Options{
		SUTs: c.StringSlice("sut"), Standins: c.Bool("standins"), JDK: c.StringSlice("jdk"), Boot: c.StringSlice("boot"), Quick: c.Bool("quick"),
		Memory: c.Bool("memory"), JFR: askedRung(c),
		EqualRate: given(c, "equal-rate", c.Bool),
		Postgres:  c.String("postgres"),
		Rounds:    given(c, "rounds", c.Int), Forks: given(c, "forks", c.Int), Path: given(c, "path", c.String),
		Duration: given(c, "duration", c.Duration), Delay: given(c, "delay", c.Duration), Timeout: given(c, "timeout", c.Duration),
	}
	var err error
	if c.IsSet("scale") {
		if opts.Scale, err = plan.ParseScale(c.String("scale")); err != nil {
			return opts, usagef("%w", err)
		}
	}
	if opts.Place, err = experiment.ParsePlaces(c.StringSlice("place")); err != nil {
		return opts, usagef("%w", err)
	}
	if c.IsSet("hosts") {
		if opts.Hosts, err = experiment.ReadHosts(c.String("hosts")); err != nil {
			return opts, usagef("--hosts: %w", err)
		}
	}
	if c.IsSet("connections") {
		if opts.Connections, err = plan.ParseConnections(c.String("connections")); err != nil {
			return opts, usagef("%w", err)
		}
	}
	if c.IsSet("warmup") {
		warmup, err := plan.ParseWarmup(c.String("warmup"))
		if err != nil {
			return opts, usagef("%w", err)
		}
		opts.Warmup = &warmup
	}
	return opts, nil
}

// askedRung is the rung of --jfr, nil where the command has no such flag or it was not given.
func askedRung(c *cli.Context) *int {
	if flag, ok := c.Generic("jfr").(*rungFlag); ok {
		return flag.rung
	}
	return nil
}

// checkJDKFlags refuses --jdk and --boot where they would change nothing: an
// option that is ignored measures something else than was asked for.
func checkJDKFlags(p *plan.Plan, opts plan.Options) error {
	jdk, boot := false, false
	for i := range p.SUTs {
		jdk, boot = jdk || p.SUTs[i].NeedsJDK(), boot || p.SUTs[i].NeedsBoot()
	}
	switch {
	case len(opts.JDK) > 0 && !jdk:
		return usagef("--jdk %s: none of the SUTs runs on a JDK that is chosen here (an app, or a command with {{jdk}})", opts.JDK[0])
	case len(opts.Boot) > 0 && !boot:
		return usagef("--boot %s: none of the SUTs is built with Spring Boot here", opts.Boot[0])
	}
	for _, version := range opts.Boot {
		if err := java.CheckBoot(version); err != nil {
			return err
		}
	}
	return nil
}

// given is the value of a flag that was set, else nil.
func given[T any](c *cli.Context, name string, get func(string) T) *T {
	if !c.IsSet(name) {
		return nil
	}
	v := get(name)
	return &v
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// signals cancels a context at the first signal and ends the program at the second.
type signals struct {
	ch     chan os.Signal
	cancel context.CancelCauseFunc
	got    chan syscall.Signal
}

// signalContext returns a context that ends at SIGINT, SIGTERM or SIGHUP. A
// second signal ends the program at once; the guards then end every child.
func signalContext(parent context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancelCause(parent)
	s := &signals{ch: make(chan os.Signal, 4), cancel: cancel, got: make(chan syscall.Signal, 1)}
	signal.Notify(s.ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		first := true
		for sig := range s.ch {
			number, _ := sig.(syscall.Signal)
			if !first {
				os.Exit(128 + int(number))
			}
			first = false
			s.got <- number
			cancel(fmt.Errorf("stopped by %v", sig))
		}
	}()
	return ctx, s
}

// status is the exit status that a signal asks for, or 0 without one.
func (s *signals) status() int {
	select {
	case number := <-s.got:
		s.got <- number
		return 128 + int(number)
	default:
		return 0
	}
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	s.cancel(nil)
}
