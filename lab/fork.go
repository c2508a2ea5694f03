package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/jvm"
	"loomlab/lab/netns"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/lab/verdict"
	"loomlab/probes"
)

var nan = math.NaN()

// fork is one fresh SUT process with its downstream, and what watches them.
type fork struct {
	lab  *lab
	plan *plan.Plan // whose load it gets
	sut  *plan.SUT
	n    int // from 1

	netns      *netns.Namespace // that its tiers run in; nil: the lab's
	down       *tier            // nil without a downstream
	downProber *prober
	downURL    string
	downGRPC   string            // host:port of its gRPC listener; "" without one
	mute       bool              // the downstream is somebody else's, which gives no account
	soloP50    time.Duration     // what that takes when it is asked alone
	db         *database         // nil where the SUT uses none
	app        *tier             // nil for a SUT that runs already
	traces     *traces           // in its log; nil where that is not ours
	gcLog      *jvm.GCLog        // nil before the first window, and where there is none
	heap       *probes.HeapRange // nil before it was asked for
	tree       processTree       // of the SUT; nil where it cannot be probed
	awayPID    int               // of its JVM on another machine; 0 before it was asked for
	prober     *prober
	port       int
	url        string // of the SUT, without a path
	watch      *watch
	stopWatch  func()

	last       record.Cell       // the cell measured last
	span       [2]float64        // its window, in seconds of the clock
	bare       bool              // there is no SUT: url is the downstream's
	cold       bool              // nothing was warmed up yet
	resumed    bool              // an earlier process of this fork was interrupted
	unsteady   string            // why the last warm-up gave up; "" when it ended steady
	hasLab     bool              // the SUT answers /lab/…
	info       map[string]string // what it says of itself there
	gauge      gauge             // of the downstream
	broken     string
	between    string // how a tier died when no window saw it, until a cell has said so
	neverReady bool
}

// open starts the downstream and the SUT and waits until it is ready. A SUT
// that fails leaves a fork that is broken, with the reason; the error is for
// what stops the whole run.
func (l *lab) open(ctx context.Context, t plan.Turn) (*fork, error) {
	f := l.newFork(t.SUT, t.Fork, func(p record.Point) {
		_ = l.dir.AppendPoint(p) // a lost point of a series is no reason to stop
		l.observer.Point(p)
	})
	f.resumed = t.Resumed
	begin := record.Start{SUT: f.sut.Name, Fork: f.n, Connections: l.plan.OnlyRung(t), Kind: f.sut.Kind, Env: f.sut.Env, Resumed: t.Resumed || l.startedBefore(t)}
	l.observer.Phase(fmt.Sprintf("%s: starting", f.sut.Name))
	l.finalFlags(ctx, f.sut) // now, while nothing runs; differingDefaults then finds them
	err := f.openNetns()
	f.watch.on(f.sites())
	if err == nil {
		err = f.startDownstream(ctx)
	}
	if err == nil {
		err = f.startDatabase(ctx)
	}
	if err == nil {
		err = f.startSUT(ctx, &begin)
	}
	if ctx.Err() != nil {
		return f, nil
	}
	if err != nil {
		err = f.withDeaths(err)
		f.broken, f.neverReady = err.Error(), true
		begin.Error = err.Error()
		l.failed = true
	}
	if t.Again {
		return f, nil // its start is in the record already
	}
	l.run.Starts = append(l.run.Starts, begin)
	l.limits(f.sut, begin, f.info)
	l.differingDefaults(ctx, f.sut.Of)
	l.observer.Start(begin)
	return f, l.dir.WriteRun(*l.run)
}

// newFork makes a fork that runs nothing yet and watches what is added to it.
func (l *lab) newFork(sut *plan.SUT, n int, collect func(record.Point)) *fork {
	f := &fork{lab: l, plan: l.plan, sut: sut, n: n, cold: true}
	f.watch = newWatch(collect)
	watchCtx, cancel := context.WithCancel(context.Background())
	f.stopWatch = cancel
	go f.watch.run(watchCtx)
	f.watch.begin(record.Point{SUT: sut.Name, Fork: n, Phase: "start"})
	return f
}

