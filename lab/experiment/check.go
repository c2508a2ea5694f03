package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/java"
	"loomlab/lab/netns"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Orders in which the SUTs of a fork run, as record.Experiment.Order says them.
const (
	OrderListed   = "listed"
	OrderWilliams = "williams"
	OrderRandom   = "random"
)

// orders are the values that an experiment file may give.
var orders = []string{OrderWilliams, OrderRandom, OrderListed}

// IsolateRung, as record.Experiment.Isolate, is a fresh SUT process for each rung.
const IsolateRung = "rung"

// MaxConnections bounds a rung against slips of the finger. What this machine
// can hold is another matter, for preflight.
const MaxConnections = 1_000_000

// standinModels are the models of `loomlab standin`.
var standinModels = []string{"threads", "goroutines", "event-loop"}

// countings are the ways in which an author may have counted (METHOD rule 1).
var countings = []string{"with-drain", "window"}

// checker finds mistakes of meaning in an experiment that was read, and reports
// each where it stands in the file.
type checker struct {
	*decoder
	e     *record.Experiment
	alone bool // what is being checked has no downstream
}

func (c *checker) experiment() {
	switch {
	case !c.has("name"):
		c.add("name", "no name; an experiment is called by it")
	case !sutName.MatchString(c.e.Name):
		c.add("name", "%q; a name is letters, digits, '.', '_' and '-', and begins with a letter or digit", c.e.Name)
	}
	if strings.Contains(c.e.Question, "\n") {
		c.add("question", "the question takes one line")
	}
	if c.e.Source != nil {
		if c.e.Source.Counting != "" {
			c.oneOf("source.counting", c.e.Source.Counting, countings)
		}
		c.notNegative("source.window", float64(c.e.Source.Window))
		c.notNegative("source.cores", float64(c.e.Source.Cores))
	}
	c.atLeast("forks", c.e.Forks, 1)
	if c.has("order") {
		c.oneOf("order", c.e.Order, orders)
	}
	if c.has("isolate") {
		c.oneOf("isolate", c.e.Isolate, []string{IsolateRung})
	}
	if rungs := ConnectionRungs(c.e); c.has("jfr") && !c.mistaken("jfr") && !slices.Contains(rungs, c.e.JFR) {
		c.add("jfr", "%d is no rung of the ladder; it has %s", c.e.JFR, phrase.Ints(rungs))
	}
	c.downstream("downstream", c.e.Downstream)
	c.hosts(c.e.Hosts)
	c.place("place", c.e.Place)
	c.netns("netns", c.e.Netns)
	c.postgres()
	c.load("load", &c.e.Load)
	c.ladders()
	c.alone = c.e.Downstream == nil
	c.placeholders("jvm", c.e.JVM)
	if len(c.e.SUTs) == 0 && !c.mistaken("suts") {
		c.add("suts", "no suts; an experiment needs at least one, such as {name: mine, command: [./server, --port, \"{{port}}\"]}")
	}
	first := map[string]int{}
	for i := range c.e.SUTs {
		c.sut(fmt.Sprintf("suts[%d]", i), &c.e.SUTs[i])
		name := c.e.SUTs[i].Name
		if j, again := first[name]; again && name != "" {
			c.add(fmt.Sprintf("suts[%d].name", i), "a second SUT %q; the first is on line %d", name, c.at[fmt.Sprintf("suts[%d].name", j)].Line)
			continue
		}
		first[name] = i
	}
	c.published()
	c.claims()
}

func (c *checker) place(path string, places map[string]string) {
	if err := checkPlaces(places, c.e.Hosts); err != nil && !c.mistaken(path) {
		c.add(path, "%v", err)
	}
}

func (c *checker) netns(path string, n *record.Netns) {
	if n == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.Sysctl)) {
		at := path + ".sysctl." + name
		if problem := netns.CheckSysctl(name, n.Sysctl[name]); problem != "" && !c.mistaken(at) {
			c.add(at, "%s", problem)
		}
	}
}

