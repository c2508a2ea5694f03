package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"loomlab/loadgen"
)

func init() { benches["generators"] = benchGenerators }

// generatorsBench asks whether several generators make the load of one.
type generatorsBench struct {
	binary, dir string
	places      []string // of one, and of several
	rounds      int
	length      time.Duration
}

// sameWithin is how near several generators have to come to one.
const sameWithin = 0.02

func benchGenerators(args []string) error {
	flags := flag.NewFlagSet("bench generators", flag.ContinueOnError)
	connections := flags.String("connections", "100,1000,3000", "connection counts")
	rates := flags.String("rates", "2000,8000", "rates of an open loop, per second")
	place := flags.String("place", "local,local", "where the several generators run")
	b := &generatorsBench{}
	flags.IntVar(&b.rounds, "rounds", 5, "alternations")
	flags.DurationVar(&b.length, "d", 10*time.Second, "length of one window")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.places = []string{"local", *place}
	raiseDescriptors()
	binary, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	b.binary = binary
	if b.dir, err = os.MkdirTemp("", "loomlab-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	down, err := startDownstream(binary, "--delay", "100ms")
	if err != nil {
		return err
	}
	defer down.stop()
	fmt.Printf("### One generator and several (%s) against `loomlab downstream --delay 100ms`\n\n", *place)
	fmt.Printf("Median of %d alternations of %v; ratios, several to one, are medians of the pairs. Gate: throughput within %.0f %%.\n\n", b.rounds, b.length, 100*sameWithin)
	fmt.Println("| load | requests/s of one | of several | ratio | p50 | p99 | CPU a request | begun within ms (worst) | within the gate |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---|")
	for _, ladder := range []struct{ key, list string }{{"connections", *connections}, {"rate", *rates}} {
		for _, text := range strings.Split(ladder.list, ",") {
			if n, err := strconv.Atoi(text); err != nil || n < 1 {
				return fmt.Errorf("-%s %q: numbers from 1, with commas between", ladder.key, ladder.list)
			}
			if err := b.row(down.url, ladder.key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// row alternates on one rung and prints what came of it.
func (b *generatorsBench) row(url, key, rung string) error {
	file := filepath.Join(b.dir, "bench.yaml")
	text := fmt.Sprintf("name: bench\ndownstream: none\nload: {path: /call, %s: [%s], rounds: 1, duration: %v, warmup: none}\nsuts: [{name: server, url: %q}]\n", key, rung, b.length, url)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	loads := map[string][]*loadgen.Result{}
	for round := range b.rounds {
		for i := range b.places {
			place := b.places[(i+round)%len(b.places)]
			l, err := b.measure(file, place)
			if err != nil {
				return fmt.Errorf("%s %s at %s: %w", rung, key, place, err)
			}
			loads[place] = append(loads[place], l)
		}
	}
	one, several := loads[b.places[0]], loads[b.places[1]]
	pairs := func(of func(*loadgen.Result) float64) float64 {
		var all []float64
		for i := range one {
			all = append(all, of(several[i])/of(one[i]))
		}
		return median(all)
	}
	throughput := func(l *loadgen.Result) float64 { return *l.ThroughputPerS }
	spread := 0.0
	for _, l := range several {
		spread = max(spread, *l.StartSpreadMS)
	}
	ratio, verdict := pairs(throughput), "yes"
	if ratio < 1-sameWithin || ratio > 1+sameWithin {
		verdict = "NO"
	}
	fmt.Printf("| %s %s | %.1f | %.1f | %.4f | %.4f | %.4f | %.3f | %.2f | %s |\n", rung, key, medianOf(one, throughput), medianOf(several, throughput), ratio,
		pairs(func(l *loadgen.Result) float64 { return l.LatencyMS.P50 }), pairs(func(l *loadgen.Result) float64 { return l.LatencyMS.P99 }),
		pairs(func(l *loadgen.Result) float64 { return *l.Engine.CPUUSPerRequest }), spread, verdict)
	return nil
}

// measure runs one window with the load at place.
func (b *generatorsBench) measure(file, place string) (*loadgen.Result, error) {
	cmd := exec.Command(b.binary, "run", file, "--place", "load="+place, "--json", "--quiet", "--out", b.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var saved struct {
		Cells []struct {
			Status string          `json:"status"`
			Load   *loadgen.Result `json:"load"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(out, &saved); err != nil {
		return nil, err
	}
	if len(saved.Cells) != 1 || saved.Cells[0].Status != "ok" {
		return nil, errors.New("the window was not measured")
	}
	l := saved.Cells[0].Load
	if want := len(strings.Split(place, ",")); want > 1 && (len(l.Generators) != want || l.StartSpreadMS == nil || l.Identity() != 0) {
		return nil, fmt.Errorf("%d generators, identity off by %d", len(l.Generators), l.Identity())
	}
	return l, nil
}
