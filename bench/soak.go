package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"loomlab/downstream"
	"loomlab/loadgen"
	"loomlab/probes"
)

func init() { benches["soak"] = soakBench }

// soakBench lets the engine load the downstream for a long time: memory and
// descriptors of both must stay flat, every request be accounted for on both
// sides, and none be lost.
func soakBench(args []string) error {
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	length := flags.Duration("duration", 30*time.Minute, "of the window")
	connections := flags.Int("connections", 9500, "closed loop")
	delay := flags.Duration("delay", 100*time.Millisecond, "of the downstream")
	_ = flags.Parse(args) // it exits
	raiseDescriptors()
	binary, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	s, err := startDownstream(binary, "--delay", delay.String())
	if err != nil {
		return err
	}
	defer s.stop()

	var engine, down growth
	if err := down.follow(s.cmd.Process.Pid); err != nil {
		return err
	}
	inWindow, said := false, time.Now()
	res, err := loadEvents(binary, func(pid int) { _ = engine.follow(pid) }, func(e loadgen.Event) error {
		inWindow = inWindow && e.State != "closed" || e.State == "open"
		if !inWindow || e.Sample == nil {
			return nil
		}
		engine.sample()
		down.sample()
		if time.Since(said) > time.Minute {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "%v: %d answers in the last second; engine %s, downstream %s\n", said.Format(time.TimeOnly), e.Sample.OK, &engine, &down)
		}
		return nil
	}, s.url+"/", "-c", fmt.Sprint(*connections), "-d", length.String(), "--timeout", "10s")
	if err != nil {
		return err
	}
	account, err := s.account()
	if err != nil {
		return err
	}
	problems := append(soakProblems(res, account), append(engine.problems("engine"), down.problems("downstream")...)...)
	printSoak(res, account, &engine, &down, problems)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// account is the downstream's own.
func (s *server) account() (a downstream.Stats, err error) {
	answer, err := http.Get(s.url + "/lab/stats")
	if err != nil {
		return a, err
	}
	defer answer.Body.Close()
	return a, json.NewDecoder(answer.Body).Decode(&a)
}

// soakProblems are identities that do not hold, and requests that were lost.
func soakProblems(res *loadgen.Result, a downstream.Stats) (problems []string) {
	want := func(holds bool, format string, args ...any) {
		if !holds {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	r, c := res.Requests, a.Connections
	want(r.CarriedIn+r.Sent == r.OK+r.Non2xx+r.Errors.Total()+r.InFlight, "the engine's requests do not add up: %+v", r)
	want(r.Errors.Total() == 0 && r.Non2xx == 0, "%d errors and %d answers that were not 2xx", r.Errors.Total(), r.Non2xx)
	want(r.InFlight == r.Drained.OK, "%d in flight at the end, %d of them answered", r.InFlight, r.Drained.OK)
	want(res.Connections.Answered == res.Connections.Requested, "%d of %d connections were answered", res.Connections.Answered, res.Connections.Requested)
	want(a.Requests == a.Answered+a.InFlight+a.Lost && a.Lost == 0 && a.InFlight == 0 && a.Malformed == 0,
		"the downstream's requests: %d, answered %d, in flight %d, lost %d, malformed %d", a.Requests, a.Answered, a.InFlight, a.Lost, a.Malformed)
	closed := int64(0)
	for _, n := range c.Closed {
		closed += n
	}
	want(c.Accepted == c.Open+closed, "the downstream's connections: accepted %d, open %d, closed %d", c.Accepted, c.Open, closed)
	want(a.Answered >= r.OK+r.InFlight, "the engine counts %d answers, the downstream gave %d", r.OK+r.InFlight, a.Answered)
	return problems
}

// growth follows memory and descriptors of a process, a sample a second.
type growth struct {
	tree     *probes.Tree
	rss, fds []int64
}

func (g *growth) follow(pid int) (err error) {
	g.tree, err = probes.NewTree(probes.NewFS("/"), pid)
	return err
}

func (g *growth) sample() {
	if g.tree == nil {
		return
	}
	s := g.tree.Sample()
	if s.RSSBytes != nil {
		g.rss = append(g.rss, *s.RSSBytes)
	}
	if s.FDs != nil {
		g.fds = append(g.fds, *s.FDs)
	}
}

// Flat is what ends no higher than it was in its first half, but for noise.
const (
	flatShare = 1.05
	flatBytes = 4 << 20 // what a garbage collector leaves now and then
)

func (g *growth) problems(who string) (problems []string) {
	if len(g.rss) < 2 || len(g.fds) < 2 {
		return []string{"the " + who + " could not be watched"}
	}
	if first, last := halves(g.rss); float64(last) > float64(first)*flatShare+flatBytes {
		problems = append(problems, fmt.Sprintf("the %s's memory grew from %d to %d MiB", who, first>>20, last>>20))
	}
	if first, last := halves(g.fds); last > first {
		problems = append(problems, fmt.Sprintf("the %s's descriptors grew from %d to %d", who, first, last))
	}
	return problems
}

// halves are the largest values of the first and of the second half.
func halves(series []int64) (first, last int64) {
	for i, n := range series {
		if i < (len(series)+1)/2 {
			first = max(first, n)
		} else {
			last = max(last, n)
		}
	}
	return first, last
}

func (g *growth) String() string {
	if len(g.rss) == 0 || len(g.fds) == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%d MiB, %d descriptors", g.rss[len(g.rss)-1]>>20, g.fds[len(g.fds)-1])
}

func printSoak(res *loadgen.Result, a downstream.Stats, engine, down *growth, problems []string) {
	r := res.Requests
	fmt.Println("| soak | |\n|---|---:|")
	row := func(what, format string, args ...any) {
		fmt.Printf("| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	row("window", "%.0f s", res.Seconds)
	row("connections", "%d of %d", res.Connections.Answered, res.Connections.Requested)
	row("requests answered in it", "%d", r.OK)
	if res.ThroughputPerS != nil {
		row("throughput", "%.0f/s", *res.ThroughputPerS)
	}
	row("errors, not 2xx, lost", "%d, %d, %d", r.Errors.Total(), r.Non2xx, a.Lost)
	row("carried in + sent", "%d", r.CarriedIn+r.Sent)
	row("ok + not 2xx + errors + in flight", "%d", r.OK+r.Non2xx+r.Errors.Total()+r.InFlight)
	if res.LatencyMS != nil {
		row("p50, p99, max", "%.1f, %.1f, %.1f ms", res.LatencyMS.P50, res.LatencyMS.P99, res.LatencyMS.Max)
	}
	for i, g := range []*growth{engine, down} {
		who := []string{"engine", "downstream"}[i]
		first, last := halves(g.rss)
		row(who+": memory, first and second half", "%.1f, %.1f MiB", float64(first)/(1<<20), float64(last)/(1<<20))
		first, last = halves(g.fds)
		row(who+": descriptors, first and second half", "%d, %d", first, last)
	}
	row("problems", "%d", len(problems))
}
