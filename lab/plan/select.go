package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/experiment"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// SUTFlag is what one --sut asks for: a SUT of the experiment by its Name, all
// of them, or a Custom one.
type SUTFlag struct {
	Name   string
	All    bool
	Custom *record.SUT
}

// ParseSUTFlag reads a value of --sut: NAME, all, 'name=command line' (split
// into words as a POSIX shell does, no shell runs it), or 'name=http://…' for a
// server that already runs.
func ParseSUTFlag(text string) (SUTFlag, error) {
	name, rest, custom := strings.Cut(text, "=")
	if !custom && text == experiment.WholeExperiment {
		return SUTFlag{All: true}, nil
	}
	if problem := experiment.CheckSUTName(name); problem != "" {
		return SUTFlag{}, fmt.Errorf("--sut %s: %q: %s; want NAME, all, 'name=command line' or 'name=http://…'", text, name, problem)
	}
	if !custom {
		return SUTFlag{Name: text}, nil
	}
	if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
		if problem := experiment.CheckURL(rest); problem != "" {
			return SUTFlag{}, fmt.Errorf("--sut %s: %s", text, problem)
		}
		return SUTFlag{Name: name, Custom: &record.SUT{Name: name, URL: rest}}, nil
	}
	words, err := experiment.SplitWords(rest)
	if err != nil {
		return SUTFlag{}, fmt.Errorf("--sut %s: in the command, %w", text, err)
	}
	if err := checkCommand(words); err != nil {
		return SUTFlag{}, fmt.Errorf("--sut %s: %w", text, err)
	}
	return SUTFlag{Name: name, Custom: &record.SUT{Name: name, Command: words}}, nil
}

// checkCommand judges the words of a command that nothing else explains.
func checkCommand(words []string) error {
	if len(words) == 0 || words[0] == "" {
		return fmt.Errorf("the command is empty")
	}
	for _, w := range words {
		if err := experiment.CheckPlaceholders("sut", w); err != nil {
			return err
		}
	}
	if !experiment.Mentions(words, "port") {
		return fmt.Errorf("the command has no {{port}}, so nobody would know where it listens; a server that already runs is name=http://host:port")
	}
	return nil
}

// selectSUTs returns the SUTs that the flags ask for, in their order, and which
// of them are the experiment's own. Without flags it is the whole experiment.
func selectSUTs(e *record.Experiment, flags []string) (suts []record.SUT, own map[string]bool, err error) {
	own = map[string]bool{}
	if len(flags) == 0 {
		flags = []string{experiment.WholeExperiment}
	}
	for _, text := range flags {
		flag, err := ParseSUTFlag(text)
		if err != nil {
			return nil, nil, err
		}
		chosen, err := flag.choose(e)
		if err != nil {
			return nil, nil, fmt.Errorf("--sut %s: %w", text, err)
		}
		for _, s := range chosen {
			if slices.ContainsFunc(suts, func(x record.SUT) bool { return x.Name == s.Name }) {
				return nil, nil, fmt.Errorf("--sut %s: %s is asked for twice", text, s.Name)
			}
			suts = append(suts, s)
			own[s.Name] = flag.Custom == nil
		}
	}
	return suts, own, nil
}

func (f SUTFlag) choose(e *record.Experiment) ([]record.SUT, error) {
	names := e.SUTNames()
	at := slices.Index(names, f.Name)
	switch {
	case f.All:
		return e.SUTs, nil
	case f.Custom != nil && at >= 0:
		return nil, fmt.Errorf("the experiment %s has its own %s, with published figures; give yours another name", e.Name, f.Name)
	case f.Custom != nil && e.Downstream == nil && experiment.Mentions(f.Custom.Command, "downstream"):
		return nil, fmt.Errorf("{{downstream}}: the experiment %s has no downstream", e.Name)
	case f.Custom != nil && e.Postgres == nil && experiment.PostgresIn(f.Custom.Command) != "":
		return nil, fmt.Errorf("{{%s}}: the experiment %s has no database", experiment.PostgresIn(f.Custom.Command), e.Name)
	case f.Custom != nil:
		return []record.SUT{*f.Custom}, nil
	case at < 0:
		return nil, fmt.Errorf("the experiment %s has no such SUT%s; it has %s (yours would be 'name=command line')", e.Name, phrase.DidYouMean(f.Name, names), strings.Join(names, ", "))
	}
	return e.SUTs[at : at+1], nil
}

// cloneExperiment copies what a plan changes, so that e stays as it was read.
func cloneExperiment(e *record.Experiment) record.Experiment {
	c := *e
	if e.Downstream != nil {
		d := *e.Downstream
		c.Downstream = &d
	}
	c.Load = cloneLoad(e.Load)
	c.SUTs = slices.Clone(e.SUTs)
	for i := range c.SUTs {
		c.SUTs[i].Env, c.SUTs[i].Place = maps.Clone(e.SUTs[i].Env), maps.Clone(e.SUTs[i].Place)
		if d := e.SUTs[i].Downstream; d != nil {
			own := *d
			c.SUTs[i].Downstream = &own
		}
		if l := e.SUTs[i].Load; l != nil {
			own := cloneLoad(*l)
			c.SUTs[i].Load = &own
		}
	}
	return c
}

func cloneLoad(l record.Load) record.Load {
	l.Connections, l.Rate, l.Headers = slices.Clone(l.Connections), slices.Clone(l.Rate), maps.Clone(l.Headers)
	return l
}
