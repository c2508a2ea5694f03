package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"loomlab/lab/report"
)

// The kinds of commands, in whose order the help lists them.
const (
	helpMeasure = "commands that measure"
	helpRead    = "commands that read what was measured"
	helpTiers   = "commands that run one tier alone"
	helpItself  = "other commands"
)

func init() {
	cli.HelpPrinter = func(w io.Writer, _ string, data any) {
		switch of := data.(type) {
		case *cli.App:
			writeAppHelp(w, of)
		case *cli.Command:
			writeCommandHelp(w, of)
		}
	}
}

func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Category: helpItself,
		Usage:       "show what a command does, its flags, examples and exit status",
		ArgsUsage:   "[COMMAND]",
		Description: "The same as `loomlab COMMAND --help`.\n\nExamples:\n  loomlab help run\n\nExit status:\n  0  shown\n  2  no such command",
		Action: func(c *cli.Context) error {
			switch {
			case !c.Args().Present():
				return cli.ShowAppHelp(c)
			case c.NArg() > 1:
				return usagef("help takes one command, not %d", c.NArg())
			case c.App.Command(c.Args().First()) == nil:
				return unknownCommand(c.Args().First())
			}
			writeCommandHelp(c.App.Writer, c.App.Command(c.Args().First()))
			return nil
		},
	}
}

func unknownCommand(name string) error {
	return usagef("unknown command %q; `loomlab --help` lists them", name)
}

// maxHelpWidth is the width of help on a wide terminal or on none.
const maxHelpWidth = 100

// page lays text out to a width.
type page struct {
	strings.Builder
	width int
}

func newPage(w io.Writer) *page {
	_, width := report.Terminal(w)
	if width <= 0 || width > maxHelpWidth {
		width = maxHelpWidth
	}
	return &page{width: width}
}

func (p *page) heading(text string) {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	p.WriteString(strings.ToUpper(text) + "\n")
}

// prose writes paragraphs, a line each. What begins with a blank was laid out by
// its author.
func (p *page) prose(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			p.WriteString("\n")
		case line[0] == ' ':
			p.WriteString("  " + line + "\n")
		default:
			p.item(2, "", 0, line)
		}
	}
}

// item writes a label and, from a column on, its text.
func (p *page) item(indent int, label string, column int, text string) {
	line := strings.Repeat(" ", indent) + label
	used := len([]rune(line))
	start := indent + column
	if label != "" && used+2 > start {
		p.WriteString(line + "\n")
		line, used = "", 0
	}
	line += strings.Repeat(" ", start-used)
	used = start
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i > 0 && used+1+n > p.width:
			p.WriteString(line + "\n")
			line, used = strings.Repeat(" ", start)+word, start+n
		case i > 0:
			line, used = line+" "+word, used+1+n
		default:
			line, used = line+word, used+n
		}
	}
	p.WriteString(strings.TrimRight(line, " ") + "\n")
}

func writeAppHelp(w io.Writer, app *cli.App) {
	p := newPage(w)
	p.heading("name")
	p.prose(app.Name + " - " + app.Usage)
	p.heading("usage")
	p.prose(app.Name + " COMMAND [FLAGS] [ARGUMENTS]")
	p.heading("description")
	p.prose(app.Description)
	for _, category := range []string{helpMeasure, helpRead, helpTiers, helpItself} {
		p.heading(category)
		for _, command := range app.Commands {
			if command.Category == category && !command.Hidden {
				p.item(2, command.Name, 12, command.Usage)
			}
		}
	}
	p.heading("flags")
	p.item(2, "-h, --help", 16, "show help, also of a command: loomlab run --help")
	p.item(2, "-v, --version", 16, "print the version")
	fmt.Fprint(w, p.String())
}

// tail begins what stands behind the flags.
var tail = regexp.MustCompile(`(?m)^(Examples|Files|Exit status):\n`)

func writeCommandHelp(w io.Writer, command *cli.Command) {
	p := newPage(w)
	p.heading("name")
	p.prose("loomlab " + command.Name + " - " + command.Usage)
	usage := "loomlab " + command.Name
	flags := slices.DeleteFunc(slices.Clone(command.Flags), func(f cli.Flag) bool { return f.Names()[0] == "help" })
	if len(flags) > 0 {
		usage += " [FLAGS]"
	}
	p.heading("usage")
	p.prose(strings.TrimSpace(usage + " " + command.ArgsUsage))
	text, rest := command.Description, ""
	if at := tail.FindStringIndex(text); at != nil {
		text, rest = strings.TrimSpace(text[:at[0]]), text[at[0]:]
	}
	p.heading("description")
	p.prose(text)
	p.heading("flags")
	for _, f := range flags {
		p.item(2, flagLabel(f), 24, flagText(f))
	}
	p.item(2, "-h, --help", 24, "show this")
	for rest != "" {
		at := tail.FindStringSubmatchIndex(rest)
		head, body := rest[at[2]:at[3]], rest[at[1]:]
		rest = ""
		if next := tail.FindStringIndex(body); next != nil {
			body, rest = body[:next[0]], body[next[0]:]
		}
		p.heading(head)
		p.WriteString(strings.Trim(body, "\n") + "\n")
	}
	fmt.Fprint(w, p.String())
}

var metavar = regexp.MustCompile("`([^`]+)`")

// flagLabel is a flag with what it takes: --delay DURATION.
func flagLabel(f cli.Flag) string {
	label := dashed(f.Names()[0])
	if !takesValue(f) {
		return label
	}
	d := f.(cli.DocGenerationFlag)
	if m := metavar.FindStringSubmatch(d.GetUsage()); m != nil {
		return label + " " + m[1]
	}
	switch f.(type) {
	case *cli.DurationFlag:
		return label + " DURATION"
	case *cli.IntFlag, *cli.UintFlag, *cli.Uint64Flag:
		return label + " N"
	case *cli.Float64Flag:
		return label + " NUMBER"
	}
	return label + " VALUE"
}

// flagText is what a flag does, with its default where that is no plain zero.
func flagText(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	text := metavar.ReplaceAllString(d.GetUsage(), "$1")
	if !takesValue(f) {
		return text
	}
	switch value := cmp.Or(strings.Trim(d.GetDefaultText(), `"`), "none"); value {
	case "none":
		return text
	case "0", "0s":
		return strings.Replace(text, "(0: ", "(default 0: ", 1)
	default:
		return text + " (default: " + value + ")"
	}
}
