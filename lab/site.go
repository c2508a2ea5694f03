package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"loomlab/clock"
	"loomlab/lab/guard"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/probes"
)

// site is another machine while the lab's probe runs there. The nil one is this
// machine, where nobody need be asked.
type site struct {
	name    string
	host    record.Host
	address string // at which other machines reach its tiers
	facts   helloAnswer
	self    string // the program there
	link    *link
	carrier *tier // the command that carries the link: ssh, or the host's own
	master  *tier // the ssh that the others go through; nil without ssh
	folder  string
	clock   clockOffset
	jdks    map[string]string // homes there, by what was asked for
	folders map[string]string // copied there, by their paths here
	scratch string            // folder for what tiers there write; "" where none does

	mu    sync.Mutex
	last  int
	tiers map[int]*awayTier
	lost  chan struct{} // closed when the connection is
}

// awayTier is what this end keeps of a tier on a site.
type awayTier struct {
	site *site
	id   int
	tier *tier
	cpus int // that it may run on; 0: not known
	log  *redactor
	each func(line []byte) // with times as theirClock of [launch] says
	note string            // why it cannot be probed
	// news are the events of the tier, handled in their order beside the link's
	// reader: what a line of the load sets off asks the probe in its turn.
	news chan tierNews
}

// tierNews is an event of a tier, or that nobody can be asked about it any more.
type tierNews struct {
	op string
	tierEvent
	lost error
}

// newsKept is how many events of a tier may wait before the link does.
const newsKept = 4096

// askLimit bounds questions that take no time by themselves.
const askLimit = 15 * time.Second

// ask asks the probe. The error names the host.
func (s *site) ask(ctx context.Context, limit time.Duration, op string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.link.ask(ctx, op, body, result)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", limit)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// watch keeps the heartbeat, which also compares the clocks, until the connection
// ends or the other end is silent.
func (s *site) watch() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-s.lost:
			return
		case <-tick.C:
		}
		if silent := s.link.silence(); silent > silenceLimit {
			s.lose(fmt.Errorf("nothing was heard of it for %v", silent.Round(time.Second)))
			return
		}
		go s.compareClock()
	}
}

// compareClock asks once what time it is there. What is lost shows as silence.
func (s *site) compareClock() {
	ctx, cancel := context.WithTimeout(context.Background(), silenceLimit)
	defer cancel()
	sent := clock.Now()
	var there clockAnswer
	if s.link.ask(ctx, "clock", nothing{}, &there) == nil {
		s.clock.add(sent, clock.Time(there.At), clock.Now())
	}
}

// lose ends the connection: every tier there counts as lost. The command that
// carried it is ended, and with it whatever it still sends.
func (s *site) lose(why error) {
	s.mu.Lock()
	select {
	case <-s.lost:
		s.mu.Unlock()
		return
	default:
	}
	why = fmt.Errorf("the connection to %s was lost: %w", s.name, why)
	close(s.lost)
	tiers := s.tiers
	s.tiers = map[int]*awayTier{}
	s.mu.Unlock()
	s.link.breakOff(why)
	for _, t := range tiers {
		go func() { t.news <- tierNews{op: "lost", lost: why} }() // after what has come before
	}
	go s.hangUp()
}

// hangUp ends the commands that carry the connection.
func (s *site) hangUp() {
	for _, t := range []*tier{s.carrier, s.master} {
		if t != nil {
			t.stop()
		}
	}
}

// byeLimit is how long a probe may take to end its tiers when all is well.
const byeLimit = stopGrace + 5*time.Second

// close ends the probe and the connection.
func (s *site) close() {
	_ = s.ask(context.Background(), heartbeat, "bye", nothing{}, nil) // or the end of its stdin says so
	select {
	case <-s.carrier.gone:
	case <-s.lost:
	case <-time.After(byeLimit):
	}
	s.mu.Lock()
	select {
	case <-s.lost:
	default:
		close(s.lost)
	}
	s.mu.Unlock()
	s.hangUp()
}

// notice handles the probe's events.
func (s *site) notice(op string, body json.RawMessage) (any, error) {
	var e tierEvent
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	s.mu.Lock()
	t := s.tiers[e.ID]
	s.mu.Unlock()
	if t == nil {
		return nil, nil
	}
	if op == "gone" {
		s.mu.Lock()
		delete(s.tiers, e.ID)
		s.mu.Unlock()
	}
	t.news <- tierNews{op: op, tierEvent: e}
	return nil, nil
}

// follow handles the events of a tier until it is gone.
func (t *awayTier) follow() {
	ended := false
	end := func(how guard.Status, lost bool, why error) {
		if !ended {
			ended = true
			t.tier.exit, t.tier.lost, t.tier.broken = how, lost, why
			close(t.tier.done)
		}
	}
	for {
		switch n := <-t.news; n.op {
		case "log":
			_, _ = t.log.Write(n.Data) // as of tiers here: a lost line of a log is no reason to stop
		case "line":
			t.each(n.Data)
		case "ended":
			end(*n.Ended, n.Lost, nil)
		case "gone", "lost":
			end(guard.Status{}, true, n.lost)
			t.log.flush()
			close(t.tier.gone)
			return
		}
	}
}

