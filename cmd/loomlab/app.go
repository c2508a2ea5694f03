package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Exit statuses, as DESIGN and `loomlab run --help` state them.
const (
	exitOK     = 0
	exitFailed = 1 // a cell failed, or nothing succeeded
	exitUsage  = 2 // usage, file, build or preflight: nothing was measured
	exitShown  = 3 // --check refuted, or --fail-if-worse shown
)

// run is the whole program: arguments in, exit status out.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	err := app.RunContext(ctx, append([]string{app.Name}, flagsFirst(app, args)...))
	if err == nil {
		return exitOK
	}
	var status *statusError
	if errors.As(err, &status) {
		if status.err != nil {
			fmt.Fprintf(stderr, "loomlab: %v\n", status.err)
		}
		return status.code
	}
	// Whatever has no status of its own is a mistake in the call.
	fmt.Fprintf(stderr, "loomlab: %v\n", err)
	return exitUsage
}

// appDescription is the first thing that a newcomer reads.
const appDescription = `loomlab starts three processes, load engine → system under test (SUT) → downstream that answers after a fixed delay, climbs a ladder of connections, and shows throughput, latency, CPU, memory and threads side by side, each cell with a verdict: what held it back, with arithmetic.

First steps:
  loomlab run --quick --standins     a table within a minute; needs nothing but this binary
  loomlab list                       the experiments, the apps and the JDKs found
  loomlab run article                the real thing: three Spring Boot apps; needs a JDK 21 or newer
  loomlab explain                    why the numbers of the last run are what they are`

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:                      "loomlab",
		Usage:                     "a benchmark lab: load engine, system under test, fixed-delay downstream, and the reasons behind the numbers",
		Description:               appDescription,
		Version:                   fullVersion(),
		Flags:                     []cli.Flag{cli.HelpFlag}, // which cli adds only where no command is called help
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		UseShortOptionHandling:    false,
		ExitErrHandler:            func(*cli.Context, error) {}, // run decides
		OnUsageError:              usageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
		Commands: []*cli.Command{
			runCommand(),
			listCommand(),
			doctorCommand(),
			buildCommand(),
			reportCommand(),
			explainCommand(),
			compareCommand(),
			schemaCommand(),
			loadCommand(),
			downstreamCommand(),
			standinCommand(),
			completionCommand(),
			versionCommand(),
			helpCommand(),
			completeCommand(),
			guardCommand(),
			probeCommand(),
		},
	}
	for _, command := range app.Commands {
		command.HideHelpCommand = true // `loomlab run help` would ask for an experiment of that name
		command.OnUsageError = usageError
	}
	return app
}

// statusError is an error with the exit status that it asks for. With a nil err
// the status is all there is to say.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// usagef is a mistake of the caller's: one line, exit 2.
func usagef(format string, a ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, a...)}
}

// failedf is a run that was made and failed: one line, exit 1.
func failedf(format string, a ...any) error {
	return &statusError{exitFailed, fmt.Errorf(format, a...)}
}

// flagsFirst moves the flags of a command ahead of its arguments, because cli v2
// stops at the first non-flag and users write `loomlab run article --quick`.
// Everything from "--" on stays where it is. --help anywhere asks for help alone:
// cli would take an argument beside it for a command.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return args
	}
	command := app.Command(args[0])
	if command == nil || command.SkipFlagParsing {
		return args
	}
	flags, rest := []string{args[0]}, []string{}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		name := strings.TrimLeft(arg, "-")
		if slices.Contains(cli.HelpFlag.Names(), name) {
			return []string{"help", command.Name} // whatever else stands there
		}
		flags = append(flags, arg)
		if f := flagNamed(command, name); f != nil && takesValue(f) {
			if i+1 == len(args) {
				return flags // it would take an argument for its value
			}
			i++
			flags = append(flags, args[i])
		}
	}
	return append(flags, rest...)
}