func (c *checker) downstream(path string, d *record.Downstream) {
	if d == nil {
		return
	}
	c.notNegative(path+".delay", float64(d.Delay))
	c.notNegative(path+".keep_alive.max_requests", float64(d.KeepAlive.MaxRequests))
	c.notNegative(path+".keep_alive.idle_timeout", float64(d.KeepAlive.IdleTimeout))
	c.notNegative(path+".keep_alive.max_idle", float64(d.KeepAlive.MaxIdle))
	c.notNegative(path+".keep_alive.lifetime", float64(d.KeepAlive.Lifetime))
	c.notNegative(path+".max_conns", float64(d.MaxConns))
	if d.KeepAlive.Rude && d.KeepAlive.MaxRequests == 0 && !c.mistaken(path+".keep_alive.rude") {
		c.add(path+".keep_alive.rude", "rude without max_requests, after which it would close")
	}
	if d.GRPCDelay != nil {
		c.notNegative(path+".grpc_delay", float64(*d.GRPCDelay))
	}
	c.downstreamCommand(path, d)
}

// downstreamCommand checks a downstream that is not ours, which takes its delay
// from its command line and has none of our other settings.
func (c *checker) downstreamCommand(path string, d *record.Downstream) {
	if !c.has(path+".command") || c.mistaken(path+".command") {
		return
	}
	c.tierPlaceholders(path+".command", "downstream", d.Command)
	switch {
	case len(d.Command) == 0 || d.Command[0] == "":
		c.add(path+".command", "an empty command; want a list such as [\"{{jdk}}/bin/java\", DelayServer.java, \"{{port}}\", \"{{delay_ms}}\"]")
	case !Mentions(d.Command, "port"):
		c.add(path+".command", "a command without {{port}}: nobody would know where it listens")
	}
	for _, key := range []string{"jitter", "keep_alive", "faults", "seed", "max_conns", "grpc_delay"} {
		if c.has(path + "." + key) {
			c.add(path+"."+key, "%s is of our own downstream; give it to the command in its own words", key)
		}
	}
}

func (c *checker) sut(path string, s *record.SUT) {
	if c.mistaken(path) && s.Name == "" && s.App == "" && len(s.Command) == 0 && s.URL == "" {
		return // not even a mapping
	}
	if !c.has(path + ".name") {
		c.add(path, "a SUT without a name")
	} else if problem := CheckSUTName(s.Name); problem != "" && !c.mistaken(path+".name") {
		c.add(path+".name", "%q: %s", s.Name, problem)
	}
	c.alone = s.Downstream == nil && c.e.Downstream == nil || s.Downstream != nil && s.Downstream.None
	c.sutKind(path, s)
	c.downstream(path+".downstream", s.Downstream)
	c.place(path+".place", s.Place)
	c.netns(path+".netns", s.Netns)
	c.grpc(path, s)
	if s.Load != nil {
		c.load(path+".load", s.Load)
		c.together(path, "path", "load.path")
		c.together(path, "path", "load.targets")
	}
	if s.Path != "" {
		if problem := CheckPath(s.Path); problem != "" {
			c.add(path+".path", "%q: %s", s.Path, problem)
		}
	}
	c.placeholders(path+".command", s.Command)
	c.placeholders(path+".args", s.Args)
	c.placeholders(path+".jvm", s.JVM)
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		c.placeholder(path+".env."+key, s.Env[key])
	}
	if s.Calls != nil {
		c.notNegative(path+".calls", *s.Calls)
	}
	c.notNegative(path+".fanout", float64(s.Fanout))
	if s.Ready.Path != "" {
		if problem := CheckPath(s.Ready.Path); problem != "" {
			c.add(path+".ready.path", "%q: %s", s.Ready.Path, problem)
		}
	}
	if c.has(path+".ready.status") && (s.Ready.Status < 100 || s.Ready.Status > 599) {
		c.add(path+".ready.status", "%d; want an HTTP status, 100 to 599", s.Ready.Status)
	}
	c.positive(path+".ready.timeout", s.Ready.Timeout)
	c.notNegative(path+".limits.workers", float64(s.Limits.Workers))
	c.notNegative(path+".limits.client_pool", float64(s.Limits.ClientPool))
	c.notNegative(path+".limits.db_pool", float64(s.Limits.DBPool))
	c.notNegative(path+".limits.max_connections", float64(s.Limits.MaxConnections))
	c.notNegative(path+".limits.held", float64(s.Limits.Held))
	if s.Standin != nil && !c.mistaken(path+".standin") {
		c.oneOf(path+".standin.model", s.Standin.Model, standinModels)
		c.notNegative(path+".standin.workers", float64(s.Standin.Workers))
		c.placeholders(path+".standin.args", s.Standin.Args)
	}
}

