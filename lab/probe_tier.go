package lab

import (
	"fmt"
	"os"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/guard"
	"loomlab/probes"
)

// probedTier is a tier on the probe's machine.
type probedTier struct {
	*tier
	tree *probes.Tree // nil where it cannot be probed
	note string       // why not
}

// startQuestion is a [launch] as it travels.
type startQuestion struct {
	ID    int           `json:"id"` // by which the orchestrator calls the tier
	Tier  string        `json:"tier"`
	Argv  []string      `json:"argv"`
	Env   []string      `json:"env"` // beside the probe's own
	CPUs  string        `json:"cpus"`
	Lines bool          `json:"lines"` // its stdout are lines for the orchestrator
	Stdin bool          `json:"stdin"`
	Grace time.Duration `json:"grace"`
}

type startAnswer struct {
	PID  int    `json:"pid"`
	CPUs int    `json:"cpus"` // that it may run on; 0: not known
	Note string `json:"note"` // why it cannot be probed, or ""
}

// Events of a tier. Output is cut as it comes, not at its lines.
type tierEvent struct {
	ID    int           `json:"id"`
	Data  []byte        `json:"data,omitempty"`
	Ended *guard.Status `json:"ended,omitempty"`
	Lost  bool          `json:"lost,omitempty"` // its guard died without a word
}

// start starts a tier behind a guard of this machine's. The tier outlives neither
// the probe, which the guard watches, nor the orchestrator, which the probe does.
func (p *probeServer) start(q startQuestion) (any, error) {
	if len(q.Argv) == 0 {
		return nil, fmt.Errorf("no command")
	}
	l := launch{tier: q.Tier, argv: q.Argv, place: launcher{Launcher: experiment.Launcher{CPUs: q.CPUs}}, stdin: q.Stdin, grace: q.Grace,
		log: eventWriter{p.link, "log", q.ID}}
	if len(q.Env) > 0 {
		l.env = append(os.Environ(), q.Env...)
	}
	if q.Lines {
		l.lines = func(line []byte) { _ = p.link.tell("line", tierEvent{ID: q.ID, Data: line}) } // its reader finds out
	}
	t, err := start(p.self, l)
	if err != nil {
		return nil, err
	}
	probed := &probedTier{tier: t}
	if probed.tree, err = probes.NewTree(probes.NewFS("/"), t.guard.Process.Pid, probes.SkipRoot); err != nil {
		probed.note = err.Error()
	}
	p.mu.Lock()
	closed := p.closed
	p.tiers[q.ID] = probed
	p.mu.Unlock()
	if closed { // it came between the orchestrator's end and this one's
		probed.abandon()
		return nil, fmt.Errorf("the probe is ending")
	}
	go p.follow(q.ID, t)
	return startAnswer{PID: t.pid, CPUs: allowedCPUs(t), Note: probed.note}, nil
}

// follow tells how a tier ends, and when nothing of it is left.
func (p *probeServer) follow(id int, t *tier) {
	<-t.done
	_ = p.link.tell("ended", tierEvent{ID: id, Ended: &t.exit, Lost: t.lost})
	<-t.gone
	_ = p.link.tell("gone", tierEvent{ID: id})
}

// eventWriter sends what is written to it as events.
type eventWriter struct {
	link *link
	op   string
	id   int
}

func (w eventWriter) Write(b []byte) (int, error) {
	return len(b), w.link.tell(w.op, tierEvent{ID: w.id, Data: b})
}

// abandon ends a tier as a guard does whose orchestrator has died.
func (t *probedTier) abandon() {
	_ = t.lifeline.Close()
	select {
	case <-t.gone:
	case <-time.After(guard.AbandonedGrace + time.Second):
		t.stop()
	}
}

type tierQuestion struct {
	ID       int    `json:"id"`
	Data     []byte `json:"data,omitempty"`     // for its stdin
	Detailed bool   `json:"detailed,omitempty"` // with each thread
	Figure   string `json:"figure,omitempty"`
	Port     int    `json:"port,omitempty"`
}

func (p *probeServer) tierOf(id int) (*probedTier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tiers[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("no tier %d was started here", id)
}

func (p *probeServer) stdin(q tierQuestion) (any, error) {
	t, err := p.tierOf(q.ID)
	if err != nil {
		return nil, err
	}
	if t.tier.stdin == nil {
		return nil, fmt.Errorf("the tier has no stdin")
	}
	_, err = t.tier.stdin.Write(q.Data)
	return nothing{}, err
}

func (p *probeServer) interrupt(q tierQuestion) (any, error) {
	t, err := p.tierOf(q.ID)
	if err == nil {
		t.interrupt()
	}
	return nothing{}, err
}

// stop ends a tier; its answer comes when nothing of it is left.
func (p *probeServer) stop(q tierQuestion) (any, error) {
	t, err := p.tierOf(q.ID)
	if err != nil {
		return nil, err
	}
	t.tier.stop()
	p.mu.Lock()
	delete(p.tiers, q.ID)
	p.mu.Unlock()
	return nothing{}, nil
}

type sampleAnswer struct {
	Sample probes.Sample `json:"sample"`
	Flags  []string      `json:"flags,omitempty"` // of its JVM, which a sample leaves out
}

func (p *probeServer) sample(q tierQuestion) (any, error) {
	t, err := p.treeOf(q.ID)
	if err != nil {
		return nil, err
	}
	read := (*probes.Tree).Sample
	if q.Detailed {
		read = (*probes.Tree).Detailed
	}
	a := sampleAnswer{Sample: read(t)}
	if a.Sample.JVM != nil {
		a.Flags = a.Sample.JVM.Flags
	}
	return a, nil
}

func (p *probeServer) treeOf(id int) (*probes.Tree, error) {
	t, err := p.tierOf(id)
	if err != nil {
		return nil, err
	}
	if t.tree == nil {
		return nil, fmt.Errorf("the tier cannot be probed: %s", t.note)
	}
	return t.tree, nil
}

type figureAnswer struct {
	N     int64 `json:"n"`
	Ports []int `json:"ports"`
	Yes   bool  `json:"yes"`
}

// figure reads one thing of a tier that is not in every sample.
func (p *probeServer) figure(q tierQuestion) (any, error) {
	t, err := p.treeOf(q.ID)
	if err != nil {
		return nil, err
	}
	var a figureAnswer
	switch q.Figure {
	case "rss":
		a.N, err = t.RSSNow()
	case "peak":
		a.N, err = t.PeakRSS()
	case "reset":
		err = t.ResetPeak()
	case "ports":
		a.Ports, err = t.ListeningPorts()
	case "owns":
		a.Yes, err = t.Owns(q.Port)
	default:
		err = fmt.Errorf("no figure %q", q.Figure)
	}
	return a, err
}
