package experiment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// maxRate bounds an offered rate against slips of the finger, per second.
const maxRate = 10_000_000

// exclusive are the keys of a load that cannot stand together.
var exclusive = [][2]string{
	{"duration", "requests"}, {"connections", "rate"}, {"path", "targets"},
	{"command", "engine"}, {"command", "headers"}, {"command", "no_keepalive"}, {"command", "targets"},
}

// load checks the experiment's load, or a SUT's own, at path.
func (c *checker) load(path string, l *record.Load) {
	for _, pair := range exclusive {
		c.together(path, pair[0], pair[1])
	}
	at := func(key string) string { return path + "." + key }
	if problem := CheckPath(l.Path); problem != "" && c.has(at("path")) && !c.mistaken(at("path")) {
		c.add(at("path"), "%q: %s", l.Path, problem)
	}
	c.rungs(path, l)
	if c.has(at("engine")) {
		c.oneOf(at("engine"), l.Engine, []string{"auto", "epoll", "portable"})
	}
	if c.has(at("rounds")) {
		c.atLeast(at("rounds"), l.Rounds, 1)
	}
	c.positive(at("duration"), l.Duration)
	c.requests(path, l)
	c.positive(at("timeout"), l.Timeout)
	c.headers(at("headers"), l.Headers)
	c.warmup(at("warmup"), l)
	c.targets(at("targets"), l)
	c.loadCommand(at("command"), l)
	switch {
	case path != "load" && c.has(at("equal_rate")):
		c.add(at("equal_rate"), "the equal rate concerns all SUTs; write it into the experiment's load")
	case path == "load" && l.EqualRate != nil && *l.EqualRate:
		if problem := NoEqualRate(c.e); problem != "" && len(c.e.SUTs) > 0 {
			c.add(at("equal_rate"), "no equal rate: %s", problem)
		}
	}
}

func (c *checker) warmup(path string, l *record.Load) {
	w := l.Warmup
	if !c.has(path) {
		return
	}
	c.notNegative(path+".min", float64(w.Min))
	c.notNegative(path+".max", float64(w.Max))
	c.notNegative(path+".count", float64(w.Count))
	if c.has(path+".count") && (c.has(path+".min") || c.has(path+".max")) {
		c.add(path, "a warm-up by count, which is so many windows long, and by time; want one of them")
	}
	if w.Count > 0 && l.Requests > 0 {
		c.add(path, "a warm-up by count, and windows of a number of requests, which have no length in time; give it min and max")
	}
	if w.Min > w.Max && !c.mistaken(path) {
		c.add(path, "a warm-up of at least %v and at most %v; max must not be less than min", w.Min, w.Max)
	}
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func (c *checker) headers(path string, headers map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if at := path + "." + name; c.has(at) && !c.mistaken(at) && (!headerName.MatchString(name) || strings.ContainsAny(headers[name], "\r\n\x00")) {
			c.add(at, "%q is no header of a request", name+": "+headers[name])
		}
	}
}

// together reports the second of two keys below path that exclude one another.
func (c *checker) together(path, one, other string) {
	a, b := c.at[path+"."+one], c.at[path+"."+other]
	if a == nil || b == nil {
		return
	}
	where := other
	if a.Line > b.Line || a.Line == b.Line && a.Column > b.Column {
		where = one
	}
	c.add(path+"."+where, "%s and %s; want one of them", one, other)
}

// rungs checks the values of a ladder.
func (c *checker) rungs(path string, l *record.Load) {
	for i, n := range l.Connections {
		at := fmt.Sprintf("%s.connections[%d]", path, i)
		switch {
		case !c.has(at) || c.mistaken(at):
		case n < 1 || n > MaxConnections:
			c.add(at, "a rung of %d connections; want 1 to %d", n, MaxConnections)
		case slices.Index(l.Connections, n) < i:
			c.add(at, "a second rung of %d connections", n)
		}
	}
	for i, r := range l.Rate {
		at := fmt.Sprintf("%s.rate[%d]", path, i)
		switch {
		case !c.has(at) || c.mistaken(at):
		case !(r > 0) || r > maxRate:
			c.add(at, "a rung of %v requests offered a second; want more than 0 and at most %d", r, maxRate)
		case slices.Index(l.Rate, r) < i:
			c.add(at, "a second rung of %v requests offered a second", r)
		}
	}
}

