package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"loomlab/lab/experiment"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// planFlags are those of run that change the plan, which doctor takes too.
var planFlags = []string{"sut", "connections", "rounds", "forks", "duration", "standins", "jdk", "boot", "quick", "out"}

func doctorCommand() *cli.Command {
	command := &cli.Command{
		Name: "doctor", Category: helpMeasure,
		Usage:     "tell whether this machine can hold an experiment, and what helps where it cannot",
		ArgsUsage: "[EXPERIMENT | FILE.yaml]",
		Description: "Computes from the plan what each rung takes: descriptors of each tier, local ports, memory; and looks at the accept queue, cores, other load, disk, JDK and jars. It changes nothing. `loomlab run` makes the same check, skips the rungs that do not fit and measures the others. Without an argument or a flag it goes through all experiments. Flags are those of run.\n" +
			"\n" +
			"Examples:\n" +
			"  loomlab doctor                                  # all experiments, a line and its faults each\n" +
			"  loomlab doctor article --connections 20000      # would so many connections fit here?\n" +
			"\n" +
			"Exit status:\n" +
			"  0  everything fits\n" +
			"  1  something does not; the lines with → say what helps\n" +
			"  2  usage",
		Action: runDoctor,
	}
	for _, f := range runCommand().Flags {
		if slices.Contains(planFlags, f.Names()[0]) {
			command.Flags = append(command.Flags, f)
		}
	}
	command.Flags = append(command.Flags, &cli.BoolFlag{Name: "json", Usage: "print one JSON document"})
	return command
}

// diagnosis is what `loomlab doctor` shows, and its JSON.
type diagnosis struct {
	Machine     record.Machine `json:"machine"`
	Experiments []examined     `json:"experiments"`
	Fits        bool           `json:"fits"`
}

// examined is one experiment against this machine.
type examined struct {
	Name   string       `json:"name"`
	Title  string       `json:"title"`
	Time   listedTime   `json:"time"`
	Checks []plan.Check `json:"checks"`
	Rungs  []plan.Rung  `json:"rungs"`
	Unfit  []plan.Unfit `json:"unfit"` // rungs that a run skips
	Fits   bool         `json:"fits"`
}

func runDoctor(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("doctor takes one experiment, not %d: unexpected %q", c.NArg(), c.Args().Get(1))
	}
	opts, err := runOptions(c)
	if err != nil {
		return err
	}
	names := []string{orDefault(c.Args().First(), "article")}
	changed := func(name string) bool { return name != "out" && c.IsSet(name) }
	if !c.Args().Present() && !slices.ContainsFunc(planFlags, changed) {
		names = experiment.Builtins()
	}
	host, jdks := machine(), findJDKs(c.Context)
	facts := factsNow(planFacts(c.Context, host, jdks, opts), c.String("out"))
	d := diagnosis{Machine: host, Experiments: []examined{}, Fits: true}
	for _, name := range names {
		exp, err := experiment.Load(name)
		if err != nil {
			return usagef("%w", err)
		}
		p, err := plan.New(exp, opts, facts)
		if err != nil {
			return usagef("%w", err)
		}
		if len(names) == 1 {
			if err := checkJDKFlags(p, opts); err != nil {
				return err
			}
		}
		e := examine(p)
		d.Experiments = append(d.Experiments, e)
		d.Fits = d.Fits && e.Fits
	}
	if c.Bool("json") {
		enc := json.NewEncoder(c.App.Writer)
		enc.SetIndent("", "  ")
		err = enc.Encode(d)
	} else {
		err = d.write(c.App.Writer, len(names) == 1)
	}
	if err == nil && !d.Fits {
		err = &statusError{code: exitFailed}
	}
	return err
}

func examine(p *plan.Plan) examined {
	e := examined{
		Name: p.Experiment.Name, Title: p.Experiment.Title, Time: listTime(p.Estimate),
		Checks: p.Preflight(), Rungs: p.Rungs(), Unfit: p.UnfitRungs(),
	}
	if e.Unfit == nil {
		e.Unfit = []plan.Unfit{}
	}
	e.Fits = len(e.Unfit) == 0 && !slices.ContainsFunc(e.Checks, func(c plan.Check) bool { return c.Status == plan.CheckLacking })
	return e
}

// checkMarks stand before the lines of checks.
var checkMarks = map[string]string{plan.CheckOK: "✓", plan.CheckNote: "!", plan.CheckLacking: "✗"}

// write shows one experiment in full, or a line and its faults of each.
func (d diagnosis) write(w io.Writer, full bool) error {
	var b strings.Builder
	m := d.Machine
	fmt.Fprintf(&b, "this machine: %d cores, %d MiB of memory, %s %s, kernel %s\n", m.Cores, m.MemoryBytes>>20, m.OS, m.Arch, m.Kernel)
	for _, e := range d.Experiments {
		b.WriteString("\n")
		e.write(&b, full)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e examined) write(b *strings.Builder, full bool) {
	verdict := "fits"
	if !e.Fits {
		verdict = "does not fit as it is"
	}
	fmt.Fprintf(b, "%s: %s, takes %s\n", e.Name, verdict, e.Time.Text)
	for _, c := range e.Checks {
		if !full && c.Status == plan.CheckOK {
			continue
		}
		fmt.Fprintf(b, "  %s %-12s  %s\n", checkMarks[c.Status], c.What, c.Text)
		if c.Remedy != "" {
			fmt.Fprintf(b, "  %14s  → %s\n", "", c.Remedy)
		}
	}
	if full {
		b.WriteString("\n")
		e.writeRungs(b)
	}
	for _, u := range e.Unfit {
		fmt.Fprintf(b, "  ✗ %s at %d will be skipped: %s\n", u.SUT, u.Connections, u.Reason)
	}
}

// writeRungs shows what each rung takes, as a table.
func (e examined) writeRungs(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "connections\tload fds\tSUT fds\tdownstream fds\tlocal ports\tmemory\t")
	for _, r := range e.Rungs {
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%d\t%d MiB\t\n", r.Connections, r.LoadFDs, orNone(r.SUTFDs), orNone(r.DownFDs), r.LocalPorts, r.MemoryBytes>>20)
	}
	_ = t.Flush() // a strings.Builder takes everything
}

func orNone(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}
