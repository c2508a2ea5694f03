package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/netns"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
	"loomlab/probes"
)

// Tiers are the names by which launchers, probes and logs know the tiers.
var Tiers = []string{"load", "sut", "downstream", "postgres"}

// Launcher says where a tier runs. It turns the command line of a tier into the
// one that starts it there, always with a guard around it. On another machine
// the guard is that machine's own: see [record.Host].
type Launcher struct {
	CPUs  string // list of CPUs, such as "0-1"; "": all of the machine
	Netns string // file of a network namespace; "": the lab's own
	Host  string // name of another machine, a key of the experiment's hosts; "": this one
}

// LauncherGrammar explains launchers to users.
const LauncherGrammar = "local (here, on any CPU), cpus:LIST (here, on these CPUs only, such as cpus:0-1,3), " +
	"netns:NAME (here, in a network namespace of this name, made with ip netns add), ssh:HOST (there, as ssh knows it) or the name of one of the experiment's hosts"

// ParseLauncher reads "local", "cpus:LIST", "netns:NAME", "ssh:HOST" or the name
// of one of hosts.
func ParseLauncher(text string, hosts map[string]record.Host) (Launcher, error) {
	kind, arg, _ := strings.Cut(text, ":")
	switch {
	case text == LocalHost:
		return Launcher{}, nil
	case kind == "cpus":
		if _, err := probes.ParseCPUList(arg); err != nil {
			return Launcher{}, fmt.Errorf("launcher %q: %w", text, err)
		}
		return Launcher{CPUs: arg}, nil
	case kind == "netns":
		if arg == "" || arg == "." || arg == ".." || strings.ContainsAny(arg, "/\x00") {
			return Launcher{}, fmt.Errorf("launcher %q: %q is no name of a network namespace", text, arg)
		}
		return Launcher{Netns: netns.Folder + arg}, nil
	case kind == "ssh":
		if problem := checkDestination(arg); problem != "" {
			return Launcher{}, fmt.Errorf("launcher %q: %s", text, problem)
		}
		if h, named := hosts[arg]; named && h.SSH == "" {
			return Launcher{}, fmt.Errorf("launcher %q: the host %s is reached by a command, not by ssh; its launcher is %s", text, arg, arg)
		}
		return Launcher{Host: arg, CPUs: hosts[arg].CPUs}, nil
	}
	if h, named := hosts[text]; named {
		return Launcher{Host: text, CPUs: h.CPUs}, nil
	}
	known := ""
	if names := slices.Sorted(maps.Keys(hosts)); names != nil {
		known = phrase.DidYouMean(text, names) + " (hosts are " + strings.Join(names, ", ") + ")"
	}
	return Launcher{}, fmt.Errorf("unknown launcher %q%s; it is %s", text, known, LauncherGrammar)
}

// ParseLaunchers reads one launcher, or several with commas between. After
// ssh:HOST the names of more hosts may follow without ssh:, as in ssh:a,b.
func ParseLaunchers(text string, hosts map[string]record.Host) ([]Launcher, error) {
	var list []Launcher
	for _, word := range splitLaunchers(text, hosts) {
		l, err := ParseLauncher(word, hosts)
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
		case named || word == LocalHost || strings.Contains(word, ":"):
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
	return fmt.Errorf("%q is no tier%s; want TIER=LAUNCHER with one of %s", tier, phrase.DidYouMean(tier, Tiers), strings.Join(Tiers, ", "))
}

// CheckPlace says what is wrong with the place of one tier.
func CheckPlace(tier, text string, hosts map[string]record.Host) error {
	if err := checkTier(tier); err != nil {
		return err
	}
	launchers, err := ParseLaunchers(text, hosts)
	switch {
	case err != nil:
		return err
	case len(launchers) > 1 && tier != record.TierLoad:
		return fmt.Errorf("%s has %d places (%s); only the load can be in several", tier, len(launchers), text)
	case tier == record.TierPostgres && launchers[0].Host != "":
		return fmt.Errorf("the lab's own PostgreSQL runs here only; start one on %s and give its --postgres DSN", launchers[0].Host)
	}
	return nil
}

// checkPlaces says what is wrong with the first wrong place of an experiment.
func checkPlaces(places map[string]string, hosts map[string]record.Host) error {
	for _, tier := range slices.Sorted(maps.Keys(places)) {
		if err := CheckPlace(tier, places[tier], hosts); err != nil {
			return err
		}
	}
	return nil
}

// PlaceText says in words where tiers run.
func PlaceText(places map[string]string) string {
	var parts []string
	for _, tier := range slices.Sorted(maps.Keys(places)) {
		parts = append(parts, tier+" at "+places[tier])
	}
	return strings.Join(parts, ", ")
}

// String is the launcher as one would write it.
func (l Launcher) String() string {
	var parts []string
	if l.Host != "" {
		parts = append(parts, l.Host)
	}
	if l.Netns != "" {
		parts = append(parts, "netns:"+strings.TrimPrefix(l.Netns, netns.Folder))
	}
	if l.CPUs != "" {
		parts = append(parts, "cpus:"+l.CPUs)
	}
	if parts == nil {
		return LocalHost
	}
	return strings.Join(parts, " ")
}