// ladders wants a ladder for every SUT.
func (c *checker) ladders() {
	const example = "want the connection counts to climb, such as [100, 1000, 3000]"
	shared := len(c.e.SUTs) == 0 // somebody climbs the experiment's own
	for i := range c.e.SUTs {
		own := c.e.SUTs[i].Load
		if path := fmt.Sprintf("suts[%d].load", i); own != nil && len(own.Rungs()) == 0 && !c.mistaken(path+".connections") && !c.mistaken(path+".rate") {
			c.add(path, "an empty ladder; %s", example)
		}
		shared = shared || own == nil
	}
	if shared && len(c.e.Load.Rungs()) == 0 && !c.mistaken("load.connections") && !c.mistaken("load.rate") {
		c.add("load.connections", "an empty ladder; %s", example)
	}
}

func (c *checker) requests(path string, l *record.Load) {
	at := path + ".requests"
	if !c.has(at) || c.mistaken(at) {
		return
	}
	if l.Requests < 1 {
		c.add(at, "%d; want at least 1", l.Requests)
		return
	}
	for _, n := range l.Connections {
		if l.Requests < int64(n) {
			c.add(at, "%d requests for %d connections; want at least one for each", l.Requests, n)
			return
		}
	}
}

func (c *checker) targets(path string, l *record.Load) {
	if !c.has(path) || c.mistaken(path) {
		return
	}
	if len(l.Targets) == 0 {
		c.add(path, "no targets; want a list such as [{path: /light, weight: 50}, {path: /heavy, weight: 50}]")
	}
	for i, t := range l.Targets {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case c.mistaken(at):
			continue
		case !c.has(at + ".path"):
			c.add(at, "a target without path")
		default:
			if problem := CheckPath(t.Path); problem != "" && !c.mistaken(at+".path") {
				c.add(at+".path", "%q: %s", t.Path, problem)
			}
		}
		if !c.has(at + ".weight") {
			c.add(at, "a target without weight, its share of the requests, such as 50")
		} else if !(t.Weight > 0) && !c.mistaken(at+".weight") {
			c.add(at+".weight", "%v; want more than 0", t.Weight)
		}
	}
}

// loadCommand checks that a load generator of somebody else's learns what the
// experiment says: what to load, how hard and for how long. A load that ignored
// one of these would be measured under a wrong name.
func (c *checker) loadCommand(path string, l *record.Load) {
	if len(l.Command) > 0 && len(l.Targets) > 0 && !c.has(path[:len(path)-len("command")]+"targets") {
		c.add(path, "a load command cannot take the experiment's targets; give this load a path")
	}
	if !c.has(path) || c.mistaken(path) {
		return
	}
	if len(l.Command) == 0 || l.Command[0] == "" {
		c.add(path, "an empty command; want a list such as [./load, \"{{url}}\", \"{{connections}}\", \"{{seconds}}\"]")
		return
	}
	c.tierPlaceholders(path, "load", l.Command)
	lacks := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return Mentions(l.Command, name) })
	}
	if lacks("url") {
		c.add(path, "a load command without {{url}}: it would not know what to load")
	}
	if len(l.Connections) > 0 && lacks("connections") {
		c.add(path, "a load command without {{connections}}: every rung would be the same")
	}
	if len(l.Rate) > 0 && lacks("rate") {
		c.add(path, "a load command without {{rate}}: every rung would be the same")
	}
	switch {
	case l.Requests > 0 && lacks("requests"):
		c.add(path, "a load command without {{requests}}: it would not know when to end")
	case l.Requests == 0 && lacks("duration", "seconds"):
		c.add(path, "a load command without {{duration}} (10s) or {{seconds}} (10): it would not know when to end")
	}
}

// ConnectionRungs are the closed-loop rungs of all ladders.
func ConnectionRungs(e *record.Experiment) []int {
	var rungs []int
	for _, r := range e.Rungs() {
		if r.Rate == 0 {
			rungs = append(rungs, r.Connections)
		}
	}
	return rungs
}

// Ladder lists rungs in words.
func Ladder(rungs []record.Rung) string {
	words := make([]string, len(rungs))
	for i, r := range rungs {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}

// NoEqualRate says why the SUTs cannot have a window at one rate, or "": it is
// made of the throughputs of a closed loop, by our engine.
func NoEqualRate(e *record.Experiment) string {
	for _, s := range e.SUTs {
		switch l := e.LoadOf(s.Name); {
		case len(l.Command) > 0:
			return fmt.Sprintf("the load of %s is a command of its own", s.Name)
		case len(l.Rate) > 0:
			return fmt.Sprintf("%s climbs offered rates already", s.Name)
		case l.Requests > 0:
			return fmt.Sprintf("the windows of %s are numbers of requests", s.Name)
		}
	}
	return ""
}
