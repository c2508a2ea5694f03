package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/netns"
	"loomlab/lab/phrase"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
)

// Ports that --dry-run shows. A run takes free ones below the ephemeral range.
const (
	examplePort           = 18080
	exampleDownstreamPort = 18090
	exampleGRPCPort       = 18091
	examplePostgresPort   = 18432
)

// WriteDryRun writes the plan for people: what runs in which order, each tier's
// command line as it can be pasted into a shell, what the machine must have, and
// the time with its arithmetic.
func (p *Plan) WriteDryRun(w io.Writer) error {
	var b strings.Builder
	e := p.Experiment
	if p.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", p.Note)
	}
	fmt.Fprintf(&b, "%s: %s\n", e.Name, e.Title)
	for _, s := range p.Skipped {
		fmt.Fprintf(&b, "skipped: %s, %s\n", s.Name, s.Reason)
	}
	p.writeLoads(&b)
	fmt.Fprintf(&b, "%s in all\n", phrase.Count(len(p.Cells), "cell"))
	p.writePlaces(&b)
	b.WriteString("\n")

	fmt.Fprintf(&b, "Command lines (ports are examples; a run takes free ones):\n")
	p.writePostgres(&b)
	shown := ""
	for _, s := range p.SUTs {
		address := p.shownAddress(&s, record.TierDownstream)
		downstream, grpc := HostPort(address, exampleDownstreamPort), HostPort(address, exampleGRPCPort)
		argv := p.DownstreamArgv(s.Downstream, downstream, grpc)
		if s.Downstream != nil && len(s.Downstream.Command) > 0 {
			var err error
			if argv, err = p.DownstreamCommand(s, experiment.Placeholders{"address": address, "port": fmt.Sprint(exampleDownstreamPort)}); err != nil {
				return err
			}
		}
		if argv != nil && record.JoinWords(argv) != shown {
			shown = record.JoinWords(argv) // most often one for all
			fmt.Fprintf(&b, "  # downstream\n  %s\n", shown)
		}
		if err := p.writeSUT(&b, s, experiment.Placeholders{"downstream": "http://" + downstream, "grpc": grpc}); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "\nneeds: %s\n", p.Needs)
	for _, u := range p.UnfitRungs() {
		fmt.Fprintf(&b, "skipped: %s\n", u)
	}
	fmt.Fprintf(&b, "time: %s\n", p.Estimate)
	for _, part := range p.Estimate.Parts {
		fmt.Fprintf(&b, "  %-11s %-32s %s\n", part.What, part.How, between(part.Min, part.Max))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLoads says who climbs which ladder, and how.
func (p *Plan) writeLoads(b *strings.Builder) {
	e := &p.Experiment
	shared := slices.ContainsFunc(p.SUTs, func(s SUT) bool { return s.Load == nil })
	if shared {
		fmt.Fprintf(b, "order: %s; each climbs %s; %s\n", p.orderText(), loadText(&e.Load), phrase.Count(e.Forks, "fork"))
	} else {
		fmt.Fprintf(b, "order: %s; %s\n", p.orderText(), phrase.Count(e.Forks, "fork"))
	}
	for _, s := range p.SUTs {
		if s.Load != nil {
			fmt.Fprintf(b, "load of %s: %s\n", s.Name, loadText(s.Load))
		}
	}
	if e.Scale > 0 {
		fmt.Fprintf(b, "scale: numbers of requests × %s\n", phrase.Number(e.Scale))
	}
}

// loadText is a load in a sentence: its ladder, warm-up, windows and targets.
func loadText(l *record.Load) string {
	rungs, unit := experiment.Ladder(l.Rungs()), "connections"
	if len(l.Rate) > 0 {
		rungs, unit = strings.ReplaceAll(rungs, "/s offered", ""), "requests offered a second"
	}
	warm := "without warm-up"
	if l.Warmup.Max > 0 {
		warm = "after " + between(time.Duration(l.Warmup.Min), time.Duration(l.Warmup.Max)) + " of warm-up"
	}
	text := fmt.Sprintf("%s %s %s, %s of %s a rung", rungs, unit, warm, phrase.Count(l.Rounds, "window"), l.Window())
	var targets []string
	total := 0.0
	for _, t := range l.Targets {
		total += t.Weight
	}
	for _, t := range l.Targets {
		targets = append(targets, phrase.Percent(t.Weight/total)+" "+t.Path)
	}
	if targets != nil {
		text += ", " + strings.Join(targets, " and ")
	}
	return text
}

// writePostgres writes where the database comes from, and the command line of
// one that the lab starts.
func (p *Plan) writePostgres(b *strings.Builder) {
	switch pg := p.Postgres; {
	case pg == nil:
	case pg.DSN != nil:
		fmt.Fprintf(b, "  # postgres: %s, where the schema %s is made with %d users and %d orders, and stays\n", pg.DSN, postgres.Schema, pg.Users, pg.Orders)
	default:
		fmt.Fprintf(b, "  # postgres (%s), made by initdb and seeded with %d users and %d orders for every start of a SUT\n", pg.From(), pg.Users, pg.Orders)
		home := pg.Home
		if home == "" {
			home = "PROGRAMS"
		}
		fmt.Fprintf(b, "  %s\n", record.JoinWords(pg.Argv(home, "FOLDER", examplePostgresPort)))
	}
}

// orderText says in which order the SUTs run, fork by fork where that differs.
func (p *Plan) orderText() string {
	if p.Experiment.Order == experiment.OrderListed {
		return strings.Join(p.Order(), ", ")
	}
	var forks []string
	for i, order := range p.ForkOrders() {
		forks = append(forks, fmt.Sprintf("fork %d %s", i+1, strings.Join(order, ", ")))
	}
	how := p.Experiment.Order
	if how == experiment.OrderRandom {
		how += fmt.Sprintf(" by seed %d", p.Experiment.Seed)
	}
	return how + ": " + strings.Join(forks, "; ")
}

// writeSUT writes a SUT's command line and that of its first window of load.
func (p *Plan) writeSUT(b *strings.Builder, s SUT, values experiment.Placeholders) error {
	values["address"], values["port"] = p.shownAddress(&s, record.TierSUT), fmt.Sprint(examplePort)
	values["run_dir"] = "."
	maps.Copy(values, p.Postgres.example())
	argv, env, err := s.Argv(values.Masked())
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "  # %s (%s%s)\n", s.Name, s.Kind, p.whereText(s))
	if len(argv) > 0 {
		b.WriteString("  ")
		for _, key := range slices.Sorted(maps.Keys(env)) {
			fmt.Fprintf(b, "%s=%s ", key, record.QuoteWord(env[key]))
		}
		fmt.Fprintf(b, "%s\n", record.JoinWords(argv))
	}
	first := p.Load(s).Rungs()[0]
	base := s.BaseURL(HostPort(values["address"], examplePort))
	if s.LoadCommand != nil {
		load, err := p.LoadCommandArgv(s, base, first, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "  %s\n", record.JoinWords(load))
		return nil
	}
	places := p.Generators(&s.SUT, first)
	for i, place := range places {
		if len(places) > 1 {
			fmt.Fprintf(b, "  # generator %d of %d, at %v; the lab gives it the word on its stdin\n", i+1, len(places), place)
		}
		fmt.Fprintf(b, "  %s\n", record.JoinWords(OfGenerator(p.EngineArgv(s, base, first, false), i, len(places))))
	}
	return nil
}

// whereText says where the tiers of a SUT run, as far as it is not where all do.
func (p *Plan) whereText(s SUT) string {
	text := ""
	if s.Netns != nil {
		text += "; network namespace " + netns.Text(s.Netns)
	}
	if len(s.Place) > 0 {
		text += "; " + experiment.PlaceText(s.Place)
	}
	return text
}
