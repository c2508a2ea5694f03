package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// sutFacts is what a SUT was and ran on, by the fields of a comparison; nil when
// the run neither describes nor started it.
func sutFacts(saved *record.Saved, name string) map[string]string {
	run := &saved.Run
	at := slices.IndexFunc(run.Experiment.SUTs, func(s record.SUT) bool { return s.Name == name })
	starts := (&builder{saved: saved}).startsOf(name)
	if at < 0 && len(starts) == 0 {
		return nil
	}
	var s record.SUT
	if at >= 0 {
		s = run.Experiment.SUTs[at]
	}
	of := func(read func(*record.Start) string) string {
		var said []string
		for _, start := range starts {
			if text := read(start); text != "" {
				said = appendNew(said, text)
			}
		}
		return strings.Join(said, ", ")
	}
	jvm := func(read func(*record.StartJVM) string) string {
		return of(func(start *record.Start) string {
			if start.JVM == nil {
				return ""
			}
			return read(start.JVM)
		})
	}
	kind := of(func(start *record.Start) string { return start.Kind })
	f := map[string]string{"sut": describe(s, kind), "load": ownLoad(s), "env": envText(s.Env), "stand-ins": "no",
		"jdk":        orElse(jvm(func(j *record.StartJVM) string { return j.Version }), s.JDK),
		"boot":       orElse(jvm(func(j *record.StartJVM) string { return j.Info["boot"] }), s.Boot),
		"collector":  jvm(func(j *record.StartJVM) string { return j.Collector }),
		"processors": jvm(func(j *record.StartJVM) string { return count(j.CPUs) }),
	}
	if kind == "standin" {
		f["stand-ins"] = "yes"
	} else {
		f["heap"], f["flags"] = splitFlags(s.JVM, jvm(func(j *record.StartJVM) string { return strings.Join(j.Flags, " ") }))
	}
	if at >= 0 {
		f["path"] = s.Path
		f["network"], f["place"] = networkText(s.Netns), envText(placed(&run.Experiment, &s))
		f["delay"], f["downstream"] = downstreamText(s.Downstream)
	}
	return f
}

// count is empty for what is not known.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// describe says what was started, without what differs from start to start.
func describe(s record.SUT, kind string) string {
	switch {
	case kind == "standin" && s.Standin != nil:
		words := []string{"stand-in", s.Standin.Model}
		if s.Standin.Workers > 0 {
			words = append(words, fmt.Sprintf("with %d workers", s.Standin.Workers))
		}
		return strings.Join(append(words, s.Standin.Args...), " ")
	case s.App != "":
		return strings.Join(append([]string{s.App}, s.Args...), " ")
	case len(s.Command) > 0:
		return strings.Join(append(slices.Clone(s.Command), s.Args...), " ")
	}
	return s.URL
}

// splitFlags parts the flags that set the heap from the others. The choice of a
// collector is the collector's own field. What the experiment declares counts,
// since what a JVM reports holds paths of the run; where it declares nothing, as
// for a command of the user's, the report does.
func splitFlags(declared []string, reported string) (heap, flags string) {
	words := declared
	if len(words) == 0 {
		words = strings.Fields(reported)
	}
	var heaps, others []string
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "-Xm"), strings.Contains(w, "RAMPercentage"), strings.Contains(w, "HeapSize"):
			heaps = append(heaps, w)
		case strings.HasPrefix(w, "-XX:+Use") && strings.HasSuffix(w, "GC"):
		default:
			others = append(others, w)
		}
	}
	slices.Sort(heaps)
	slices.Sort(others)
	return strings.Join(heaps, " "), strings.Join(others, " ")
}

// downstreamText splits a downstream into its delay and everything else of it.
func downstreamText(d *record.Downstream) (delay, rest string) {
	if d == nil {
		return "none", "none"
	}
	parts := []string{}
	add := func(name, value string) {
		if value != "" && value != "0" && value != "0s" {
			parts = append(parts, name+" "+value)
		}
	}
	add("jitter", d.Jitter)
	add("max requests", fmt.Sprint(d.KeepAlive.MaxRequests))
	add("idle timeout", d.KeepAlive.IdleTimeout.String())
	add("max idle", fmt.Sprint(d.KeepAlive.MaxIdle))
	add("faults", strings.Join(d.Faults, " "))
	add("command", strings.Join(d.Command, " "))
	return d.Delay.String(), orElse(strings.Join(parts, ", "), "plain")
}

func envText(env map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		parts = append(parts, key+"="+env[key])
	}
	return strings.Join(parts, " ")
}

// networkText tells a network namespace of a SUT's own from that of the lab.
func networkText(n *record.Netns) string {
	if n == nil {
		return ""
	}
	return orElse(envText(n.Sysctl), "of its own")
}

// placed is where the tiers around a SUT ran: as it says, else its experiment.
func placed(e *record.Experiment, s *record.SUT) map[string]string {
	places := maps.Clone(e.Place)
	if places == nil {
		places = map[string]string{}
	}
	maps.Copy(places, s.Place)
	return places
}
