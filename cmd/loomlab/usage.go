package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// What the flag package says of a mistake; its dashes and reasons are not those
// that a user typed or needs.
var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -(.+)$`)
	emptyFlag   = regexp.MustCompile(`^flag needs an argument: -(.+)$`)
	badValue    = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-([^:]+): `)
)

// usageError turns a mistake in the flags of a command into one line that names
// the flag and what it takes. It replaces cli's own answer, which is the whole
// help on stdout.
func usageError(c *cli.Context, err error, _ bool) error {
	message := err.Error()
	help := "`loomlab --help`"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != c.App.Name {
		help = fmt.Sprintf("`loomlab %s --help`", c.Command.Name)
	}
	if m := unknownFlag.FindStringSubmatch(message); m != nil {
		return usagef("unknown flag %s; %s lists those that exist", dashed(m[1]), help)
	}
	if m := emptyFlag.FindStringSubmatch(message); m != nil {
		return usagef("%s needs a value: %s", dashed(m[1]), wanted(c, m[1]))
	}
	if m := badValue.FindStringSubmatch(message); m != nil {
		return usagef("%s %s: want %s", dashed(m[2]), m[1], wanted(c, m[2]))
	}
	return usagef("%w; see %s", err, help)
}

// wanted says what the flag takes.
func wanted(c *cli.Context, name string) string {
	for _, f := range c.Command.Flags {
		for _, n := range f.Names() {
			if n != name {
				continue
			}
			switch f.(type) {
			case *cli.DurationFlag:
				return "a time with its unit, such as 500ms, 10s or 2m"
			case *cli.IntFlag, *cli.Int64Flag:
				return "a whole number"
			case *cli.UintFlag, *cli.Uint64Flag:
				return "a whole number, 0 or more"
			case *cli.Float64Flag:
				return "a number"
			case *cli.BoolFlag:
				return "true or false, or nothing at all"
			}
			if d, ok := f.(cli.DocGenerationFlag); ok {
				return strings.ReplaceAll(d.GetUsage(), "`", "")
			}
		}
	}
	return "a value"
}
