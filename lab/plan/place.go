package plan

import (
	"cmp"
	"fmt"

	"loomlab/lab/experiment"
	"loomlab/lab/netns"
	"loomlab/lab/record"
)

// Launcher is where a tier of the plan runs around a SUT: as the SUT says, else
// the experiment. Of a load in several places it is the first.
func (p *Plan) Launcher(s *record.SUT, tier string) experiment.Launcher {
	return p.Launchers(s, tier)[0]
}

// Launchers are all the places of a tier; at least one. Only the load has several.
func (p *Plan) Launchers(s *record.SUT, tier string) []experiment.Launcher {
	text, own := s.Place[tier]
	if !own {
		text = p.Experiment.Place[tier]
	}
	places, err := experiment.ParseLaunchers(text, p.Experiment.Hosts)
	if err != nil {
		return []experiment.Launcher{{}} // no place: here. Wrong ones did not pass the checks.
	}
	return places
}

// Host is what is known of a machine that a launcher names: ssh:HOST needs no
// entry among the experiment's hosts.
func (p *Plan) Host(name string) record.Host {
	if h, named := p.Experiment.Hosts[name]; named {
		return h
	}
	return record.Host{SSH: name}
}

// checkReach says what keeps the tiers around a SUT from one another: on one
// machine they talk over loopback, which every network namespace has for itself.
func (p *Plan) checkReach(s *SUT) error {
	load := p.Launcher(&s.SUT, record.TierLoad)
	away := p.Away(&s.SUT)
	for _, tier := range experiment.Tiers {
		for _, l := range p.Launchers(&s.SUT, tier) {
			switch {
			case s.Netns != nil && l.Netns != "":
				return fmt.Errorf("%s: netns: makes a network namespace for its tiers, and place: puts the %s into %s; want one of them", s.Name, tier, l.Netns)
			case away != "" && (s.Netns != nil || l.Netns != ""):
				return fmt.Errorf("%s: the %s runs in %s, where nobody on %s can reach it", s.Name, tier, cmp.Or(inWords(l.Netns), "a network namespace of its own"), away)
			case s.Kind == record.KindURL || tier == record.TierDownstream && s.Downstream == nil, tier == record.TierPostgres && !s.UsesPostgres():
				// nobody here talks to it
			case l.Netns != load.Netns:
				return fmt.Errorf("%s: the load runs in %s and the %s in %s, where it cannot be reached over loopback; place both in one network namespace",
					s.Name, netns.Name(load.Netns), tier, netns.Name(l.Netns))
			}
		}
	}
	if s.Kind == record.KindURL && s.Netns != nil {
		return fmt.Errorf("%s: a server that already runs cannot be reached from the network namespace that netns: makes for a run", s.Name)
	}
	return nil
}

// Away is the first other machine on which a tier around a SUT runs; "": none.
func (p *Plan) Away(s *record.SUT) string {
	for _, tier := range experiment.Tiers {
		for _, l := range p.Launchers(s, tier) {
			if l.Host != "" {
				return l.Host
			}
		}
	}
	return ""
}

// inWords names a network namespace that has a name.
func inWords(path string) string {
	if path == "" {
		return ""
	}
	return netns.Name(path)
}
