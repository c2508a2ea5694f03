package experiment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/postgres"
)

// Placeholders are the values that stand for {{name}} in the command line of a tier,
// and in a SUT's arguments and environment. A name that is absent stays as it is written, so a
// plan can be shown before ports are known.
type Placeholders map[string]string

// placeholderNames are all that exist, by tier. In a SUT: the address and the port
// to listen on, the URL of the downstream, host:port of its gRPC listener, the JDK's home, the run
// directory, the folder of the built jars, which has the single-file Java tiers in
// tools, and the database's URLs and user. In a load command:
// what to load and how, durations as 10s and as seconds. In a downstream's: its
// address and port, and its delay as 100ms and as milliseconds.
var placeholderNames = map[string][]string{
	"sut":        {"address", "apps", "downstream", "grpc", "jdbc", "jdk", "port", "postgres_password", "postgres_user", "r2dbc", "run_dir"},
	"load":       {"apps", "connections", "duration", "jdk", "rate", "requests", "run_dir", "seconds", "timeout", "url"},
	"downstream": {"address", "apps", "delay", "delay_ms", "jdk", "port", "run_dir"},
}

// PlaceholderPattern also catches misspelt ones, which must not pass as text.
var PlaceholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// CheckPlaceholders reports the first placeholder in text that a tier does not have.
func CheckPlaceholders(tier, text string) error {
	names := placeholderNames[tier]
	for _, m := range PlaceholderPattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			return fmt.Errorf("unknown placeholder %s; known are {{%s}}%s",
				m[0], strings.Join(names, "}}, {{"), phrase.DidYouMean(m[1], names))
		}
	}
	return nil
}

// Masked is p as it may be shown: without the database's password.
func (p Placeholders) Masked() Placeholders {
	shown := maps.Clone(p)
	if shown["postgres_password"] != "" {
		shown["postgres_password"] = postgres.Masked
	}
	return shown
}

// Expand replaces the placeholders in text. One that no tier has is an error.
func (p Placeholders) Expand(text string) (string, error) {
	for _, m := range PlaceholderPattern.FindAllStringSubmatch(text, -1) {
		known := slices.Concat(slices.Collect(maps.Values(placeholderNames))...)
		if !slices.Contains(known, m[1]) {
			slices.Sort(known)
			return "", fmt.Errorf("unknown placeholder %s; known are {{%s}}", m[0], strings.Join(slices.Compact(known), "}}, {{"))
		}
	}
	return PlaceholderPattern.ReplaceAllStringFunc(text, func(m string) string {
		if value, ok := p[m[2:len(m)-2]]; ok {
			return value
		}
		return m
	}), nil
}

// ExpandAll expands each of words, into a new slice.
func (p Placeholders) ExpandAll(words []string) ([]string, error) {
	expanded := make([]string, len(words))
	for i, w := range words {
		var err error
		if expanded[i], err = p.Expand(w); err != nil {
			return nil, err
		}
	}
	return expanded, nil
}

// ExpandEnv expands the values of env, into a new map.
func (p Placeholders) ExpandEnv(env map[string]string) (map[string]string, error) {
	expanded := make(map[string]string, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		var err error
		if expanded[key], err = p.Expand(env[key]); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return expanded, nil
}

// Mentions tells whether any of words contains the placeholder name.
func Mentions(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{{"+name+"}}") })
}
