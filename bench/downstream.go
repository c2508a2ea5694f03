package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"loomlab/downstream"
	"loomlab/loadgen"
)

func init() {
	benches["downstream"] = benchDownstream
	benches["net-http-peer"] = netHTTPPeer
}

// downstreamBench is one run of `bench downstream`.
type downstreamBench struct {
	binary      string
	rounds      int
	length      time.Duration
	warmup      time.Duration
	connections int
	many        int // connections of the big lateness measurement
}

func benchDownstream(args []string) error {
	flags := flag.NewFlagSet("bench downstream", flag.ContinueOnError)
	b := &downstreamBench{}
	flags.IntVar(&b.rounds, "rounds", 5, "alternations")
	flags.DurationVar(&b.length, "d", 5*time.Second, "length of one window")
	flags.DurationVar(&b.warmup, "warmup", 5*time.Second, "load before a window: the JVM needs it")
	flags.IntVar(&b.connections, "connections", 1000, "connections of the CPU comparison")
	flags.IntVar(&b.many, "many", 9500, "connections of the lateness at a delay of 1 s, and idle ones")
	if err := flags.Parse(args); err != nil {
		return err
	}
	raiseDescriptors()
	binary, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	b.binary = binary
	for _, part := range []func() error{b.compareCPU, b.lateness, b.idleMemory} {
		if err := part(); err != nil {
			return err
		}
		fmt.Println()
	}
	return nil
}

// window is what one measured window of a peer says.
type window struct {
	cpuPerRequest float64 // µs, of the server process
	overMS        float64 // p99 of the latency above the delay, as the engine sees it
	throughput    float64
}

// compareCPU measures all peers in every round, beginning with another one each
// time, and compares within rounds.
func (b *downstreamBench) compareCPU() error {
	peers := b.peers()
	all := make([][]window, len(peers))
	for round := range b.rounds {
		for i := range peers {
			k := (i + round) % len(peers)
			if peers[k].argv == nil {
				continue
			}
			w, err := b.measure(peers[k])
			if err != nil {
				return fmt.Errorf("%s: %w", peers[k].name, err)
			}
			all[k] = append(all[k], w)
		}
	}
	fmt.Printf("CPU per request at %d connections and %v, medians of %d alternated rounds of %v:\n\n", b.connections, peerDelay, b.rounds, b.length)
	fmt.Println("| downstream | CPU µs per request | loomlab ÷ it, paired | p99 above the delay, ms | requests/s |")
	fmt.Println("|---|--:|--:|--:|--:|")
	for k, p := range peers {
		if p.missing != "" {
			fmt.Printf("| %s | n/a: %s | n/a | n/a | n/a |\n", p.name, p.missing)
			continue
		}
		var ratios []float64
		for i := range all[k] {
			ratios = append(ratios, all[0][i].cpuPerRequest/all[k][i].cpuPerRequest)
		}
		fmt.Printf("| %s | %.1f | %.2f (%.2f to %.2f) | %.2f | %.0f |\n", p.name,
			medianOf(all[k], func(w window) float64 { return w.cpuPerRequest }),
			median(ratios), slices.Min(ratios), slices.Max(ratios),
			medianOf(all[k], func(w window) float64 { return w.overMS }),
			medianOf(all[k], func(w window) float64 { return w.throughput }))
	}
	return nil
}

// measure starts p, loads it, and books its CPU over the window only.
func (b *downstreamBench) measure(p peer) (window, error) {
	url, stop, pid, err := launch(p.argv)
	if err != nil {
		return window{}, err
	}
	defer stop()
	var before, after float64
	r, err := b.load(url, b.connections, func(state string) error {
		used, err := cpuSeconds(pid)
		if state == "open" {
			before = used
		} else {
			after = used
		}
		return err
	})
	if err != nil {
		return window{}, err
	}
	return window{
		cpuPerRequest: (after - before) * 1e6 / float64(max(r.Requests.OK, 1)),
		overMS:        r.LatencyMS.P99 - peerDelay.Seconds()*1e3,
		throughput:    *r.ThroughputPerS,
	}, nil
}

// load runs the engine against url; edge is called when the window opens and closes.
func (b *downstreamBench) load(url string, connections int, edge func(state string) error) (*loadgen.Result, error) {
	each := func(e loadgen.Event) error {
		if e.Event != "window" {
			return nil
		}
		return edge(e.State)
	}
	result, err := loadEvents(b.binary, func(int) {}, each, url+"/", "-c", strconv.Itoa(connections), "-d", b.length.String(), "--warmup", b.warmup.String())
	if err != nil {
		return nil, fmt.Errorf("load with %d connections: %w", connections, err)
	}
	if result.LatencyMS == nil || result.ThroughputPerS == nil {
		return nil, errors.New("no request succeeded")
	}
	return result, nil
}

// lateness asks our downstream how late it was.
func (b *downstreamBench) lateness() error {
	fmt.Println("Lateness of the downstream by its own account, beside the engine on this machine:")
	fmt.Println()
	fmt.Println("| connections | delay | lateness p50, ms | p99, ms | max, ms |")
	fmt.Println("|--:|--:|--:|--:|--:|")
	for _, c := range []struct {
		connections int
		delay       time.Duration
	}{{b.connections, peerDelay}, {b.many, time.Second}} {
		s, err := startDownstream(b.binary, "--delay", c.delay.String())
		if err != nil {
			return err
		}
		var edges [2]downstream.Stats
		_, err = b.load(s.url, c.connections, func(state string) (err error) {
			edges[map[string]int{"open": 0, "closed": 1}[state]], err = account(s.url)
			return err
		})
		s.stop()
		if err != nil {
			return err
		}
		l := edges[1].Sub(edges[0]).LatenessMS
		if l == nil {
			return errors.New("no answer in the window")
		}
		fmt.Printf("| %d | %v | %.2f | %.2f | %.2f |\n", c.connections, c.delay, l.P50, l.P99, l.Max)
	}
	return nil
}

// idleMemory opens connections that ask once and then keep still.
func (b *downstreamBench) idleMemory() error {
	s, err := startDownstream(b.binary, "--delay", "0s")
	if err != nil {
		return err
	}
	defer s.stop()
	before, err := account(s.url)
	if err != nil {
		return err
	}
	for i := range b.many {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			return err
		}
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return err
		}
	}
	after, err := account(s.url)
	if err != nil {
		return err
	}
	fmt.Printf("%d idle connections: %d bytes of resident memory each (kernel buffers not included).\n",
		b.many, (after.RSSBytes-before.RSSBytes)/int64(b.many))
	return nil
}

func account(url string) (s downstream.Stats, err error) {
	r, err := http.Get(url + "/lab/stats")
	if err != nil {
		return s, err
	}
	defer r.Body.Close()
	return s, json.NewDecoder(r.Body).Decode(&s)
}
