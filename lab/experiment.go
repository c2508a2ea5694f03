package lab

import (
	"fmt"
	"net/url"
	"regexp"
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
// flags have set those: each SUT's path, downstream, readiness and JVM flags, and the calls
// per request of an app, which calls the downstream once on /call.
func Resolve(e *record.Experiment) {
	if w := &e.Load.Warmup; w.Count > 0 {
		w.Min = record.Duration(w.Count) * e.Load.Duration
		w.Max = w.Min
	}
	if e.Netns != nil && e.Netns.None {
		e.Netns = nil
	}
	for i := range e.SUTs {
		s := &e.SUTs[i]
		if base, path := splitURL(s.URL); path != "" {
			s.URL, s.Path = base, path
		}
		if s.Path == "" {
			s.Path = e.Load.Path
		}
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
		if s.Calls == nil && s.Downstream != nil && s.Path == "/call" {
			one := 1.0
			s.Calls = &one
		}
	}
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

// wholeExperiment is the --sut value that stands for the experiment's own SUTs.
const wholeExperiment = "all"

// checkSUTName returns what is wrong with a name, or "".
func checkSUTName(name string) string {
	switch {
	case !sutName.MatchString(name):
		return "a SUT's name is letters, digits, '.', '_' and '-', and begins with a letter or digit"
	case name == wholeExperiment:
		return `"all" cannot be a SUT's name: --sut all stands for the whole experiment`
	}
	return ""
}

// checkURL returns what is wrong with the URL of a SUT, or "".
func checkURL(text string) string {
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

// checkPath returns what is wrong with the path of a request, or "".
func checkPath(path string) string {
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