// openNetns opens the network namespace that the tiers run in: one of their own,
// or one that somebody else made. In the lab's own there is nothing to open.
func (f *fork) openNetns() (err error) {
	switch place := f.plan.Launcher(&f.sut.SUT, record.TierLoad); {
	case f.sut.Netns != nil:
		f.netns, err = netns.New(f.sut.Netns.Sysctl)
	case place.Netns != "":
		f.netns, err = netns.Open(place.Netns)
	}
	return err
}

// launcher is where a tier of this fork runs; of a load in several places the first.
func (f *fork) launcher(tier string) launcher { return f.launchers(tier)[0] }

// launchers are all the places of a tier.
func (f *fork) launchers(tier string) []launcher {
	return f.inNetns(f.lab.hosts.launchers(f.plan.Launchers(&f.sut.SUT, tier)))
}

// inNetns puts places into the network namespace that the fork made, if it did.
func (f *fork) inNetns(places []launcher) []launcher {
	if f.sut.Netns != nil && f.netns != nil { // nil: it could not be made
		for i := range places {
			places[i].Netns = f.netns.Path()
		}
	}
	return places
}

// sockets is the machine with the sockets of the namespace that the tiers run in.
func (f *fork) sockets() probes.FS {
	fs := probes.NewFS("/")
	for _, t := range []*tier{f.app, f.down} {
		if f.netns != nil && t != nil && t.away == nil {
			return fs.NetOf(t.pid)
		}
	}
	return fs
}

