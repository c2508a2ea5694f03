package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func init() { benches["load"] = benchLoad }

// loadBench is one run of `bench load`.
type loadBench struct {
	binary      string
	tools       []tool
	connections []int
	rounds      int
	length      time.Duration
	only        string
}

func benchLoad(args []string) error {
	flags := flag.NewFlagSet("bench load", flag.ContinueOnError)
	connections := flags.String("connections", "100,1000,3000,9500", "connection counts")
	b := &loadBench{}
	flags.IntVar(&b.rounds, "rounds", 5, "alternations")
	flags.DurationVar(&b.length, "d", 5*time.Second, "length of one run")
	flags.StringVar(&b.only, "only", "", "one of cpu, throughput, percentiles, pacing, stall")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, text := range strings.Split(*connections, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-connections %q: counts from 1, with commas between", *connections)
		}
		b.connections = append(b.connections, n)
	}
	raiseDescriptors()
	binary, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	b.binary, b.tools = binary, tools(binary)
	for _, t := range b.tools {
		if t.path == "" {
			fmt.Printf("missing: %s (%s); its columns are n/a\n\n", t.name, t.hint)
		}
	}
	for _, part := range []struct {
		name string
		run  func() error
	}{{"cpu", b.cpu}, {"throughput", b.throughput}, {"percentiles", b.percentiles}, {"pacing", b.pacing}, {"stall", b.stall}} {
		if b.only != "" && b.only != part.name {
			continue
		}
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Println()
	}
	return nil
}

// series are the outcomes of one tool, round by round.
type series []outcome

// alternate runs every tool in each round, beginning with another one each time.
func (b *loadBench) alternate(url string, connections int, each func(t tool, run func() (outcome, error)) (outcome, error)) (map[string]series, error) {
	all := map[string]series{}
	for round := range b.rounds {
		for i := range b.tools {
			t := b.tools[(i+round)%len(b.tools)]
			if t.path == "" {
				continue
			}
			o, err := each(t, func() (outcome, error) { return t.run(t.path, url, connections, b.length) })
			if err != nil {
				return nil, err
			}
			all[t.name] = append(all[t.name], o)
			time.Sleep(300 * time.Millisecond) // let closed connections go
		}
	}
	return all, nil
}

// cpu compares the CPU time per request, of the whole life of each process.
func (b *loadBench) cpu() error {
	fmt.Printf("### CPU per request against `loomlab downstream --delay 100ms`\n\n")
	fmt.Printf("Median of %d alternations of %v; ratios are medians of the pairs. Gates: 1.05 of wrk from 1000 connections, 0.6 of bombardier.\n\n", b.rounds, b.length)
	fmt.Println("| connections | loomlab µs | wrk µs | ratio | bombardier µs | ratio | engine + downstream µs | loomlab max RSS MiB |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|---:|---:|")
	rss := map[int]float64{}
	for _, n := range b.connections {
		all, both, err := b.cpuAt(n)
		if err != nil {
			return err
		}
		mine := all["loomlab"]
		rss[n] = mine.median(func(o outcome) float64 { return float64(o.result.Engine.MaxRSSBytes) / (1 << 20) })
		fmt.Printf("| %d | %.2f | %s | %s | %s | %s | %.2f | %.1f |\n", n, mine.median(outcome.perRequest),
			all["wrk"].show(outcome.perRequest), ratio(mine, all["wrk"]), all["bombardier"].show(outcome.perRequest), ratio(mine, all["bombardier"]),
			median(both), rss[n])
	}
	b.memory(rss)
	return nil
}

func (b *loadBench) cpuAt(connections int) (all map[string]series, both []float64, err error) {
	down, err := startDownstream(b.binary, "--delay", "100ms")
	if err != nil {
		return nil, nil, err
	}
	defer down.stop()
	all, err = b.alternate(down.url+"/call", connections, func(t tool, run func() (outcome, error)) (outcome, error) {
		before, err := down.cpu()
		if err != nil {
			return outcome{}, err
		}
		o, err := run()
		if err != nil {
			return o, err
		}
		after, err := down.cpu()
		if t.name == "loomlab" {
			both = append(both, o.perRequest()+float64(after-before)/1e3/float64(o.requests))
		}
		return o, err
	})
	return all, both, err
}

// memory shows the growth over the fewest connections.
func (b *loadBench) memory(rss map[int]float64) {
	least, most := slices.Min(b.connections), slices.Max(b.connections)
	if least == most {
		return
	}
	fmt.Printf("\nMemory: %d connections take %.1f MiB more than %d; the budget is 4 MiB + 1 KiB each = %.1f MiB.\n",
		most, rss[most]-rss[least], least, 4+float64(most)/1024)
}

// throughput compares what the tools reach when nothing waits, on one thread each.
func (b *loadBench) throughput() error {
	down, err := startDownstream(b.binary, "--delay", "0s")
	if err != nil {
		return err
	}
	defer down.stop()
	fmt.Printf("### Throughput without delay, 100 connections, one thread\n\n")
	all, err := b.alternate(down.url+"/call", 100, func(_ tool, run func() (outcome, error)) (outcome, error) { return run() })
	if err != nil {
		return err
	}
	fmt.Println("| tool | requests/s | loomlab to it |")
	fmt.Println("|---|---:|---:|")
	rate := func(o outcome) float64 { return o.throughput }
	for _, t := range b.tools {
		text := "n/a"
		if pairs := ratios(all["loomlab"], all[t.name], rate); len(pairs) > 0 {
			text = fmt.Sprintf("%.2f", median(pairs))
		}
		fmt.Printf("| %s | %s | %s |\n", t.name, all[t.name].show(rate), text)
	}
	return nil
}

func (s series) median(of func(outcome) float64) float64 {
	var values []float64
	for _, o := range s {
		values = append(values, of(o))
	}
	return median(values)
}

func (s series) show(of func(outcome) float64) string {
	if len(s) == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", s.median(of))
}

// ratios pairs the rounds of two tools.
func ratios(a, b series, of func(outcome) float64) (pairs []float64) {
	for i := range min(len(a), len(b)) {
		pairs = append(pairs, of(a[i])/of(b[i]))
	}
	return pairs
}

func ratio(a, b series) string {
	pairs := ratios(a, b, outcome.perRequest)
	if len(pairs) == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", median(pairs))
}

// medianOf is the median of one figure of windows.
func medianOf[W any](windows []W, figure func(W) float64) float64 {
	var values []float64
	for _, w := range windows {
		values = append(values, figure(w))
	}
	return median(values)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
