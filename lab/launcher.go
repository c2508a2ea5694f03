package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
	"loomlab/probes"
)

// Tiers are the names by which launchers, probes and logs know the tiers.
var Tiers = []string{"load", "sut", "downstream", "postgres"}

// Launcher says where a tier runs. It turns the command line of a tier into the
// one that starts it there, always with a guard around it; whatever comes
// later, such as another machine, is one more prefix.
type Launcher struct {
	cpus  string // list of CPUs, such as "0-1"; "": all of this machine
	netns string // file of a network namespace; "": the lab's own
}

// LauncherGrammar explains [ParseLauncher] to users.
const LauncherGrammar = "local (here, on any CPU), cpus:LIST (here, on these CPUs only, such as cpus:0-1,3) or netns:NAME (here, in a network namespace of this name, made with ip netns add)"

// ParseLauncher reads "local", "cpus:LIST" or "netns:NAME".
func ParseLauncher(text string) (Launcher, error) {
	kind, arg, _ := strings.Cut(text, ":")
	switch {
	case text == "local":
		return Launcher{}, nil
	case kind == "cpus":
		if _, err := probes.ParseCPUList(arg); err != nil {
			return Launcher{}, fmt.Errorf("launcher %q: %w", text, err)
		}
		return Launcher{cpus: arg}, nil
	case kind == "netns":
		if arg == "" || arg == "." || arg == ".." || strings.ContainsAny(arg, "/\x00") {
			return Launcher{}, fmt.Errorf("launcher %q: %q is no name of a network namespace", text, arg)
		}
		return Launcher{netns: namedNetns + arg}, nil
	}
	return Launcher{}, fmt.Errorf("unknown launcher %q; it is %s", text, LauncherGrammar)
}

// guarded is the command line that starts argv behind a guard of self, which
// gets the options besides.
func (l Launcher) guarded(self, grace string, argv []string, options ...string) []string {
	line := append([]string{self, "guard", "--grace", grace}, options...)
	if l.cpus != "" {
		line = append(line, "--cpus", l.cpus)
	}
	if l.netns != "" {
		line = append(line, "--netns", l.netns)
	}
	return append(append(line, "--"), argv...)
}

// ParsePlaces reads values of --place, TIER=LAUNCHER.
func ParsePlaces(values []string) (map[string]string, error) {
	places := map[string]string{}
	for _, value := range values {
		tier, launcher, _ := strings.Cut(value, "=")
		if _, twice := places[tier]; twice {
			return nil, fmt.Errorf("--place %s: %s has a place already", value, tier)
		}
		if err := checkPlace(tier, launcher); err != nil {
			return nil, fmt.Errorf("--place %s: %w", value, err)
		}
		places[tier] = launcher
	}
	return places, nil
}

// checkPlace says what is wrong with one place.
func checkPlace(tier, launcher string) error {
	if !slices.Contains(Tiers, tier) {
		return fmt.Errorf("%q is no tier; want TIER=LAUNCHER with one of %s", tier, strings.Join(Tiers, ", "))
	}
	_, err := ParseLauncher(launcher)
	return err
}

// checkPlaces says what is wrong with the first wrong place of an experiment.
func checkPlaces(places map[string]string) error {
	for _, tier := range slices.Sorted(maps.Keys(places)) {
		if err := checkPlace(tier, places[tier]); err != nil {
			return err
		}
	}
	return nil
}

// launcher is where a tier of the plan runs around a SUT: as the SUT says, else
// the experiment.
func (p *Plan) launcher(s *record.SUT, tier string) Launcher {
	text, own := s.Place[tier]
	if !own {
		text = p.Experiment.Place[tier]
	}
	l, err := ParseLauncher(text)
	if err != nil {
		return Launcher{} // no place: here. Wrong ones did not pass the checks.
	}
	return l
}

// checkReach says what keeps the tiers around a SUT from one another: they talk
// over loopback, which every network namespace has for itself.
func (p *Plan) checkReach(s *PlannedSUT) error {
	load := p.launcher(&s.SUT, record.TierLoad)
	for _, tier := range Tiers {
		l := p.launcher(&s.SUT, tier)
		switch {
		case s.Netns != nil && l.netns != "":
			return fmt.Errorf("%s: netns: makes a network namespace for its tiers, and place: puts the %s into %s; want one of them", s.Name, tier, l.netns)
		case s.Kind == KindURL || tier == record.TierDownstream && s.Downstream == nil, tier == record.TierPostgres && !s.UsesPostgres():
			// nobody here talks to it
		case l.netns != load.netns:
			return fmt.Errorf("%s: the load runs in %s and the %s in %s, where it cannot be reached over loopback; place both in one network namespace",
				s.Name, netnsName(load.netns), tier, netnsName(l.netns))
		}
	}
	if s.Kind == KindURL && s.Netns != nil {
		return fmt.Errorf("%s: a server that already runs cannot be reached from the network namespace that netns: makes for a run", s.Name)
	}
	return nil
}

// placeText says in words where tiers run.
func placeText(places map[string]string) string {
	var parts []string
	for _, tier := range slices.Sorted(maps.Keys(places)) {
		parts = append(parts, tier+" at "+places[tier])
	}
	return strings.Join(parts, ", ")
}

func netnsName(path string) string {
	if path == "" {
		return "the lab's own network namespace"
	}
	return "network namespace " + strings.TrimPrefix(path, namedNetns)
}
