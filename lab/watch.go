package lab

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
	"loomlab/probes"
)

// watch samples every tier of a fork once a second, and at the instants that a
// window needs, and hands each sample on as a point of the series.
type watch struct {
	mu      sync.Mutex
	fs      probes.FS
	host    probes.FS // the machine as the tiers see it, whose sockets are those of their namespace
	tiers   []*watched
	sites   []*site                    // the other machines that tiers are on
	machine map[string][]machineMoment // of the cell that is being measured, by host; "" is this one
	where   record.Point               // cell and phase of the points being taken
	collect func(record.Point)
}

// machineMoment is the whole machine, and what of its CPU time was ours.
type machineMoment struct {
	sample probes.MachineSample
	own    float64 // CPU seconds of the orchestrator, or of the probe there, so far
}

// processTree is what is sampled of a tier: here, or by the probe of another machine.
type processTree interface {
	Sample() probes.Sample
	Detailed() probes.Sample
	RSSNow() (int64, error)
	PeakRSS() (int64, error)
	ResetPeak() error
	ListeningPorts() ([]int, error)
	Owns(port int) (bool, error)
}

type watched struct {
	name    string
	host    string // "": this machine
	tree    processTree
	samples []probes.Sample // of the cell that is being measured
}

func newWatch(collect func(record.Point)) *watch {
	fs := probes.NewFS("/")
	return &watch{fs: fs, host: fs, collect: collect, machine: map[string][]machineMoment{}}
}

// add begins to watch a tier: everything below its guard.
func (w *watch) add(t *tier) (processTree, error) {
	added := &watched{name: t.name}
	if t.away != nil {
		if t.away.note != "" {
			return nil, errors.New(t.away.note)
		}
		added.host, added.tree = t.away.site.name, awayTree{t.away}
	} else {
		tree, err := probes.NewTree(w.fs, t.guard.Process.Pid, probes.SkipRoot)
		if err != nil {
			return nil, err
		}
		added.tree = tree
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tiers = append(w.tiers, added)
	return added.tree, nil
}

// on says which other machines are to be sampled as well.
func (w *watch) on(sites []*site) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sites = sites
}

// sockets says where the sockets of the tiers are to be seen.
func (w *watch) sockets(host probes.FS) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.host = host
}

// remove stops watching the tier of that name, all its processes.
func (w *watch) remove(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tiers = slices.DeleteFunc(w.tiers, func(t *watched) bool { return t.name == name })
}

// begin drops the samples of the cell before and labels what follows.
func (w *watch) begin(where record.Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.where = where
	clear(w.machine)
	for _, t := range w.tiers {
		t.samples = nil
	}
}

// phase labels the points from now on.
func (w *watch) phase(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.where.Phase = name
}

// take samples every tier now.
func (w *watch) take() { w.each(processTree.Sample) }

// takeDetailed does it with the figures of each thread, for a window's ends.
func (w *watch) takeDetailed() { w.each(processTree.Detailed) }

func (w *watch) each(read func(processTree) probes.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	collected := w.askAway(read)
	for _, t := range w.tiers {
		if t.host == "" {
			t.samples = append(t.samples, read(t.tree))
		}
	}
	w.machine[""] = append(w.machine[""], machineMoment{w.host.SampleMachine(), selfCPU()})
	collected()
	w.points()
}

// points hands on what each tier looks like now, which has just been sampled: one
// point, however many processes it is.
func (w *watch) points() {
	byTier := map[string][]probes.Sample{}
	for _, t := range w.tiers {
		byTier[t.name] = append(byTier[t.name], t.samples[len(t.samples)-1])
	}
	for _, t := range w.tiers {
		if now := byTier[t.name]; now != nil {
			w.point(t.name, probes.SumSamples(now))
			delete(byTier, t.name)
		}
	}
}

