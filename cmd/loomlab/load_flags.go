package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"loomlab/loadgen"
)

// loadFlags are read as text and parsed here, so that every mistake names its
// flag and what it accepts.
func loadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "c", Usage: "`N` connections (default: 10; in an open loop chosen from the rate)"},
		&cli.StringFlag{Name: "d", Usage: "`DURATION` of the window (default: 10s)"},
		&cli.StringFlag{Name: "n", Usage: "send exactly `N` requests instead of a duration"},
		&cli.StringFlag{Name: "R", Usage: "open loop: `RATE` of requests per second"},
		&cli.StringFlag{Name: "max-in-flight", Usage: "open loop: connections grow up to `N` when none is free (default: -c if given)"},
		&cli.StringFlag{Name: "m", Usage: "`METHOD` (default: GET, or POST with --body)"},
		&cli.StringSliceFlag{Name: "H", Usage: "header field `NAME: VALUE` (repeatable)"},
		&cli.StringFlag{Name: "body", Usage: "request body: `TEXT` or @FILE"},
		&cli.StringSliceFlag{Name: "target", Usage: "`WEIGHT%=/PATH` (repeatable): several paths, results for each and together"},
		&cli.BoolFlag{Name: "no-keepalive", Usage: "a new connection for every request"},
		&cli.StringFlag{Name: "timeout", Usage: "`DURATION` that a request may take from its send, and a connect (default: 10s)"},
		&cli.StringFlag{Name: "warmup", Usage: "`DURATION` of load before the lead-in (default: 0s)"},
		&cli.StringFlag{Name: "lead-in", Usage: "`DURATION` of load before the window (default: max(2 s, 5 × mean latency); none with -n)"},
		&cli.BoolFlag{Name: "hold", Usage: "stay in the warm-up until a line with the word start comes on stdin"},
		&cli.StringFlag{Name: "part", Usage: "`I/N`: be generator I of N that share this load"},
		&cli.StringFlag{Name: "engine", Value: "auto", Usage: "event `LOOP`: auto, epoll or portable"},
		&cli.StringFlag{Name: "loops", Usage: "`N` event loops, a thread each (default: half of the CPUs)"},
		&cli.BoolFlag{Name: "json", Usage: "print the result as one JSON object"},
		&cli.BoolFlag{Name: "samples", Usage: "print JSON lines: ready, a sample a second, window, result"},
		&cli.StringFlag{Name: "hlog", Usage: "write the latencies of each second to `FILE` as an HdrHistogram log (µs)"},
	}
}

// loadConfig reads the command line. Nothing was started when it fails.
func loadConfig(c *cli.Context) (loadgen.Config, error) {
	cfg := loadgen.Config{
		Method: strings.ToUpper(c.String("m")), Headers: c.StringSlice("H"),
		NoKeepAlive: c.Bool("no-keepalive"), Engine: c.String("engine"),
	}
	switch c.NArg() {
	case 0:
		return cfg, errors.New("URL missing: such as http://127.0.0.1:8080/call")
	case 1:
		cfg.URL = c.Args().First()
	default:
		return cfg, fmt.Errorf("one URL, not also %q", c.Args().Get(1))
	}
	p := &flagParser{c: c}
	cfg.Connections = int(p.count("c", loadgen.MaxConnections))
	cfg.Requests = p.count("n", math.MaxInt64)
	cfg.MaxInFlight = int(p.count("max-in-flight", loadgen.MaxConnections))
	cfg.Loops = int(p.count("loops", 1024))
	cfg.Duration = p.duration("d", false)
	cfg.Timeout = p.duration("timeout", false)
	cfg.Warmup = p.duration("warmup", true)
	cfg.Rate = p.rate("R")
	if c.IsSet("lead-in") {
		d := p.duration("lead-in", true)
		cfg.LeadIn = &d
	}
	if c.IsSet("body") {
		cfg.Body = p.body("body")
	}
	if c.IsSet("part") {
		cfg.Part = p.part("part")
	}
	for _, text := range c.StringSlice("target") {
		t, err := loadgen.ParseTarget(text)
		p.note(err)
		cfg.Targets = append(cfg.Targets, t)
	}
	if p.err != nil {
		return cfg, p.err
	}
	return cfg, cfg.Validate()
}

// flagParser reads flag values and keeps the first mistake.
type flagParser struct {
	c   *cli.Context
	err error
}

func (p *flagParser) note(err error) {
	if p.err == nil {
		p.err = err
	}
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// count reads a whole number from 1; a flag that is not given is 0.
func (p *flagParser) count(name string, most int64) int64 {
	if !p.c.IsSet(name) {
		return 0
	}
	text := p.c.String(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		bound := "or more"
		if most < math.MaxInt64 {
			bound = fmt.Sprintf("to %d", most)
		}
		p.note(fmt.Errorf("%s %q: a whole number, 1 %s", dashed(name), text, bound))
	}
	return n
}

func (p *flagParser) duration(name string, zero bool) time.Duration {
	if !p.c.IsSet(name) {
		return 0
	}
	text := p.c.String(name)
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || d < 0 || d == 0 && !zero:
		least := "above 0"
		if zero {
			least = "0 or more"
		}
		p.note(fmt.Errorf("%s %q: a duration %s with its unit, such as 500ms, 10s or 2m", dashed(name), text, least))
	case d > 24*time.Hour:
		p.note(fmt.Errorf("%s %q: at most 24h", dashed(name), text))
	}
	return d
}

func (p *flagParser) rate(name string) float64 {
	if !p.c.IsSet(name) {
		return 0
	}
	text := p.c.String(name)
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || !(r > 0) || r > loadgen.MaxRate {
		p.note(fmt.Errorf("%s %q: requests per second, above 0 and at most %d", dashed(name), text, loadgen.MaxRate))
	}
	return r
}

// part reads I/N.
func (p *flagParser) part(name string) (part loadgen.Part) {
	text := p.c.String(name)
	index, of, _ := strings.Cut(text, "/")
	var err, ofErr error
	part.Index, err = strconv.Atoi(index)
	part.Of, ofErr = strconv.Atoi(of)
	if err != nil || ofErr != nil || part == (loadgen.Part{}) {
		p.note(fmt.Errorf("%s %q: I/N, generator I of N, such as 1/2", dashed(name), text))
	}
	return part
}

// body reads the text, or the file that @ names.
func (p *flagParser) body(name string) []byte {
	text := p.c.String(name)
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []byte(text)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		p.note(fmt.Errorf("%s: %w", dashed(name), err))
	}
	if b == nil {
		b = []byte{}
	}
	return b
}
