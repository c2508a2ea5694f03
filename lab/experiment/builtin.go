package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"loomlab/lab/experiments"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// DefaultExperiment is what `loomlab run` runs when nothing is named.
const DefaultExperiment = "article"

// Builtins returns the names of the experiments in the binary: the default one
// first, then in alphabetical order.
func Builtins() []string {
	entries, err := experiments.Files.ReadDir(".")
	if err != nil {
		panic("the embedded experiments are missing: " + err.Error())
	}
	names := []string{DefaultExperiment}
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".yaml"); name != DefaultExperiment {
			names = append(names, name)
		}
	}
	return names
}

// Builtin returns the experiment of that name from the binary. The error of an
// unknown name lists the known ones.
func Builtin(name string) (*record.Experiment, error) {
	data, err := experiments.Files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("unknown experiment %q%s; known are %s (a file is named with a / or .yaml)",
			name, phrase.DidYouMean(name, Builtins()), strings.Join(Builtins(), ", "))
	}
	return Parse(name+".yaml", data)
}

// Load returns the experiment that a command's argument names: a file if it
// holds a path separator or ends in .yaml or .yml, else one of the binary's own;
// "" is the default one.
func Load(arg string) (*record.Experiment, error) {
	if arg == "" {
		arg = DefaultExperiment
	}
	if !isFile(arg) {
		return Builtin(arg)
	}
	data, err := os.ReadFile(arg)
	if err != nil {
		return nil, fmt.Errorf("experiment file: %w", err)
	}
	return Parse(arg, data)
}

func isFile(arg string) bool {
	ext := filepath.Ext(arg)
	return strings.ContainsAny(arg, `/\`) || ext == ".yaml" || ext == ".yml"
}
