package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"loomlab/clock"
	"loomlab/loadgen"
)

// heldError is why a load that waited for a word on stdin did not go on.
type heldError struct{ text string }

func (e *heldError) Error() string { return e.text }

// loadGates are what a load may wait for, each until its word comes on stdin.
type loadGates struct {
	start    chan struct{} // nil: it does not wait for that
	begin    chan clock.Time
	open     chan clock.Time
	awaiting []string // the words that have not come
}

// followStdin holds the load that cfg describes where its flags say so. The end of
// stdin before the words have come ends the run: whoever held it is gone.
func followStdin(c *cli.Context, cfg *loadgen.Config, cancel context.CancelCauseFunc) {
	g := &loadGates{}
	if cfg.Part.Of > 1 {
		g.begin, g.open = make(chan clock.Time, 1), make(chan clock.Time, 1)
		cfg.Gates = loadgen.Gates{Go: g.begin, Open: g.open}
		g.awaiting = append(g.awaiting, "go")
	}
	if c.Bool("hold") {
		g.start = make(chan struct{})
		cfg.Start = g.start
		g.awaiting = append(g.awaiting, "start")
	}
	if cfg.Part.Of > 1 {
		g.awaiting = append(g.awaiting, "open")
	}
	if len(g.awaiting) > 0 {
		go func() {
			if err := g.read(c.App.Reader); err != nil {
				cancel(err)
			}
		}()
	}
}

// read takes the words until the last one that is awaited. Words may come before
// the load stands at their gate; others are passed over.
func (g *loadGates) read(stdin io.Reader) error {
	lines := bufio.NewScanner(stdin)
	for len(g.awaiting) > 0 {
		if !lines.Scan() {
			return &heldError{fmt.Sprintf("stdin ended before the line `%s`", g.awaiting[0])}
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if word != g.awaiting[0] {
			continue
		}
		at, err := instant(rest)
		if err != nil {
			return &heldError{fmt.Sprintf("stdin said `%s`: %v", lines.Text(), err)}
		}
		switch word {
		case "start":
			close(g.start)
		case "go":
			g.begin <- at
		case "open":
			g.open <- at
		}
		g.awaiting = g.awaiting[1:]
	}
	return nil
}

// instant reads seconds on the host's clock; "" is 0, which is at once.
func instant(text string) (clock.Time, error) {
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(seconds >= 0 && seconds < 1e9) {
		return 0, fmt.Errorf("%q is no time in seconds on this host's clock", text)
	}
	return clock.FromSeconds(seconds), nil
}
