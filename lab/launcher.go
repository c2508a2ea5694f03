package lab

import (
	"cmp"
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
// one that starts it there, always with a guard around it. On another machine
// the guard is that machine's own: see [record.Host].
type Launcher struct {
	cpus  string // list of CPUs, such as "0-1"; "": all of the machine
	netns string // file of a network namespace; "": the lab's own
	host  string // name of another machine, a key of the experiment's hosts; "": this one
	site  *site  // the connection to host; nil before there is one
}

// LauncherGrammar explains launchers to users.
const LauncherGrammar = "local (here, on any CPU), cpus:LIST (here, on these CPUs only, such as cpus:0-1,3), " +
	"netns:NAME (here, in a network namespace of this name, made with ip netns add), ssh:HOST (there, as ssh knows it) or the name of one of the experiment's hosts"

// parseLauncher reads "local", "cpus:LIST", "netns:NAME", "ssh:HOST" or the name
// of one of hosts.
func parseLauncher(text string, hosts map[string]record.Host) (Launcher, error) {
	kind, arg, _ := strings.Cut(text, ":")
	switch {
	case text == localHost:
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
	case kind == "ssh":
		if problem := checkDestination(arg); problem != "" {
			return Launcher{}, fmt.Errorf("launcher %q: %s", text, problem)
		}
		if h, named := hosts[arg]; named && h.SSH == "" {
			return Launcher{}, fmt.Errorf("launcher %q: the host %s is reached by a command, not by ssh; its launcher is %s", text, arg, arg)
		}
		return Launcher{host: arg, cpus: hosts[arg].CPUs}, nil
	}
	if h, named := hosts[text]; named {
		return Launcher{host: text, cpus: h.CPUs}, nil
	}
	known := ""
	if names := slices.Sorted(maps.Keys(hosts)); names != nil {
		known = didYouMean(text, names) + " (hosts are " + strings.Join(names, ", ") + ")"
	}
	return Launcher{}, fmt.Errorf("unknown launcher %q%s; it is %s", text, known, LauncherGrammar)
}

// parseLaunchers reads one launcher, or several with commas between. After
// ssh:HOST the names of more hosts may follow without ssh:, as in ssh:a,b.
func parseLaunchers(text string, hosts map[string]record.Host) ([]Launcher, error) {
	var list []Launcher
	for _, word := range splitLaunchers(text, hosts) {
		l, err := parseLauncher(word, hosts)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// splitLaunchers cuts a list of launchers at its commas, but for those of a list
// of CPUs.
func splitLaunchers(text string, hosts map[string]record.Host) []string {
	var words []string
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		last := len(words) - 1
		_, named := hosts[word]
		switch kind, _, _ := strings.Cut(strings.Join(words[max(0, last):], ""), ":"); {
		case named || word == localHost || strings.Contains(word, ":"):
		case kind == "cpus":
			words[last] += "," + word
			continue
		case kind == "ssh" && word != "":
			word = "ssh:" + word
		}
		words = append(words, word)
	}
	return words
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

// ParsePlaces reads values of --place, TIER=LAUNCHER, of which the load may have
// several with commas between. Whether the launchers are right shows when
// [NewPlan] knows the hosts.
func ParsePlaces(values []string) (map[string]string, error) {
	places := map[string]string{}
	for _, value := range values {
		tier, launchers, _ := strings.Cut(value, "=")
		if _, twice := places[tier]; twice {
			return nil, fmt.Errorf("--place %s: %s has a place already", value, tier)
		}
		if err := checkTier(tier); err != nil {
			return nil, fmt.Errorf("--place %s: %w", value, err)
		}
		places[tier] = launchers
	}
	return places, nil
}

func checkTier(tier string) error {
	if slices.Contains(Tiers, tier) {
		return nil
	}
	return fmt.Errorf("%q is no tier%s; want TIER=LAUNCHER with one of %s", tier, didYouMean(tier, Tiers), strings.Join(Tiers, ", "))
}

// checkPlace says what is wrong with the place of one tier.
func checkPlace(tier, text string, hosts map[string]record.Host) error {
	if err := checkTier(tier); err != nil {
		return err
	}
	launchers, err := parseLaunchers(text, hosts)
	switch {
	case err != nil:
		return err
	case len(launchers) > 1 && tier != record.TierLoad:
		return fmt.Errorf("%s has %d places (%s); only the load can be in several", tier, len(launchers), text)
	case tier == record.TierPostgres && launchers[0].host != "":
		return fmt.Errorf("the lab's own PostgreSQL runs here only; start one on %s and give its --postgres DSN", launchers[0].host)
	}
	return nil
}

// checkPlaces says what is wrong with the first wrong place of an experiment.
func checkPlaces(places map[string]string, hosts map[string]record.Host) error {
	for _, tier := range slices.Sorted(maps.Keys(places)) {
		if err := checkPlace(tier, places[tier], hosts); err != nil {
			return err
		}
	}
	return nil
}

// launcher is where a tier of the plan runs around a SUT: as the SUT says, else
// the experiment. Of a load in several places it is the first.
func (p *Plan) launcher(s *record.SUT, tier string) Launcher { return p.launchers(s, tier)[0] }

// launchers are all the places of a tier; at least one. Only the load has several.
func (p *Plan) launchers(s *record.SUT, tier string) []Launcher {
	text, own := s.Place[tier]
	if !own {
		text = p.Experiment.Place[tier]
	}
	l, err := parseLaunchers(text, p.Experiment.Hosts)
	if err != nil {
		return []Launcher{{}} // no place: here. Wrong ones did not pass the checks.
	}
	for i := range l {
		l[i].site = p.sites[l[i].host]
	}
	return l
}

// host is what is known of a machine that a launcher names: ssh:HOST needs no
// entry among the experiment's hosts.
func (p *Plan) host(name string) record.Host {
	if h, named := p.Experiment.Hosts[name]; named {
		return h
	}
	return record.Host{SSH: name}
}

// checkReach says what keeps the tiers around a SUT from one another: on one
// machine they talk over loopback, which every network namespace has for itself.
func (p *Plan) checkReach(s *PlannedSUT) error {
	load := p.launcher(&s.SUT, record.TierLoad)
	away := p.away(&s.SUT)
	for _, tier := range Tiers {
		for _, l := range p.launchers(&s.SUT, tier) {
			switch {
			case s.Netns != nil && l.netns != "":
				return fmt.Errorf("%s: netns: makes a network namespace for its tiers, and place: puts the %s into %s; want one of them", s.Name, tier, l.netns)
			case away != "" && (s.Netns != nil || l.netns != ""):
				return fmt.Errorf("%s: the %s runs in %s, where nobody on %s can reach it", s.Name, tier, cmp.Or(inWords(l.netns), "a network namespace of its own"), away)
			case s.Kind == KindURL || tier == record.TierDownstream && s.Downstream == nil, tier == record.TierPostgres && !s.UsesPostgres():
				// nobody here talks to it
			case l.netns != load.netns:
				return fmt.Errorf("%s: the load runs in %s and the %s in %s, where it cannot be reached over loopback; place both in one network namespace",
					s.Name, netnsName(load.netns), tier, netnsName(l.netns))
			}
		}
	}
	if s.Kind == KindURL && s.Netns != nil {
		return fmt.Errorf("%s: a server that already runs cannot be reached from the network namespace that netns: makes for a run", s.Name)
	}
	return nil
}

// away is the first other machine on which a tier around a SUT runs; "": none.
func (p *Plan) away(s *record.SUT) string {
	for _, tier := range Tiers {
		for _, l := range p.launchers(s, tier) {
			if l.host != "" {
				return l.host
			}
		}
	}
	return ""
}

// placeText says in words where tiers run.
func placeText(places map[string]string) string {
	var parts []string
	for _, tier := range slices.Sorted(maps.Keys(places)) {
		parts = append(parts, tier+" at "+places[tier])
	}
	return strings.Join(parts, ", ")
}

// inWords names a network namespace that has a name.
func inWords(path string) string {
	if path == "" {
		return ""
	}
	return netnsName(path)
}

func netnsName(path string) string {
	if path == "" {
		return "the lab's own network namespace"
	}
	return "network namespace " + strings.TrimPrefix(path, namedNetns)
}
