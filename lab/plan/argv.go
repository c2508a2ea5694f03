package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// The command line of every tier is built here and nowhere else, so that what
// --dry-run prints is what runs.

// DownstreamArgv is the command line of a downstream, listening on listen
// (host:port), and where it has gRPC on grpc. It is nil for a SUT without one, and
// for one that is a command (see [Plan.DownstreamCommand]).
func (p *Plan) DownstreamArgv(d *record.Downstream, listen, grpc string) []string {
	if d == nil || len(d.Command) > 0 {
		return nil
	}
	argv := []string{p.self(), "downstream", "--listen", listen, "--delay", d.Delay.String()}
	if d.Jitter != "" {
		argv = append(argv, "--jitter", d.Jitter)
	}
	if d.KeepAlive.MaxRequests > 0 {
		argv = append(argv, "--max-requests", strconv.Itoa(d.KeepAlive.MaxRequests))
	}
	if d.KeepAlive.Rude {
		argv = append(argv, "--rude")
	}
	if d.KeepAlive.IdleTimeout > 0 {
		argv = append(argv, "--idle-timeout", d.KeepAlive.IdleTimeout.String())
	}
	if d.KeepAlive.MaxIdle > 0 {
		argv = append(argv, "--max-idle", strconv.Itoa(d.KeepAlive.MaxIdle))
	}
	if d.KeepAlive.Lifetime > 0 {
		argv = append(argv, "--lifetime", d.KeepAlive.Lifetime.String())
	}
	if d.MaxConns > 0 {
		argv = append(argv, "--max-conns", strconv.Itoa(d.MaxConns))
	}
	if d.GRPCDelay != nil {
		argv = append(argv, "--grpc", grpc, "--grpc-delay", d.GRPCDelay.String())
	}
	for _, f := range d.Faults {
		argv = append(argv, "--fault", f)
	}
	if d.Seed != 0 {
		argv = append(argv, "--seed", strconv.FormatUint(d.Seed, 10))
	}
	return append(argv, "--json")
}

// leadInOfCount is what goes before a window of a number of requests: without a
// lead-in it would open with the first connect, on an empty pipeline.
const leadInOfCount = "2s"

// EngineArgv is the command line of one window of load by our engine against a
// SUT whose base URL is base (see [PlannedSUT.BaseURL]). An open loop gets as many
// connections as its rate takes. With hold it warms up until "start" comes on its
// stdin; without, it goes straight to its lead-in.
func (p *Plan) EngineArgv(s SUT, base string, rung record.Rung, hold bool) []string {
	l := p.Load(s)
	argv := []string{p.self(), "load", base + s.Path}
	if rung.Rate > 0 {
		argv = append(argv, "-R", strconv.FormatFloat(rung.Rate, 'f', -1, 64))
	} else {
		argv = append(argv, "-c", strconv.Itoa(rung.Connections))
	}
	if n := l.RequestsAt(rung); n > 0 {
		argv = append(argv, "-n", strconv.FormatInt(n, 10), "--lead-in", leadInOfCount)
	} else {
		argv = append(argv, "-d", l.Duration.String())
	}
	argv = append(argv, "--timeout", l.Timeout.String(), "--samples", "--json")
	for _, t := range l.Targets {
		argv = append(argv, "--target", strconv.FormatFloat(t.Weight, 'f', -1, 64)+"="+t.Path)
	}
	if l.Engine != "" {
		argv = append(argv, "--engine", l.Engine)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		argv = append(argv, "-H", name+": "+l.Headers[name])
	}
	if l.NoKeepAlive {
		argv = append(argv, "--no-keepalive")
	}
	if hold {
		argv = append(argv, "--hold")
	}
	return argv
}