// grpc checks that the gRPC listener that a SUT calls will be there.
func (c *checker) grpc(path string, s *record.SUT) {
	d := s.Downstream
	if d == nil {
		d = c.e.Downstream
	}
	if (Mentions(s.Command, "grpc") || Mentions(s.Args, "grpc") || MentionsInEnv(s.Env, "grpc")) && (d == nil || d.GRPCDelay == nil) {
		c.add(path, "SUT %q calls {{grpc}}, which its downstream does not serve; give that a grpc_delay", s.Name)
	}
}

// sutKind checks that a SUT is exactly one of an app, a command and a URL, and
// that each can be reached. A command may have a URL beside it when that says
// where it listens.
func (c *checker) sutKind(path string, s *record.SUT) {
	app, command, url := c.has(path+".app"), c.has(path+".command"), c.has(path+".url")
	switch {
	case !app && !command && !url:
		c.add(path, "SUT %q is nothing yet: want one of app, command and url", s.Name)
	case app && (command || url):
		c.add(path, "SUT %q has an app and more; want one of app, command and url", s.Name)
	case command && url && Mentions(s.Command, "port"):
		c.add(path+".url", "SUT %q has a url and a command with {{port}}; want one of them", s.Name)
	}
	if app && !c.mistaken(path+".app") {
		c.oneOf(path+".app", s.App, java.AllApps())
	}
	if command && !c.mistaken(path+".command") {
		switch {
		case len(s.Command) == 0 || s.Command[0] == "":
			c.add(path+".command", "an empty command; want a list such as [./server, --port, \"{{port}}\"]")
		case !url && !Mentions(s.Command, "port") && !MentionsInEnv(s.Env, "port"):
			c.add(path+".command", "a command without {{port}}: nobody would know where it listens; use {{port}}, or give its url beside it")
		}
	}
	if url && !c.mistaken(path+".url") {
		problem := CheckURL(s.URL)
		if _, inURL := splitURL(s.URL); problem == "" && inURL != "" && s.Path != "" {
			problem = "it has a path and so has path: below it; want one of them"
		}
		if problem != "" {
			c.add(path+".url", "%q: %s", s.URL, problem)
		}
	}
}

// MentionsInEnv tells whether a value of a SUT's environment has a placeholder.
func MentionsInEnv(env map[string]string, name string) bool {
	return Mentions(slices.Collect(maps.Values(env)), name)
}

func (c *checker) published() {
	type row struct {
		sut  string
		rung record.Rung
	}
	seen := map[row]bool{}
	for i, p := range c.e.Published {
		path := fmt.Sprintf("published[%d]", i)
		rung := path + ".connections"
		if c.has(path + ".rate") {
			rung = path + ".rate"
		}
		if !c.has(path+".sut") || !c.has(rung) {
			if !c.mistaken(path) {
				c.add(path, "a published row needs sut and connections (or rate)")
			}
			continue
		}
		c.together(path, "connections", "rate")
		c.knownSUT(path+".sut", p.SUT)
		if problem := c.noRung(p.SUT, p.Rung()); problem != "" && !c.mistaken(rung) {
			c.add(rung, "%s", problem)
		}
		if seen[row{p.SUT, p.Rung()}] {
			c.add(path, "a second row for %s at %s", p.SUT, p.Rung())
		}
		seen[row{p.SUT, p.Rung()}] = true
	}
}

