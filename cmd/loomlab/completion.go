package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
	"loomlab/lab/report"
	"loomlab/lab/standin"
)

//go:embed completion/loomlab.bash
var bashCompletion string

//go:embed completion/_loomlab
var zshCompletion string

//go:embed completion/loomlab.fish
var fishCompletion string

// shells are those that can complete; each script asks `loomlab complete`.
var shells = map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Category: helpItself,
		Usage:     "print what makes a shell complete commands, flags, experiments and runs",
		ArgsUsage: "bash | zsh | fish",
		Description: "The script asks the binary, so it stays right when the binary changes.\n\n" +
			"Examples:\n" +
			"  source <(loomlab completion bash)      # now; in ~/.bashrc: always\n" +
			"  source <(loomlab completion zsh)       # now; in ~/.zshrc, after compinit: always\n" +
			"  loomlab completion fish > ~/.config/fish/completions/loomlab.fish\n\n" +
			"Exit status:\n" +
			"  0  printed\n" +
			"  2  no such shell",
		Action: func(c *cli.Context) error {
			script, ok := shells[c.Args().First()]
			if !ok || c.NArg() > 1 {
				return usagef("completion takes one shell, bash, zsh or fish; got %q", strings.Join(c.Args().Slice(), " "))
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

// completeCommand is hidden: the scripts call it with the words of a command
// line after the program, the one at the cursor last.
func completeCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Hidden: true, SkipFlagParsing: true,
		Usage:     "print what may stand in place of the last WORD, a line each: text, tab, meaning",
		ArgsUsage: "WORD…",
		Action: func(c *cli.Context) error {
			for _, found := range complete(c.App, c.Args().Slice()) {
				fmt.Fprintf(c.App.Writer, "%s\t%s\n", found.text, found.meaning)
			}
			return nil
		},
	}
}

// candidate is one completion and what it means.
type candidate struct{ text, meaning string }

// complete returns what may stand in place of the last of the words. Nothing
// means that the shell shall try files.
func complete(app *cli.App, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	current := words[len(words)-1]
	if len(words) == 1 {
		return startingWith(current, append(visibleCommands(app), candidate{"--help", "show help"}, candidate{"--version", "print the version"}))
	}
	command := app.Command(words[0])
	if command == nil {
		return nil
	}
	before := words[1 : len(words)-1]
	// A shell may hand over --format=csv as one word or as three.
	if name, value, ok := strings.Cut(current, "="); ok && len(name) > 1 && name[0] == '-' {
		found := startingWith(value, flagValues(command, strings.TrimLeft(name, "-"), before))
		for i := range found {
			found[i].text = name + "=" + found[i].text
		}
		return found
	}
	if current == "=" {
		before, current = append(slices.Clone(before), "="), ""
	}
	before = slices.DeleteFunc(slices.Clone(before), func(word string) bool { return word == "=" })
	if len(before) > 0 {
		if name, ok := strings.CutPrefix(before[len(before)-1], "-"); ok {
			name = strings.TrimPrefix(name, "-")
			if f := flagNamed(command, name); f != nil && takesValue(f) {
				return startingWith(current, flagValues(command, name, before))
			}
		}
	}
	if strings.HasPrefix(current, "-") {
		return startingWith(current, flagsLeft(command, before))
	}
	return startingWith(current, argumentsOf(app, command, before))
}

func startingWith(prefix string, from []candidate) []candidate {
	return slices.DeleteFunc(from, func(c candidate) bool {
		return !strings.HasPrefix(c.text, prefix)
	})
}

func visibleCommands(app *cli.App) (found []candidate) {
	for _, command := range app.Commands {
		if !command.Hidden {
			found = append(found, candidate{command.Name, command.Usage})
		}
	}
	return found
}

func flagNamed(command *cli.Command, name string) cli.Flag {
	for _, f := range command.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// takesValue says whether the word after a flag belongs to it.
func takesValue(f cli.Flag) bool {
	if g, ok := f.(*cli.GenericFlag); ok {
		_, alone := g.Value.(*rungFlag)
		return !alone
	}
	_, alone := f.(*cli.BoolFlag)
	return !alone
}

// flagsLeft are the flags of a command that may still be given.
func flagsLeft(command *cli.Command, before []string) []candidate {
	found := []candidate{{"--help", "show help"}}
	for _, f := range command.Flags {
		name := dashed(f.Names()[0])
		repeats, ok := f.(cli.DocGenerationSliceFlag)
		given := slices.ContainsFunc(before, func(word string) bool { return word == name || strings.HasPrefix(word, name+"=") })
		if name != "--help" && (!given || ok && repeats.IsSliceFlag()) {
			found = append(found, candidate{name, flagText(f)})
		}
	}
	return found
}

// flagValues are what a flag of a command takes, where that can be listed.
func flagValues(command *cli.Command, name string, before []string) []candidate {
	switch name {
	case "format":
		if command.Name == "compare" {
			return candidates(report.CompareFormats)
		}
		return candidates(report.Formats)
	case "engine":
		return candidates([]string{"auto", "epoll", "portable"})
	case "model":
		return candidates([]string{string(standin.Threads), string(standin.Goroutines), string(standin.EventLoop)})
	case "ignore":
		return candidates(report.ConditionNames())
	case "warmup":
		if command.Name == "run" {
			return []candidate{{"none", "no warm-up"}}
		}
	case "sut":
		return sutNames(before)
	case "resume":
		return runNames(valueOf(before, "--out"))
	}
	return nil
}

func candidates(texts []string) (found []candidate) {
	for _, text := range texts {
		found = append(found, candidate{text: text})
	}
	return found
}

// sutNames are the SUTs of the experiment that stands on the line, or of the
// default one.
func sutNames(before []string) []candidate {
	name := experiment.DefaultExperiment
	for _, word := range before {
		if slices.Contains(experiment.Builtins(), word) {
			name = word
		}
	}
	found := []candidate{{"all", "the experiment's own"}}
	if e, err := experiment.Builtin(name); err == nil {
		for _, s := range e.SUTs {
			found = append(found, candidate{s.Name, "of " + name})
		}
	}
	return found
}

// argumentsOf are what a command takes beside its flags.
func argumentsOf(app *cli.App, command *cli.Command, before []string) (found []candidate) {
	switch command.Name {
	case "run", "doctor":
		for _, name := range experiment.Builtins() {
			if e, err := experiment.Builtin(name); err == nil {
				found = append(found, candidate{name, e.Title})
			}
		}
	case "report", "explain", "compare":
		return runNames(valueOf(before, "--dir"))
	case "help":
		return visibleCommands(app)
	case "completion":
		return candidates([]string{"bash", "fish", "zsh"})
	}
	return found
}

func valueOf(words []string, flag string) string {
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return defaultRuns
}

// runNames are the runs kept in a folder, the newest first.
func runNames(folder string) (found []candidate) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	slices.Reverse(entries)
	for _, entry := range entries {
		if _, err := record.Find(folder, entry.Name()); err == nil && entry.IsDir() {
			found = append(found, candidate{entry.Name(), "a run"})
		}
	}
	if len(found) > 0 {
		found = append([]candidate{{"last", "the newest run"}}, found...)
	}
	return found
}
