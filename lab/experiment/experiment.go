package experiment

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"loomlab/lab/record"
)

// Parse reads an experiment file. file names it in messages. The error is a
// [*Mistakes] with everything that is wrong at once. What the file leaves out has
// its default, except what follows from other values: see [Resolve].
func Parse(file string, data []byte) (*record.Experiment, error) {
	e := defaults()
	d := &decoder{at: map[string]*token.Position{}, texts: map[string]string{}, anchors: map[string]ast.Node{}}
	d.mistakes.File = file
	if d.decode(data, e) {
		placeTexts(e, d.texts)
		inheritDelays(e, d.at)
		inheritLoads(e, d.has)
		(&checker{decoder: d, e: e}).experiment()
	}
	if len(d.mistakes.List) > 0 {
		d.mistakes.sort()
		return nil, &d.mistakes
	}
	return e, nil
}

// defaults is an experiment as it is before its file says anything: the
// article's settings, since they are what people compare with.
func defaults() *record.Experiment {
	return &record.Experiment{
		Downstream: &record.Downstream{Delay: record.Duration(100 * time.Millisecond)},
		Load: record.Load{
			Path:     "/call",
			Rounds:   2,
			Duration: record.Duration(10 * time.Second),
			Timeout:  record.Duration(10 * time.Second),
			Warmup:   record.Warmup{Min: record.Duration(8 * time.Second), Max: record.Duration(20 * time.Second)},
		},
		Forks: 1,
	}
}

// Resolve fills in the defaults that follow from other values, after a file or
// flags have set those: each SUT's path (of several targets the first), downstream, readiness
// and JVM flags, and the calls per request of an app, which calls the downstream once on /call.
func Resolve(e *record.Experiment) {
	for _, l := range Loads(e) {
		if w := &l.Warmup; w.Count > 0 {
			w.Min = record.Duration(w.Count) * l.Duration
			w.Max = w.Min
		}
	}
	if e.Netns != nil && e.Netns.None {
		e.Netns = nil
	}
	e.Postgres = WithPostgresDefaults(e.Postgres)
	for i := range e.SUTs {
		s := &e.SUTs[i]
		if base, path := splitURL(s.URL); path != "" {
			s.URL, s.Path = base, path
		}
		load := resolvePath(e, s)
		switch {
		case s.Downstream == nil:
			s.Downstream = e.Downstream
		case s.Downstream.None:
			s.Downstream = nil
		}
		if s.Netns == nil {
			s.Netns = e.Netns
		}
		if s.Netns != nil && s.Netns.None {
			s.Netns = nil
		}
		if s.Ready.Path == "" {
			s.Ready.Path = s.Path
		}
		if s.Ready.Status == 0 {
			s.Ready.Status = 200
		}
		if s.Ready.Timeout == 0 {
			s.Ready.Timeout = record.Duration(60 * time.Second)
		}
		if s.App == "" {
			continue
		}
		if s.JVM == nil {
			s.JVM = e.JVM
		}
		if s.Calls == nil && s.Downstream != nil && s.Path == "/call" && len(load.Targets) == 0 {
			one := 1.0
			s.Calls = &one
		}
	}
}

// resolvePath fills in the path of a SUT and returns its load. A path of its own
// stands in the place of the targets that others get.
func resolvePath(e *record.Experiment, s *record.SUT) record.Load {
	load := e.Load
	if s.Load != nil {
		load = *s.Load
	}
	among := slices.ContainsFunc(load.Targets, func(t record.Target) bool { return t.Path == s.Path })
	switch {
	case s.Path == "" && len(load.Targets) > 0:
		s.Path = load.Targets[0].Path
	case s.Path == "":
		s.Path = load.Path
	case len(load.Targets) > 0 && !among:
		load.Targets = nil
		own := load
		s.Load = &own
	}
	return load
}

// splitURL cuts an http URL into its base and its path with query; a path of
// only "/" is none.
func splitURL(text string) (base, path string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text, ""
	}
	if path = u.RequestURI(); path == "/" {
		path = ""
	}
	return u.Scheme + "://" + u.Host, path
}