// start starts a tier there, as [start] does here. A tier of this program's, self,
// is there one of the program there.
func (s *site) start(self string, l launch) (*tier, error) {
	if len(l.argv) > 0 && l.argv[0] == self {
		l.argv = append([]string{s.self}, l.argv[1:]...)
	}
	t := &tier{name: l.tier, argv: l.argv, done: make(chan struct{}), gone: make(chan struct{}), tail: &tail{}, grace: l.grace}
	if t.grace == 0 {
		t.grace = stopGrace
	}
	away := &awayTier{site: s, tier: t, each: s.timed(l), news: make(chan tierNews, newsKept)}
	away.log = &redactor{w: io.MultiWriter(l.log, t.tail), secrets: record.Secrets(l.add, l.argv)}
	t.away = away
	s.mu.Lock()
	s.last++
	away.id = s.last
	s.tiers[away.id] = away
	s.mu.Unlock()
	q := startQuestion{ID: away.id, Tier: l.tier, Argv: l.argv, Env: l.add, CPUs: l.place.CPUs, Lines: l.lines != nil, Stdin: l.stdin, Grace: t.grace}
	var a startAnswer
	if err := s.ask(context.Background(), askLimit, "start", q, &a); err != nil {
		s.mu.Lock()
		delete(s.tiers, away.id)
		s.mu.Unlock()
		return nil, err
	}
	t.pid, away.cpus, away.note = a.PID, a.CPUs, a.Note
	go away.follow()
	if l.stdin {
		t.stdin = awayStdin{away}
	}
	return t, nil
}

// timed is what takes the lines of a tier there, on the clock that is asked for.
func (s *site) timed(l launch) func([]byte) {
	if l.lines == nil || l.theirClock {
		return l.lines
	}
	return func(line []byte) { l.lines(s.onThisClock(line)) }
}

// awayStdin is the stdin of a tier on a site.
type awayStdin struct{ *awayTier }

func (w awayStdin) Write(b []byte) (int, error) {
	err := w.site.ask(context.Background(), askLimit, "stdin", tierQuestion{ID: w.id, Data: b}, nil)
	return len(b), err
}

func (w awayStdin) Close() error { return nil } // it goes with the tier

// stop ends the tier and returns when nothing of it is left, or nobody can be asked.
func (t *awayTier) stop() {
	_ = t.site.ask(context.Background(), t.tier.grace+askLimit, "stop", tierQuestion{ID: t.id}, nil) // an error: it is lost, or has been stopped
	select {
	case <-t.tier.gone:
	case <-t.site.lost:
	case <-time.After(askLimit): // it was never heard of again
	}
}

func (t *awayTier) interrupt() {
	_ = t.site.ask(context.Background(), askLimit, "interrupt", tierQuestion{ID: t.id}, nil)
}

// awayTree samples a tier on a site.
type awayTree struct{ *awayTier }

func (t awayTree) Sample() probes.Sample   { return t.sample(false) }
func (t awayTree) Detailed() probes.Sample { return t.sample(true) }

func (t awayTree) sample(detailed bool) probes.Sample {
	var a sampleAnswer
	if err := t.site.ask(context.Background(), askLimit, "sample", tierQuestion{ID: t.id, Detailed: detailed}, &a); err != nil {
		s := probes.Sample{At: clock.Now().Seconds(), Unavailable: map[string]string{}}
		for _, field := range []string{"cpu_s", "run_delay_s", "rss_bytes", "threads", "fds", "jvm"} {
			s.Unavailable[field] = err.Error()
		}
		return s
	}
	if a.Sample.JVM != nil {
		a.Sample.JVM.Flags = a.Flags
	}
	a.Sample.At = t.site.clock.here(a.Sample.At)
	return a.Sample
}

func (t awayTree) figure(what string, port int) (a figureAnswer, err error) {
	err = t.site.ask(context.Background(), askLimit, "figure", tierQuestion{ID: t.id, Figure: what, Port: port}, &a)
	return a, err
}

func (t awayTree) RSSNow() (int64, error) {
	a, err := t.figure("rss", 0)
	return a.N, err
}

func (t awayTree) PeakRSS() (int64, error) {
	a, err := t.figure("peak", 0)
	return a.N, err
}

func (t awayTree) ResetPeak() error {
	_, err := t.figure("reset", 0)
	return err
}

func (t awayTree) ListeningPorts() ([]int, error) {
	a, err := t.figure("ports", 0)
	return a.Ports, err
}

func (t awayTree) Owns(port int) (bool, error) {
	a, err := t.figure("owns", port)
	return a.Yes, err
}

// jdk is the home of the JDK there that a SUT asks for.
func (s *site) jdk(ctx context.Context, spec string) (string, error) {
	if home, asked := s.jdks[spec]; asked {
		return home, nil
	}
	var a jdkAnswer
	if err := s.ask(ctx, time.Minute, "jdk", jdkQuestion{spec}, &a); err != nil {
		return "", err
	}
	s.jdks[spec] = a.Home
	return a.Home, nil
}

// record is what a run's record keeps of the site.
func (s *site) record() record.HostRun {
	h := record.HostRun{Name: s.name, Address: s.address, Machine: s.facts.Machine, Clock: s.clock.record()}
	if s.facts.BusyCPUs >= 0 {
		h.BusyCPUs = &s.facts.BusyCPUs
	}
	h.Reach = plan.HostText(s.host)
	return h
}
