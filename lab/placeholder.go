package lab

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Placeholders are the values that stand for {{name}} in a SUT's command line,
// arguments and environment. A name that is absent stays as it is written, so a
// plan can be shown before ports are known.
type Placeholders map[string]string

// placeholderNames are all that exist: the port to listen on, the URL of the
// downstream, host:port of its gRPC listener, the JDK's home, the run directory,
// and the folder of the built jars.
var placeholderNames = []string{"apps", "downstream", "grpc", "jdk", "port", "run_dir"}

// placeholderPattern also catches misspelt ones, which must not pass as text.
var placeholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// checkPlaceholders reports the first placeholder in text that does not exist.
func checkPlaceholders(text string) error {
	for _, m := range placeholderPattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(placeholderNames, m[1]) {
			return fmt.Errorf("unknown placeholder %s; known are {{%s}}%s",
				m[0], strings.Join(placeholderNames, "}}, {{"), didYouMean(m[1], placeholderNames))
		}
	}
	return nil
}

// Expand replaces the placeholders in text. An unknown one is an error.
func (p Placeholders) Expand(text string) (string, error) {
	if err := checkPlaceholders(text); err != nil {
		return "", err
	}
	return placeholderPattern.ReplaceAllStringFunc(text, func(m string) string {
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

// mentions tells whether any of words contains the placeholder name.
func mentions(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{{"+name+"}}") })
}