// inheritDelays gives a SUT's own downstream the experiment's delay where it
// names none: what an experiment varies is rarely the delay.
func inheritDelays(e *record.Experiment, at map[string]*token.Position) {
	delay := defaults().Downstream.Delay
	if e.Downstream != nil {
		delay = e.Downstream.Delay
	}
	for i := range e.SUTs {
		if _, given := at[fmt.Sprintf("suts[%d].downstream.delay", i)]; !given && e.SUTs[i].Downstream != nil {
			e.SUTs[i].Downstream.Delay = delay
		}
	}
}

// excludes names the keys of a load of which one stands in place of the other.
var excludes = map[string]string{
	"duration": "requests", "requests": "duration", "connections": "rate", "rate": "connections",
	"path": "targets", "targets": "path", "engine": "command", "command": "engine",
}

// inheritLoads completes a SUT's own load with what the experiment's says, but
// for what stands in the place of something that the SUT gives.
func inheritLoads(e *record.Experiment, has func(path string) bool) {
	windowed(&e.Load)
	outer, keys := yamlFields(reflect.ValueOf(&e.Load).Elem())
	for i := range e.SUTs {
		own := e.SUTs[i].Load
		if own == nil {
			continue
		}
		given := func(key string) bool { return has(fmt.Sprintf("suts[%d].load.%s", i, key)) }
		fields, _ := yamlFields(reflect.ValueOf(own).Elem())
		for _, key := range keys {
			if other := excludes[key]; !given(key) && (other == "" || !given(other)) {
				fields[key].Set(outer[key])
			}
		}
		if given("warmup.min") && !given("warmup.max") {
			own.Warmup.Max = max(own.Warmup.Min, e.Load.Warmup.Max)
		}
		if given("warmup.max") && !given("warmup.min") {
			own.Warmup.Min = min(own.Warmup.Max, e.Load.Warmup.Min)
		}
		own.EqualRate = nil // concerns all SUTs
		if len(own.Command) > 0 && !given("no_keepalive") {
			own.NoKeepAlive = false // our engine's own
		}
		windowed(own)
	}
}

// windowed leaves a load one length of its windows.
func windowed(l *record.Load) {
	if l.Requests > 0 {
		l.Duration = 0
	}
}

// placeTexts puts figures that were given as words where the record keeps them.
func placeTexts(e *record.Experiment, texts map[string]string) {
	for i := range e.Published {
		prefix := fmt.Sprintf("published[%d].", i)
		for path, text := range texts {
			if key, ok := strings.CutPrefix(path, prefix); ok {
				if e.Published[i].Texts == nil {
					e.Published[i].Texts = map[string]string{}
				}
				e.Published[i].Texts[key] = text
			}
		}
	}
}

// sutName is what a SUT may be called: it stands in file names, in flags before
// "=", and in RUN:sut.
var sutName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// WholeExperiment is the --sut value that stands for the experiment's own SUTs.
const WholeExperiment = "all"

// CheckSUTName returns what is wrong with a name, or "".
func CheckSUTName(name string) string {
	switch {
	case !sutName.MatchString(name):
		return "a SUT's name is letters, digits, '.', '_' and '-', and begins with a letter or digit"
	case name == WholeExperiment:
		return `"all" cannot be a SUT's name: --sut all stands for the whole experiment`
	}
	return ""
}

// CheckURL returns what is wrong with the URL of a SUT, or "".
func CheckURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "not a URL such as http://127.0.0.1:8080"
	case u.Scheme != "http":
		return "only http:// URLs can be measured"
	case u.User != nil || u.Fragment != "":
		return "a URL with a user or a fragment cannot be measured"
	}
	return ""
}

// CheckPath returns what is wrong with the path of a request, or "".
func CheckPath(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "a path begins with /"
	}
	for _, c := range path {
		if c <= ' ' || c >= 0x7f {
			return "a path holds no blanks, control characters or characters beyond ASCII; percent-encode them"
		}
	}
	return ""
}

// Loads are the experiment's load and those that SUTs have of their own.
func Loads(e *record.Experiment) []*record.Load {
	all := []*record.Load{&e.Load}
	for i := range e.SUTs {
		if l := e.SUTs[i].Load; l != nil {
			all = append(all, l)
		}
	}
	return all
}