// words is the command line of a SUT with its placeholders, and nil for a URL. It
// may add to the SUT's environment.
func (p *Plan) words(s *SUT) []string {
	hasDownstream := s.Downstream != nil
	switch s.Kind {
	case record.KindApp:
		words := append([]string{"{{jdk}}/bin/java"}, s.JVM...)
		words = append(words, p.instruments(*s)...)
		words = append(words, "-jar", "{{apps}}/"+s.App+"/"+s.App+".jar", "--server.port={{port}}")
		if p.Exposed(s, record.TierSUT) { // else the app's own setting, which is loopback
			words = append(words, "--server.address={{address}}")
		}
		if hasDownstream {
			words = append(words, "--lab.downstream={{downstream}}")
		}
		if hasDownstream && s.Downstream.GRPCDelay != nil {
			words = append(words, "--lab.grpc={{grpc}}")
		}
		return append(words, s.Args...)
	case record.KindStandin:
		words := []string{p.self(), "standin", "--listen", "{{address}}:{{port}}", "--model", s.Standin.Model}
		if s.Standin.Workers > 0 {
			words = append(words, "--workers", strconv.Itoa(s.Standin.Workers))
		}
		if hasDownstream {
			words = append(words, "--downstream", "{{downstream}}")
		}
		return append(words, s.Standin.Args...)
	case record.KindCommand:
		return p.instrumented(s)
	}
	return nil
}

// Argv returns the command line and the environment of s with its placeholders
// replaced by values and by what the plan knows: jdk and apps.
func (s SUT) Argv(values experiment.Placeholders) (argv []string, env map[string]string, err error) {
	values = s.with(values)
	if argv, err = values.ExpandAll(s.Words); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if env, err = values.ExpandEnv(s.Env); err != nil {
		return nil, nil, fmt.Errorf("%s: env %w", s.Name, err)
	}
	return argv, env, nil
}

// with adds to values what the plan knows: jdk and apps.
func (s SUT) with(values experiment.Placeholders) experiment.Placeholders {
	known := experiment.Placeholders{}
	if s.JDKHome != "" {
		known["jdk"] = s.JDKHome
	}
	if s.Apps != "" {
		known["apps"] = s.Apps
	}
	maps.Copy(known, values)
	return known
}

// LoadCommandArgv is the command line of one window by the load generator that
// takes our engine's place.
func (p *Plan) LoadCommandArgv(s SUT, base string, rung record.Rung, values experiment.Placeholders) ([]string, error) {
	l := p.Load(s)
	values = s.with(values)
	maps.Copy(values, experiment.Placeholders{
		"url": base + s.Path, "connections": strconv.Itoa(rung.Connections), "rate": strconv.FormatFloat(rung.Rate, 'f', -1, 64),
		"requests": strconv.FormatInt(l.RequestsAt(rung), 10), "duration": l.Duration.String(),
		"seconds": strconv.FormatFloat(l.Duration.Seconds(), 'f', -1, 64), "timeout": l.Timeout.String(),
	})
	return values.ExpandAll(s.LoadCommand)
}

// DownstreamCommand is the command line of a downstream that is not ours, told by
// values where to listen: address and port.
func (p *Plan) DownstreamCommand(s SUT, values experiment.Placeholders) ([]string, error) {
	values = s.with(values)
	delay := time.Duration(s.Downstream.Delay)
	maps.Copy(values, experiment.Placeholders{"delay": delay.String(),
		"delay_ms": strconv.FormatFloat(float64(delay)/float64(time.Millisecond), 'f', -1, 64)})
	return values.ExpandAll(s.Downstream.Command)
}

// BaseURL is where s is reached: its own URL if it has one, else host:port.
func (s SUT) BaseURL(hostPort string) string {
	if s.URL != "" {
		return s.URL
	}
	return "http://" + hostPort
}

func (p *Plan) self() string {
	if p.Facts.Self == "" {
		return "loomlab"
	}
	return p.Facts.Self
}

// OfGenerator makes the engine's command line that of generator i of n.
func OfGenerator(argv []string, i, n int) []string {
	if n == 1 {
		return argv
	}
	return append(append([]string(nil), argv...), "--part", fmt.Sprintf("%d/%d", i+1, n))
}
