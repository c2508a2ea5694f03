package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Options are what the flags of `loomlab run` change in an experiment. A nil
// field leaves the experiment's own value. [NewPlan] judges the values.
type Options struct {
	SUTs        []string // --sut, as given: NAME, all, name=command line, name=http://…
	Connections []int    // --connections, see ParseConnections
	Rounds      *int
	Forks       *int
	Duration    *time.Duration
	Delay       *time.Duration
	Timeout     *time.Duration
	Path        *string
	Warmup      *record.Warmup // --warmup, see ParseWarmup
	// Place is --place, see ParsePlaces: tiers that it does not name stay.
	Place map[string]string
	// Hosts are those of --hosts, beside the experiment's own, and before them.
	Hosts    map[string]record.Host
	Standins bool // stand-ins in place of the experiment's SUTs
	// JDK is --jdk, versions or homes, and Boot --boot, Spring Boot versions. One of
	// a kind replaces each SUT's own; several multiply the SUTs. None leaves them.
	JDK, Boot []string
	Postgres  string // --postgres: the DSN of the user's own database
	EqualRate *bool  // --equal-rate: an open-loop window of every SUT at one rate
	Memory    bool   // --memory: where each SUT's memory is, before and after each rung
	JFR       *int   // --jfr: the rung to record; 0 is the highest
	// Quick is one round, windows and warm-ups of 3 s, and the first two rungs;
	// other flags still have their say.
	Quick bool
	// Scale multiplies the number of requests of windows that count them; windows
	// of a length in time stay as they are. 0: not given, see ParseScale.
	Scale float64
}

// quickTime is the length of windows and warm-ups under --quick.
const quickTime = record.Duration(3 * time.Second)

// quickStandinWarmup is the warm-up of stand-ins under --quick: they are compiled
// already, and the first table shall come within a minute.
const quickStandinWarmup = record.Duration(time.Second)

// ParseConnections reads a ladder such as "100,1000". Its order is kept.
func ParseConnections(text string) ([]int, error) {
	var ladder []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case err != nil || n < 1 || n > experiment.MaxConnections || word[0] == '+':
			return nil, fmt.Errorf("--connections %s: %q; want whole numbers from 1 to %d with commas between, such as 100,1000", text, word, experiment.MaxConnections)
		case slices.Contains(ladder, n):
			return nil, fmt.Errorf("--connections %s: %d stands twice; each rung is climbed once", text, n)
		}
		ladder = append(ladder, n)
	}
	return ladder, nil
}

// ParseWarmup reads "none" or a length of time, which the warm-up of each rung
// then takes exactly.
func ParseWarmup(text string) (record.Warmup, error) {
	if text == "none" {
		return record.Warmup{}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return record.Warmup{}, fmt.Errorf("--warmup %s: want a time such as 10s, or none", text)
	}
	return record.Warmup{Min: record.Duration(d), Max: record.Duration(d)}, nil
}

// ParseScale reads a factor above 0 and at most 1, such as "0.02" or "1/50".
func ParseScale(text string) (float64, error) {
	above, below, isFraction := strings.Cut(text, "/")
	scale, err := strconv.ParseFloat(above, 64)
	if isFraction && err == nil {
		var divisor float64
		divisor, err = strconv.ParseFloat(below, 64)
		scale /= divisor
	}
	if err != nil || !(scale > 0 && scale <= 1) {
		return 0, fmt.Errorf("--scale %s: want a factor above 0 and at most 1, such as 1/50 or 0.02", text)
	}
	return scale, nil
}

// apply changes e as the options say.
func (o *Options) apply(e *record.Experiment) error {
	if err := o.check(e); err != nil {
		return err
	}
	e.Quick, e.Scale = o.Quick, o.Scale
	for _, l := range experiment.Loads(e) {
		o.applyLoad(l)
	}
	set(&e.Forks, o.Forks)
	if o.EqualRate != nil {
		e.Load.EqualRate = o.EqualRate
	}
	e.Memory = e.Memory || o.Memory
	o.applyPlaces(e)
	if err := o.applyJFR(e); err != nil {
		return err
	}
	if o.Delay != nil {
		e.Downstream.Delay = record.Duration(*o.Delay)
		for i := range e.SUTs {
			if d := e.SUTs[i].Downstream; d != nil {
				d.Delay = record.Duration(*o.Delay)
			}
		}
	}
	for i := range e.SUTs {
		if o.Path != nil {
			e.SUTs[i].Path = *o.Path
		}
	}
	return nil
}

// applyPlaces puts tiers where --place says, around every SUT.
func (o *Options) applyPlaces(e *record.Experiment) {
	if len(o.Hosts) > 0 {
		e.Hosts = o.hosts(e)
	}
	if len(o.Place) == 0 {
		return
	}
	places := map[string]string{}
	maps.Copy(places, e.Place)
	maps.Copy(places, o.Place)
	e.Place = places
	for i := range e.SUTs {
		for tier := range o.Place {
			delete(e.SUTs[i].Place, tier)
		}
	}
}

