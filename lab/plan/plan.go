package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"loomlab/lab/experiment"
	"loomlab/lab/java"
	"loomlab/lab/record"
	"loomlab/probes"
)

// Facts is what a plan must know of the machine. A zero field is not known and
// constrains nothing.
type Facts struct {
	Self        string // path of the loomlab binary, which is most tiers
	Cores       int
	MemoryBytes int64
	FDLimit     int64 // descriptors that a process may open, hard limit
	LocalPorts  int   // size of the ephemeral range
	// Capacity is what else the machine has to give now, BusyCPUs how many of its
	// CPUs others use (below 0: not known) and DiskFree the bytes that the run
	// directory may grow by. See [Plan.Preflight].
	Capacity probes.Capacity
	BusyCPUs float64
	DiskFree int64
	// NetnsLacks says why no network namespace can be made, or "". Nil: not known.
	NetnsLacks func() string
	// NoApps says why no app can run here ("no JDK 21 or later was found"), or "".
	NoApps string
	// NoMaven says why no app can be built here, or "": what FindApps has can run.
	NoMaven string
	// FindJDK returns the home of the JDK that a SUT asks for ("" is the default
	// one). Nil leaves {{jdk}} as it is.
	FindJDK func(spec string) (home string, err error)
	// FindApps returns the folder of the jars that a SUT asks for by its JDK and
	// Boot version, or "" when they are not built. Nil finds none.
	FindApps func(s record.SUT) (dir string)
}

// Plan is an experiment as it will run on one machine: what, in which order,
// with which command lines, what that needs and how long it takes.
type Plan struct {
	// Experiment is resolved: every default filled in, the flags applied, its
	// SUTs those that run, in their order.
	Experiment record.Experiment
	Facts      Facts
	Standins   bool   // stand-ins run in place of SUTs of the experiment
	Note       string // why, when nobody asked for them
	SUTs       []SUT  // in the order of Experiment.SUTs
	Skipped    []SkippedSUT
	Cells      []CellKey // in the order in which they are measured
	// Before are the cells that an earlier part of a resumed run has kept; nil for
	// a run from its beginning.
	Before []record.Cell
	// Postgres is the database; nil where no SUT that runs uses one.
	Postgres *Postgres
	Needs    Needs
	Estimate Estimate

	// Addresses are those at which the machines of Hosts are reached, by their names,
	// once they are connected.
	Addresses map[string]string
}

// SUT is a SUT with its command line.
type SUT struct {
	record.SUT
	Kind    string
	JDKHome string // for apps; "" when not known
	// Apps is the folder of its jars; "" before they are built. Whoever builds them sets it.
	Apps string
	// Words is the command line with {{port}}, {{downstream}} and other
	// placeholders still in it; nil for a URL. See [PlannedSUT.Argv].
	Words []string
	// LoadCommand is the load generator that takes our engine's place, with its
	// placeholders; nil: our engine.
	LoadCommand []string
}

// SkippedSUT is a SUT of the experiment that does not run, and why.
type SkippedSUT struct{ Name, Reason string }

// CellKey names a cell. Fork and Round count from 1.
type CellKey struct {
	SUT         string
	Fork        int
	Connections int // of a closed loop; 0 in an open one
	Round       int
	Rate        float64 // offered by an open loop; 0 in a closed one
}

// Rung is the step of the ladder that the cell stands on.
func (k CellKey) Rung() record.Rung { return record.Rung{Connections: k.Connections, Rate: k.Rate} }

// New applies opts to exp and plans it for the machine. Its errors are
// mistakes of the caller (exit 2), one line each. exp is not changed.
func New(exp *record.Experiment, opts Options, machine Facts) (*Plan, error) {
	p := &Plan{Experiment: cloneExperiment(exp), Facts: machine}
	e := &p.Experiment
	if err := opts.apply(e); err != nil {
		return nil, err
	}
	suts, own, err := selectSUTs(e, opts.SUTs)
	if err != nil {
		return nil, err
	}
	e.SUTs = suts
	if err := opts.multiply(e, own, p.planned); err != nil {
		return nil, err
	}
	for _, s := range e.SUTs {
		if len(e.LoadOf(s.Name).Rungs()) == 0 {
			return nil, fmt.Errorf("%s has no ladder: in %s each SUT has its own; give --connections", s.Name, e.Name)
		}
	}
	p.lookForApps()
	if err := p.planSUTs(own, opts); err != nil {
		return nil, err
	}
	if err := p.planPostgres(opts.Postgres); err != nil {
		return nil, err
	}
	p.complete()
	return p, nil
}