func (c *checker) knownSUT(path, name string) {
	if c.mistaken(path) {
		return
	}
	if problem := c.noSUT(name); problem != "" {
		c.add(path, "%s", problem)
	}
}

// noSUT says that no SUT has this name, or "" if one has.
func (c *checker) noSUT(name string) string {
	names := c.e.SUTNames()
	if slices.Contains(names, name) {
		return ""
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
	return fmt.Sprintf("no SUT is called %q%s; the suts are %s", name, phrase.DidYouMean(name, names), strings.Join(names, ", "))
}

// noRung says that a SUT's ladder does not have this rung, or "" if it has.
func (c *checker) noRung(sut string, rung record.Rung) string {
	l := c.e.LoadOf(sut)
	if slices.Contains(l.Rungs(), rung) {
		return ""
	}
	rungs := slices.DeleteFunc(l.Rungs(), func(r record.Rung) bool { return r.Connections < 1 && r.Rate <= 0 })
	whose := "the ladder"
	if s := c.sutNamed(sut); s != nil && s.Load != nil {
		whose = "the ladder of " + sut
	}
	return fmt.Sprintf("%s is no rung of %s; it has %s", rung, whose, Ladder(rungs))
}

func (c *checker) sutNamed(name string) *record.SUT {
	at := slices.IndexFunc(c.e.SUTs, func(s record.SUT) bool { return s.Name == name })
	if at < 0 {
		return nil
	}
	return &c.e.SUTs[at]
}

func (c *checker) placeholders(path string, words []string) {
	for i, w := range words {
		c.placeholder(fmt.Sprintf("%s[%d]", path, i), w)
	}
}

// tierPlaceholders does it for the command of a tier that is not the SUT.
func (c *checker) tierPlaceholders(path, tier string, words []string) {
	for i, w := range words {
		if err := CheckPlaceholders(tier, w); err != nil {
			c.add(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
	}
}

func (c *checker) placeholder(path, text string) {
	if err := CheckPlaceholders("sut", text); err != nil {
		c.add(path, "%v", err)
	} else if c.alone && Mentions([]string{text}, "downstream") {
		c.add(path, "{{downstream}} in an experiment with downstream: none")
	} else if name := PostgresIn([]string{text}); c.e.Postgres == nil && name != "" {
		c.add(path, "{{%s}} in an experiment without a database; write `postgres: {}` at its top", name)
	}
}

func (c *checker) oneOf(path, value string, accepted []string) {
	if !c.mistaken(path) && !slices.Contains(accepted, value) {
		c.add(path, "%q%s; want one of %s", value, phrase.DidYouMean(value, accepted), strings.Join(accepted, ", "))
	}
}

func (c *checker) atLeast(path string, value, least int) {
	if value < least && !c.mistaken(path) {
		c.add(path, "%d; want at least %d", value, least)
	}
}

func (c *checker) notNegative(path string, value float64) {
	if value < 0 && !c.mistaken(path) {
		c.add(path, "negative; want 0 or more")
	}
}

func (c *checker) positive(path string, value record.Duration) {
	if c.has(path) && value <= 0 && !c.mistaken(path) {
		c.add(path, "%v; want more than 0, such as 10s", value)
	}
}

// mistaken tells whether a mistake was already reported at path, so that its
// value is not what the file says and must not be judged again.
func (c *checker) mistaken(path string) bool {
	p := c.at[path]
	return p != nil && slices.ContainsFunc(c.mistakes.List, func(m Mistake) bool {
		return m.Line == p.Line && m.Column == p.Column
	})
}
