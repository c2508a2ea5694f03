package lab

import (
	"context"
	"fmt"

	"loomlab/lab/experiment"
	"loomlab/lab/guard"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// Hosts are the other machines that the tiers of a run are on, connected. The nil
// one has none.
type Hosts struct {
	sites map[string]*site // by their names in the experiment
}

// Connect connects to the hosts of the plan, and puts there what its tiers need. It
// is to be called once the apps are built. What it opens [Hosts.Disconnect] closes;
// after an error nothing is left open. progress gets a line for each thing that takes
// its time. The plan learns at which addresses the hosts are reached.
func Connect(ctx context.Context, p *plan.Plan, progress func(string)) (h *Hosts, err error) {
	guard.BecomeSubreaper()
	h = &Hosts{sites: map[string]*site{}}
	defer func() {
		if err != nil {
			h.Disconnect()
			h = nil
		}
	}()
	p.Addresses = map[string]string{}
	for _, name := range p.Hosts() {
		s, err := connect(ctx, name, p.Host(name), progress)
		if err != nil {
			return h, err
		}
		h.sites[name], p.Addresses[name] = s, s.address
	}
	for i := range p.SUTs {
		if err := h.furnish(ctx, p, &p.SUTs[i], progress); err != nil {
			return h, fmt.Errorf("%s: %w", p.SUTs[i].Name, err)
		}
	}
	return h, nil
}

// furnish puts a SUT's jars where its tiers run, and finds JDKs there.
func (h *Hosts) furnish(ctx context.Context, p *plan.Plan, s *plan.SUT, progress func(string)) error {
	words := map[string][]string{record.TierLoad: s.LoadCommand, record.TierSUT: s.Words}
	if s.Downstream != nil {
		words[record.TierDownstream] = s.Downstream.Command
	}
	for _, tier := range []string{record.TierSUT, record.TierDownstream, record.TierLoad} {
		for _, l := range h.launchers(p.Launchers(&s.SUT, tier)) {
			if l.site == nil {
				continue
			}
			if most, limit := p.MostDescriptors(s, tier), l.site.facts.FDLimit; limit > 0 && int64(most) > limit {
				progress(fmt.Sprintf("note: a process may open %d descriptors on %s, and the %s takes up to %d; raise the limit of the login there (ulimit -Hn)", limit, l.site.name, tier, most))
			}
			mentions := func(placeholder string) bool {
				return experiment.Mentions(words[tier], placeholder) || tier == record.TierSUT && experiment.MentionsInEnv(s.Env, placeholder)
			}
			if mentions("apps") {
				if _, err := l.site.copyFolder(ctx, s.Apps, progress); err != nil {
					return err
				}
			}
			if mentions("run_dir") && l.site.scratch == "" {
				var folder folderAnswer
				if err := l.site.ask(ctx, askLimit, "scratch", nothing{}, &folder); err != nil {
					return err
				}
				l.site.scratch = folder.Path
			}
			if mentions("jdk") {
				if _, err := l.site.jdk(ctx, s.JDK); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Disconnect ends the probes on other machines, and with them every tier there.
func (h *Hosts) Disconnect() {
	if h == nil {
		return
	}
	for _, s := range h.sites {
		s.close()
		s.forget()
	}
	h.sites = nil
}

// launchers are places with the ways there.
func (h *Hosts) launchers(places []experiment.Launcher) []launcher {
	all := make([]launcher, len(places))
	for i, place := range places {
		all[i].Launcher = place
		if h != nil {
			all[i].site = h.sites[place.Host]
		}
	}
	return all
}

// record is what a run's record keeps of the plan's other machines.
func (h *Hosts) record(p *plan.Plan) []record.HostRun {
	var all []record.HostRun
	for _, name := range p.Hosts() {
		if h != nil && h.sites[name] != nil {
			all = append(all, h.sites[name].record())
		}
	}
	return all
}

// launcher is where a tier of a run goes, with the way there.
type launcher struct {
	experiment.Launcher
	site *site // the connection to its host; nil: here
}

// guarded is the command line that starts argv behind a guard of self, which
// gets the options besides.
func (l launcher) guarded(self, grace string, argv []string, options ...string) []string {
	line := append([]string{self, "guard", "--grace", grace}, options...)
	if l.CPUs != "" {
		line = append(line, "--cpus", l.CPUs)
	}
	if l.Netns != "" {
		line = append(line, "--netns", l.Netns)
	}
	return append(append(line, "--"), argv...)
}
