package lab

import (
	"fmt"
	"maps"
	"strconv"

	"loomlab/lab/record"
)

// The command line of every tier is built here and nowhere else, so that what
// --dry-run prints is what runs.

// DownstreamArgv is the command line of a downstream, listening on listen
// (host:port), and where it has gRPC on grpc. It is nil for a SUT without one.
func (p *Plan) DownstreamArgv(d *record.Downstream, listen, grpc string) []string {
	if d == nil {
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

// LoadArgv is the command line of one window of load against a SUT whose base
// URL is base (see [PlannedSUT.BaseURL]). With hold it warms up until "start"
// comes on its stdin; without, it goes straight to its lead-in.
func (p *Plan) LoadArgv(s PlannedSUT, base string, connections int, hold bool) []string {
	return p.loadArgv(s, base, hold, "-c", strconv.Itoa(connections))
}

// RateArgv is that of an open loop, which offers rate requests a second on as
// many connections as that takes.
func (p *Plan) RateArgv(s PlannedSUT, base string, rate float64, hold bool) []string {
	return p.loadArgv(s, base, hold, "-R", strconv.FormatFloat(rate, 'f', -1, 64))
}

func (p *Plan) loadArgv(s PlannedSUT, base string, hold bool, what ...string) []string {
	l := p.Experiment.Load
	argv := append([]string{p.self(), "load", base + s.Path}, what...)
	argv = append(argv, "-d", l.Duration.String(), "--timeout", l.Timeout.String(), "--samples", "--json")
	if l.Engine != "" {
		argv = append(argv, "--engine", l.Engine)
	}
	if l.NoKeepAlive {
		argv = append(argv, "--no-keepalive")
	}
	if hold {
		argv = append(argv, "--hold")
	}
	return argv
}

// words is the command line of a SUT with its placeholders, and nil for a URL.
func (p *Plan) words(s PlannedSUT) []string {
	hasDownstream := s.Downstream != nil
	switch s.Kind {
	case KindApp:
		words := append([]string{"{{jdk}}/bin/java"}, s.JVM...)
		words = append(words, "-jar", "{{apps}}/"+s.App+"/"+s.App+".jar", "--server.port={{port}}")
		if hasDownstream {
			words = append(words, "--lab.downstream={{downstream}}")
		}
		if hasDownstream && s.Downstream.GRPCDelay != nil {
			words = append(words, "--lab.grpc={{grpc}}")
		}
		return append(words, s.Args...)
	case KindStandin:
		words := []string{p.self(), "standin", "--listen", "127.0.0.1:{{port}}", "--model", s.Standin.Model}
		if s.Standin.Workers > 0 {
			words = append(words, "--workers", strconv.Itoa(s.Standin.Workers))
		}
		if hasDownstream {
			words = append(words, "--downstream", "{{downstream}}")
		}
		return append(words, s.Standin.Args...)
	case KindCommand:
		return append(append([]string(nil), s.Command...), s.Args...)
	}
	return nil
}

// Argv returns the command line and the environment of s with its placeholders
// replaced by values and by what the plan knows: jdk and apps.
func (s PlannedSUT) Argv(values Placeholders) (argv []string, env map[string]string, err error) {
	known := Placeholders{}
	if s.JDKHome != "" {
		known["jdk"] = s.JDKHome
	}
	if s.Apps != "" {
		known["apps"] = s.Apps
	}
	maps.Copy(known, values)
	values = known
	if argv, err = values.ExpandAll(s.Words); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if env, err = values.ExpandEnv(s.Env); err != nil {
		return nil, nil, fmt.Errorf("%s: env %w", s.Name, err)
	}
	return argv, env, nil
}

// BaseURL is where s listens: its own URL if it has one, else the given port here.
func (s PlannedSUT) BaseURL(port int) string {
	if s.URL != "" {
		return s.URL
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// Warms tells whether a rung begins with a warm-up.
func (p *Plan) Warms() bool { return p.Experiment.Load.Warmup.Max > record.Duration(0) }

func (p *Plan) self() string {
	if p.Facts.Self == "" {
		return "loomlab"
	}
	return p.Facts.Self
}