// complete derives the rest once the SUTs are planned.
func (p *Plan) complete() {
	p.planCells()
	p.Needs = p.needs()
	p.Estimate = p.estimate()
}

// planSUTs resolves the SUTs, puts stand-ins in their places where asked or
// where no app can run, and builds the command lines.
func (p *Plan) planSUTs(own map[string]bool, opts Options) error {
	experiment.Resolve(&p.Experiment)
	var running []record.SUT
	for _, s := range p.Experiment.SUTs {
		planned := p.planned(s)
		standin := opts.Standins && own[s.Name]
		if planned.NeedsJDK() && (!standin || planned.tiersMention("jdk", "apps")) {
			why, err := p.findJDK(&planned, opts)
			if lacking := (*lackingJDK)(nil); errors.As(err, &lacking) && own[s.Name] {
				p.Skipped = append(p.Skipped, SkippedSUT{s.Name, lacking.Error()})
				continue
			}
			if err != nil {
				return err
			}
			if why != "" && !own[s.Name] {
				return fmt.Errorf("--sut %s cannot run: %s", s.Name, why)
			}
			if why != "" && planned.tiersMention("jdk", "apps") {
				p.Skipped = append(p.Skipped, SkippedSUT{s.Name, "its load or its downstream is a command that needs a JDK: " + why})
				continue
			}
			if why != "" {
				standin = true
				p.Note = why + "; the stand-ins run in place of the apps"
			}
		}
		if standin {
			p.Standins = true
			if s.Standin == nil {
				p.Skipped = append(p.Skipped, SkippedSUT{s.Name, "it has no stand-in"})
				continue
			}
			planned.standIn()
		}
		if err := errors.Join(p.checkReach(&planned), p.checkGenerators(&planned)); err != nil {
			return err
		}
		if why := p.placeLacks(planned); why != "" {
			p.Skipped = append(p.Skipped, SkippedSUT{s.Name, why})
			continue
		}
		if planned.NeedsApps() && p.Facts.FindApps != nil {
			planned.Apps = p.Facts.FindApps(planned.SUT)
		}
		planned.Words = p.words(&planned)
		running = append(running, planned.SUT)
		p.SUTs = append(p.SUTs, planned)
	}
	if len(running) == 0 {
		why := ""
		if p.Note != "" {
			why = p.Note + "; "
		}
		return fmt.Errorf("nothing to run: %s%s", why, p.skippedText())
	}
	p.Experiment.SUTs = running
	return nil
}

// planned is a SUT as it stands in the experiment.
func (p *Plan) planned(s record.SUT) SUT {
	planned := SUT{SUT: s, Kind: kindOf(s)}
	planned.LoadCommand = p.Load(planned).Command
	return planned
}

// findJDK sets the SUT's JDK. why is the reason for stand-ins, where no JDK was
// asked for by name: one that was, and is not there, is an error, a [lackingJDK]
// where the experiment's own file asks for it.
func (p *Plan) findJDK(s *SUT, opts Options) (why string, err error) {
	asked := s.JDK
	if p.Facts.NoApps != "" {
		if len(opts.JDK) > 0 || len(opts.Boot) > 0 {
			return "", fmt.Errorf("%s cannot run: %s", s.Name, p.Facts.NoApps)
		}
		return p.Facts.NoApps, nil
	}
	if p.Facts.FindJDK == nil {
		return "", nil
	}
	if p.Launcher(&s.SUT, record.TierSUT).Host != "" {
		return p.findCompiler(s, asked), nil
	}
	s.JDKHome, err = p.Facts.FindJDK(asked)
	switch {
	case err == nil:
		return "", nil
	case asked == "":
		return err.Error(), nil
	case len(opts.JDK) == 0:
		return "", &lackingJDK{err}
	}
	return "", fmt.Errorf("%s: %w", s.Name, err)
}

// findCompiler looks for a JDK here that builds apps for a SUT on another machine,
// whose own JDK is found there. Tiers that stay here run on this one.
func (p *Plan) findCompiler(s *SUT, asked string) (why string) {
	home, err := p.Facts.FindJDK(asked)
	if err != nil {
		home, err = p.Facts.FindJDK("")
	}
	if err != nil {
		return err.Error()
	}
	if s.tiersMention("jdk") {
		s.JDKHome = home
	}
	return ""
}

// placeLacks says why a SUT cannot have the place here that the experiment gives
// its tiers, or "".
func (p *Plan) placeLacks(s SUT) string {
	if cpus := p.placedCPUs(&s); len(s.Place) > 0 && p.Facts.Cores > 0 && cpus > p.Facts.Cores {
		return fmt.Sprintf("its tiers have places on %d CPUs (%s), and this machine has %d", cpus, experiment.PlaceText(s.Place), p.Facts.Cores)
	}
	if s.Netns == nil || p.Facts.NetnsLacks == nil {
		return ""
	}
	return p.Facts.NetnsLacks()
}