// hosts are all those that places can name.
func (o *Options) hosts(e *record.Experiment) map[string]record.Host {
	all := map[string]record.Host{}
	maps.Copy(all, e.Hosts)
	maps.Copy(all, o.Hosts)
	return all
}

// applyLoad changes one load. Rungs of an open loop stay what they are under
// --connections, which is of another kind.
func (o *Options) applyLoad(l *record.Load) {
	if o.Quick {
		l.Rounds, l.Duration, l.Requests = 1, quickTime, 0
		warmup := quickTime
		if o.Standins {
			warmup = quickStandinWarmup
		}
		l.Warmup = record.Warmup{Min: warmup, Max: warmup}
		l.Connections = l.Connections[:min(2, len(l.Connections))]
		l.Rate = l.Rate[:min(2, len(l.Rate))]
	}
	set(&l.Rounds, o.Rounds)
	set(&l.Warmup, o.Warmup)
	set(&l.Timeout, (*record.Duration)(o.Timeout))
	if o.Path != nil {
		l.Path, l.Targets = *o.Path, nil
	}
	if o.Duration != nil {
		l.Duration, l.Requests = record.Duration(*o.Duration), 0
	}
	if l.Requests > 0 && o.Scale > 0 {
		l.Requests = max(1, int64(math.Round(float64(l.Requests)*o.Scale)))
	}
	if o.Connections != nil && len(l.Rate) == 0 {
		l.Connections = o.Connections
	}
}

// countsRequests tells whether any load has windows of a number of requests.
func countsRequests(e *record.Experiment) bool {
	return slices.ContainsFunc(experiment.Loads(e), func(l *record.Load) bool { return l.Requests > 0 })
}

// check names the flag and the accepted range of the first value out of range.
func (o *Options) check(e *record.Experiment) error {
	for _, tier := range slices.Sorted(maps.Keys(o.Place)) {
		if err := experiment.CheckPlace(tier, o.Place[tier], o.hosts(e)); err != nil {
			return fmt.Errorf("--place %s=%s: %w", tier, o.Place[tier], err)
		}
	}
	switch {
	case o.Rounds != nil && *o.Rounds < 1:
		return fmt.Errorf("--rounds %d: want 1 or more", *o.Rounds)
	case o.Forks != nil && *o.Forks < 1:
		return fmt.Errorf("--forks %d: want 1 or more", *o.Forks)
	case o.Duration != nil && *o.Duration <= 0:
		return fmt.Errorf("--duration %v: want more than 0, such as 10s", *o.Duration)
	case o.Timeout != nil && *o.Timeout <= 0:
		return fmt.Errorf("--timeout %v: want more than 0, such as 10s", *o.Timeout)
	case o.Delay != nil && *o.Delay < 0:
		return fmt.Errorf("--delay %v: want 0 or more, such as 100ms", *o.Delay)
	case o.Delay != nil && e.Downstream == nil:
		return fmt.Errorf("--delay %v: the experiment %s has no downstream", *o.Delay, e.Name)
	case o.Scale != 0 && !countsRequests(e):
		return fmt.Errorf("--scale: the experiment %s has no windows of a number of requests, which is all that it scales; --duration makes windows of time shorter", e.Name)
	case o.Scale != 0 && (o.Quick || o.Duration != nil):
		return fmt.Errorf("--scale with --quick or --duration: these turn windows of a number of requests into windows of time")
	case o.Connections != nil && !slices.ContainsFunc(experiment.Loads(e), func(l *record.Load) bool { return len(l.Rate) == 0 }):
		return fmt.Errorf("--connections: the experiment %s climbs offered rates", e.Name)
	case o.EqualRate != nil && *o.EqualRate && experiment.NoEqualRate(e) != "":
		return fmt.Errorf("--equal-rate: %s", experiment.NoEqualRate(e))
	case o.Path != nil && experiment.CheckPath(*o.Path) != "":
		return fmt.Errorf("--path %q: %s", *o.Path, experiment.CheckPath(*o.Path))
	}
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// applyJFR puts the rung of --jfr into the experiment, after the ladder is settled.
func (o *Options) applyJFR(e *record.Experiment) error {
	if o.JFR != nil {
		e.JFR = *o.JFR
		rungs := experiment.ConnectionRungs(e)
		switch {
		case len(rungs) == 0:
			return fmt.Errorf("--jfr: %s has no rung of connections to record", e.Name)
		case e.JFR == 0:
			e.JFR = slices.Max(rungs)
		case !slices.Contains(rungs, e.JFR):
			return fmt.Errorf("--jfr=%d: no rung of the ladder, which has %s", e.JFR, phrase.Ints(rungs))
		}
	}
	if !slices.Contains(experiment.ConnectionRungs(e), e.JFR) {
		e.JFR = 0 // the experiment's own rung, which --connections or --quick left out
	}
	return nil
}
