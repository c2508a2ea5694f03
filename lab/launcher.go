package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/probes"
)

// Tiers are the names by which launchers, probes and logs know the tiers.
var Tiers = []string{"load", "sut", "downstream"}

// Launcher says where a tier runs. It turns the command line of a tier into the
// one that starts it there, always with a guard around it; whatever comes
// later, such as another machine, is one more prefix.
type Launcher struct {
	cpus string // list of CPUs, such as "0-1"; "": all of this machine
}

// LauncherGrammar explains [ParseLauncher] to users.
const LauncherGrammar = "local (here, on any CPU) or cpus:LIST (here, on these CPUs only, such as cpus:0-1,3)"

// ParseLauncher reads "local" or "cpus:LIST".
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
	}
	return Launcher{}, fmt.Errorf("unknown launcher %q; it is %s", text, LauncherGrammar)
}

// guarded is the command line that starts argv behind a guard of self.
func (l Launcher) guarded(self, grace string, argv []string) []string {
	line := []string{self, "guard", "--grace", grace}
	if l.cpus != "" {
		line = append(line, "--cpus", l.cpus)
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

// launcher is where a tier of the plan runs.
func (p *Plan) launcher(tier string) Launcher {
	l, err := ParseLauncher(p.Experiment.Place[tier])
	if err != nil {
		return Launcher{} // no place: here. Wrong ones did not pass the checks.
	}
	return l
}