// lackingJDK says that the JDK which an experiment names for one of its SUTs is
// not there. The SUT is then left out, aloud: another JDK would be another
// experiment, and the other SUTs need not suffer.
type lackingJDK struct{ error }

// NeedsApps tells whether s, or a tier around it, runs from the build of testdata/apps.
func (s *SUT) NeedsApps() bool { return s.Kind == record.KindApp || s.mentions("apps") }

// NeedsBoot tells whether s is built with a Spring Boot version that can be chosen.
func (s *SUT) NeedsBoot() bool {
	return s.NeedsApps() && !slices.Contains(java.Contestants, s.App)
}

// NeedsJDK tells whether s, or a tier around it, runs on a JDK that is found for it.
func (s *SUT) NeedsJDK() bool { return s.NeedsApps() || s.mentions("jdk") }

func (s *SUT) mentions(placeholder string) bool {
	return s.Kind == record.KindCommand && (experiment.Mentions(s.Command, placeholder) || experiment.Mentions(s.Args, placeholder) || experiment.MentionsInEnv(s.Env, placeholder)) ||
		s.tiersMention(placeholder)
}

// tiersMention tells whether the load's or the downstream's command has one of
// the placeholders.
func (s *SUT) tiersMention(placeholders ...string) bool {
	return slices.ContainsFunc(placeholders, func(p string) bool {
		return experiment.Mentions(s.LoadCommand, p) || s.Downstream != nil && experiment.Mentions(s.Downstream.Command, p)
	})
}

// standIn makes s its stand-in: same name, the stand-in's limits, one call of
// the downstream a request, and nothing of the environment meant for the SUT.
func (s *SUT) standIn() {
	s.Kind = record.KindStandin
	s.Env = nil
	s.Limits = record.Limits{Workers: s.Standin.Workers}
	s.Calls, s.Fanout = nil, 0
	if s.Downstream != nil {
		one := 1.0
		s.Calls = &one
	}
}

func kindOf(s record.SUT) string {
	switch {
	case s.App != "":
		return record.KindApp
	case len(s.Command) > 0:
		return record.KindCommand
	}
	return record.KindURL
}

func (p *Plan) skippedText() string {
	reasons := make([]string, len(p.Skipped))
	for i, s := range p.Skipped {
		reasons[i] = s.Name + " is skipped, " + s.Reason
	}
	return strings.Join(reasons, "; ")
}

// planCells orders the windows: a fork of every SUT before the next fork, so
// that what drifts on the machine does not fall on one SUT alone. Where each
// rung has a process of its own, the SUTs take turns at every rung.
func (p *Plan) planCells() {
	e := &p.Experiment
	if e.Order == "" {
		e.Order = experiment.OrderListed
		if e.Forks > 1 {
			e.Order = experiment.OrderWilliams
		}
	}
	for fork, order := range p.ForkOrders() {
		for step := range p.steps() {
			for _, sut := range order {
				for _, rung := range p.rungsOf(sut, step) {
					for round := 1; round <= e.LoadOf(sut).Rounds; round++ {
						p.Cells = append(p.Cells, CellKey{sut, fork + 1, rung.Connections, round, rung.Rate})
					}
				}
			}
		}
	}
}

// steps is how many processes of a SUT climb its ladder in a fork.
func (p *Plan) steps() int {
	if p.Experiment.Isolate != experiment.IsolateRung {
		return 1
	}
	most := 0
	for _, s := range p.SUTs {
		most = max(most, len(p.Load(s).Rungs()))
	}
	return most
}

// rungsOf are those that one process of a SUT climbs.
func (p *Plan) rungsOf(sut string, step int) []record.Rung {
	rungs := p.Experiment.LoadOf(sut).Rungs()
	switch {
	case p.Experiment.Isolate != experiment.IsolateRung:
		return rungs
	case step < len(rungs):
		return rungs[step : step+1]
	}
	return nil // its ladder is shorter than another's
}

// Load is what a SUT gets.
func (p *Plan) Load(s SUT) *record.Load {
	if s.Load != nil {
		return s.Load
	}
	return &p.Experiment.Load
}

// Order returns the names of the SUTs as they stand side by side.
func (p *Plan) Order() []string { return p.Experiment.SUTNames() }

// ForkOrders returns the names of the SUTs as they will run, fork by fork.
func (p *Plan) ForkOrders() [][]string { return forkOrders(&p.Experiment) }