// startDownstream starts this fork's own downstream, so that its account begins at zero.
func (f *fork) startDownstream(ctx context.Context) error {
	if f.sut.Downstream == nil {
		return nil
	}
	listen, reach, port, err := f.listen(ctx, record.TierDownstream)
	if err != nil {
		return err
	}
	f.downURL = "http://" + plan.HostPort(reach, port)
	if len(f.sut.Downstream.Command) > 0 {
		return f.startDownstreamCommand(ctx, listen, port)
	}
	grpc := ""
	if f.sut.Downstream.GRPCDelay != nil {
		at, _, port, err := f.listen(ctx, record.TierDownstream)
		if err != nil {
			return err
		}
		grpc, f.downGRPC = plan.HostPort(at, port), plan.HostPort(reach, port)
	}
	ready := make(chan struct{})
	seen := false
	t, err := start(f.lab.self, launch{
		tier: "downstream", place: f.launcher("downstream"), argv: f.plan.DownstreamArgv(f.sut.Downstream, plan.HostPort(listen, port), grpc), log: f.lab.log("downstream"),
		lines: func(line []byte) {
			if !seen && bytes.Contains(line, []byte(`"ready"`)) {
				seen = true
				close(ready)
			}
			f.inFlight(line)
		},
	})
	if err != nil {
		return err
	}
	f.down = t
	f.downProber = f.proberOf(record.TierDownstream, f.downURL)
	f.watch.sockets(f.sockets())
	if _, err := f.watch.add(t); err != nil {
		f.lab.observer.Warn(fmt.Sprintf("the downstream cannot be probed: %v", err))
	}
	select {
	case <-ready:
		return nil
	case <-t.done:
		return fmt.Errorf("the downstream %s%s", t.cause(), t.lastWords())
	case <-time.After(10 * time.Second):
		return fmt.Errorf("the downstream did not listen within 10 s%s", t.lastWords())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inFlight keeps the downstream's gauge, which shows any hidden limit in front of it.
func (f *fork) inFlight(line []byte) {
	var s record.DownstreamStats
	if json.Unmarshal(line, &s) == nil && s.Event == "stats" {
		f.gauge.add(s)
		f.watch.report(func(p *record.Point) { p.Tier, p.InFlight, p.InFlightMax = "downstream", &s.InFlight, &s.InFlightMax })
	}
}

// startSUT starts the SUT, waits for it, and notes what it is like before any load.
func (f *fork) startSUT(ctx context.Context, begin *record.Start) error {
	began := time.Now()
	if f.sut.Kind == record.KindURL {
		f.url = f.sut.URL
	} else if err := f.launchSUT(ctx, begin); err != nil {
		return err
	}
	f.prober = f.proberOf(record.TierSUT, f.url)
	took, err := awaitReady(ctx, f.prober, f.sut.Ready, f.port, f.app, f.tree, began)
	if err != nil {
		return err
	}
	if err := f.paths(ctx); err != nil {
		return err
	}
	if f.app != nil {
		s := took.Seconds()
		begin.ReadyS = &s
		f.settle(ctx)
		begin.IdleRSSBytes = f.rss()
		if f.plan.Experiment.Memory {
			begin.Memory, _ = f.memory(ctx) // each cell says why there is none
		}
	}
	f.hasLab = f.sut.Kind == record.KindApp || f.sut.Kind == record.KindStandin
	f.info = f.facts(ctx)
	begin.JVM = f.jvm()
	return f.firstRequest(ctx, begin)
}

func (f *fork) launchSUT(ctx context.Context, begin *record.Start) error {
	listen, reach, port, err := f.listen(ctx, record.TierSUT)
	if err != nil {
		return err
	}
	f.port = port
	values := experiment.Placeholders{
		"address": listen, "port": strconv.Itoa(f.port), "downstream": f.downURL, "grpc": f.downGRPC, "run_dir": f.lab.dir.Path(), "apps": f.sut.Apps,
	}
	maps.Copy(values, f.db.values())
	maps.Copy(values, f.site(record.TierSUT).placeholders(f.sut))
	argv, env, err := f.sut.Argv(values)
	if err == nil {
		begin.Argv, begin.Env, err = f.sut.Argv(values.Masked())
	}
	if err != nil {
		return err
	}
	f.url = f.sut.BaseURL(plan.HostPort(reach, f.port))
	if f.sut.URL != "" { // a command that listens where it wants to
		f.port = localPort(f.url)
		if holder := portHolder(f.netns, f.port); holder != "" && f.site(record.TierSUT) == nil {
			return fmt.Errorf("port %d is in use by %s; end that one first", f.port, holder)
		}
	}
	f.traces = &traces{}
	log := io.MultiWriter(f.lab.log(f.sut.Name), f.traces)
	f.app, err = start(f.lab.self, launch{tier: "sut", place: f.launcher("sut"), argv: argv, add: assignments(env), log: log})
	if err != nil {
		return err
	}
	f.tree, err = f.watch.add(f.app)
	if err != nil {
		f.lab.observer.Warn(fmt.Sprintf("%s cannot be probed: %v", f.sut.Name, err))
	}
	f.watch.sockets(f.sockets())
	return nil
}

// firstRequest makes the one checked request, as the article does.
func (f *fork) firstRequest(ctx context.Context, begin *record.Start) error {
	got, err := f.prober.get(ctx, f.sut.Path, time.Duration(f.load().Timeout))
	if err != nil {
		return f.diedOr(fmt.Errorf("the first request to %s got no answer: %w", f.sut.Path, err))
	}
	body := got.body[:min(len(got.body), 200)]
	begin.FirstRequest = &record.FirstRequest{Status: got.status, Body: string(body), MS: float64(got.took.Microseconds()) / 1000}
	if got.status < 200 || got.status > 299 {
		return fmt.Errorf("GET %s answered %d, so there is nothing to measure: %s", f.sut.Path, got.status, excerpt(body))
	}
	return nil
}

// diedOr is err, or that the SUT has died, which is then the reason of it. The news
// may come a moment after a connection was refused.
func (f *fork) diedOr(err error) error {
	select {
	case <-f.app.ended():
		return fmt.Errorf("the SUT %s before its first request was answered%s", f.app.cause(), f.app.lastWords())
	case <-time.After(500 * time.Millisecond):
		return err
	}
}

// jvm describes the JVM of a fork; nil where there is none.
func (f *fork) jvm() *record.StartJVM {
	s := f.watch.sutDetailed()
	if s == nil || s.JVM == nil {
		return nil
	}
	jvm := &record.StartJVM{Home: f.sut.JDK, Version: s.JVM.Version, Collector: s.JVM.Collector}
	plan.OwnFlags(jvm, s.JVM.Flags)
	jvm.Info = f.info
	if n, err := strconv.Atoi(jvm.Info["processors"]); err == nil {
		jvm.CPUs = n
	}
	return jvm
}

// facts are what the app says of itself at /lab/info; nil where it says nothing.
func (f *fork) facts(ctx context.Context) map[string]string {
	var info map[string]any
	if !f.hasLab || f.prober.getJSON(ctx, "/lab/info", &info) != nil {
		return nil
	}
	facts := map[string]string{}
	for k, v := range info {
		facts[k] = fmt.Sprint(v)
	}
	return facts
}

// rss reads the SUT's memory from smaps_rollup, once: it stalls the process.
func (f *fork) rss() *int64 {
	if f.tree == nil {
		return nil
	}
	n, err := f.tree.RSSNow()
	if err != nil {
		return nil
	}
	return &n
}

// peakRSS is the SUT's largest memory since [probes.Tree.ResetPeak], which costs
// a line of /proc and stalls nothing.
func (f *fork) peakRSS() *int64 {
	if f.tree == nil {
		return nil
	}
	n, err := f.tree.PeakRSS()
	if err != nil || n == 0 {
		return nil
	}
	return &n
}

// load is what this fork's SUT gets.
func (f *fork) load() *record.Load { return f.plan.Load(*f.sut) }

// warms tells whether a rung begins with a warm-up.
func (f *fork) warms() bool { return f.load().Warmup.Max > 0 }

// close ends every child of the fork.
func (f *fork) close() {
	f.stopWatch()
	for _, t := range []*tier{f.app, f.down} {
		if t != nil {
			t.stop()
		}
	}
	f.db.close()
	f.netns.Close()
}

// ended is closed when the tier has ended; never, where there is none.
func (t *tier) ended() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.done
}

func (t *tier) hasEnded() bool {
	select {
	case <-t.ended():
		return true
	default:
		return false
	}
}

// assignments are variables as an environment has them.
func assignments(env map[string]string) []string {
	var list []string
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return list
}

// calls is how many downstream calls a request makes: declared, or measured in
// the cell; nil when it cannot be known.
func (f *fork) calls(c record.Cell) *float64 {
	if f.sut.Calls != nil {
		return f.sut.Calls
	}
	if c.Downstream == nil || c.Load == nil || c.Load.Requests.OK == 0 {
		return nil
	}
	ok := float64(c.Load.Requests.OK)
	calls := float64(c.Downstream.Answered) / ok
	// What was in flight at the window's ends makes a difference, in short windows most.
	edges := min(float64(c.Connections)/ok, 0.15)
	if whole := math.Round(calls); math.Abs(calls-whole) < max(0.05, edges) {
		calls = whole
	}
	return &calls
}

// ceilings are those of the SUT's known limits, by the delay that was measured.
func (f *fork) ceilings(c record.Cell) []record.Ceiling {
	delay := time.Duration(0)
	if d := f.sut.Downstream; d != nil {
		delay = time.Duration(d.Delay)
	}
	if delay > 0 && c.Downstream != nil && c.Downstream.LatenessMS != nil {
		delay += time.Duration(c.Downstream.LatenessMS.Mean * float64(time.Millisecond))
	}
	found := verdict.Ceilings(c.Connections, f.sut.Limits, f.sut.InTurn(f.calls(c)), delay)
	if found == nil {
		found = []record.Ceiling{}
	}
	return verdict.WithDatabase(found, f.knownLimits().DBPool, c.Database)
}

// circumstances are those of every cell on this rung.
func (f *fork) circumstances(j job) verdict.Circumstances {
	_, cores := f.machineOf(record.TierSUT)
	about := verdict.Circumstances{Calls: f.sut.Calls, Cores: cores, Foreign: f.sut.Kind == record.KindURL && !f.bare, Unsteady: f.unsteady, Resumed: f.resumed,
		Solo: f.soloP50, Instrument: f.lab.costsBefore(j), Others: f.otherMachines()}
	if d := f.sut.Downstream; d != nil && d.Jitter == "" && len(d.Faults) == 0 {
		about.Delay = time.Duration(d.Delay)
	}
	for _, s := range f.sites() {
		about.ClockError = max(about.ClockError, s.clock.best().rtt/2)
	}
	if j.Rate == 0 && !f.bare {
		about.Calibration = f.lab.calibration(j.Connections)
	}
	return about
}