// askAway samples what is on other machines, all at the same time: each takes a
// round trip. The function that it returns waits for the answers.
func (w *watch) askAway(read func(processTree) probes.Sample) (collect func()) {
	var asked sync.WaitGroup
	samples, moments := make([]probes.Sample, len(w.tiers)), make([]machineMoment, len(w.sites))
	for i, t := range w.tiers {
		if t.host != "" {
			asked.Go(func() { samples[i] = read(t.tree) })
		}
	}
	for i, s := range w.sites {
		asked.Go(func() { moments[i].sample, moments[i].own = s.machine() })
	}
	return func() {
		asked.Wait()
		for i, t := range w.tiers {
			if t.host != "" {
				t.samples = append(t.samples, samples[i])
			}
		}
		for i, s := range w.sites {
			if moments[i].sample.At != 0 {
				w.machine[s.name] = append(w.machine[s.name], moments[i])
			}
		}
	}
}

// selfCPU is the CPU time of this process in seconds.
func selfCPU() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // cannot fail for the caller's own figures
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}

// sut samples the SUT now; nil when it is not a child of ours.
func (w *watch) sut() *probes.Sample { return w.sutBy(processTree.Sample) }

// sutDetailed does it with the figures of each thread, such as the JIT compilers'.
func (w *watch) sutDetailed() *probes.Sample { return w.sutBy(processTree.Detailed) }

func (w *watch) sutBy(read func(processTree) probes.Sample) *probes.Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.tiers {
		if t.name == record.TierSUT {
			s := w.sample(t, read)
			return &s
		}
	}
	return nil
}

func (w *watch) sample(t *watched, read func(processTree) probes.Sample) probes.Sample {
	s := read(t.tree)
	t.samples = append(t.samples, s)
	w.point(t.name, s)
	return s
}

// point hands on what a tier looks like now.
func (w *watch) point(tier string, s probes.Sample) {
	p := w.where
	p.Tier, p.Sample = tier, &s
	w.collect(p)
}

// report hands on a point that is not a process sample (load, in-flight gauge).
func (w *watch) report(f func(p *record.Point)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.where
	f(&p)
	w.collect(p)
}

// window cuts the samples of every tier to [open, closed], in clock seconds.
func (w *watch) window(open, closed float64) map[string]*probes.Window {
	cut := map[string]*probes.Window{}
	for _, name := range experiment.Tiers {
		if processes := w.windows(name, open, closed); processes != nil {
			sum := probes.SumWindows(processes)
			cut[name] = &sum
		}
	}
	return cut
}

// windows does it for each process of one tier, in the order of their start.
func (w *watch) windows(name string, open, closed float64) []probes.Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	var cut []probes.Window
	for _, t := range w.tiers {
		if t.name == name {
			cut = append(cut, probes.NewWindow(t.samples, open, closed))
		}
	}
	return cut
}

// machineWindows cuts the samples of each machine to the window, by host.
func (w *watch) machineWindows(open, closed float64) map[string]*probes.MachineWindow {
	w.mu.Lock()
	defer w.mu.Unlock()
	windows := map[string]*probes.MachineWindow{}
	for host := range w.machine {
		windows[host] = w.machineWindow(host, open, closed)
	}
	return windows
}

func (w *watch) machineWindow(host string, open, closed float64) *probes.MachineWindow {
	var samples []probes.MachineSample
	var first, last float64
	for _, m := range w.machine[host] {
		if m.sample.At < open || m.sample.At > closed+machineSlack {
			continue
		}
		if samples == nil {
			first = m.own
		}
		samples, last = append(samples, m.sample), m.own
	}
	own, missing := last-first, ""
	for _, t := range w.tiers {
		if t.host != host {
			continue
		}
		if cut := probes.NewWindow(t.samples, open, closed); cut.CPUS == nil {
			missing = t.name
		} else {
			own += *cut.CPUS
		}
	}
	win := probes.NewMachineWindow(samples, own)
	if missing != "" && win.StrangersS != nil {
		win.StrangersS = nil
		win.Unavailable["strangers_s"] = "the CPU time of the tier " + missing + " is not known"
	}
	return &win
}

// machineSlack is how long after a window closes its last sample may be taken.
const machineSlack = 0.5

// run samples once a second until ctx ends.
func (w *watch) run(ctx context.Context) { every(ctx, time.Second, w.take) }

// every calls f at each tick until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}
