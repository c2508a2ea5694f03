package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"loomlab/lab/claim"
	"loomlab/lab/guard"
	"loomlab/lab/phrase"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/lab/verdict"
)

// Observer is told what a run does while it does it. Its methods are called one
// at a time and must return quickly.
type Observer interface {
	Phase(text string)   // what is going on now, in a few words
	Start(record.Start)  // a SUT is ready, or failed to become so
	Cell(record.Cell)    // a cell has ended, and is on disk
	Warn(message string) // something worth a line that stops nothing
	Point(record.Point)  // a second of a tier; from other goroutines than the rest, and it must not wait
}

// Run executes plan into dir, on hosts where tiers are placed there, and returns the finished record. Every cell is on
// disk before the next one starts. When ctx is cancelled, the load is stopped,
// the cell in the making is kept as interrupted, every child is ended, and the
// record says so; the error is then the cause of ctx. Other errors mean that
// the run could not be recorded.
func Run(ctx context.Context, p *plan.Plan, hosts *Hosts, dir *record.Dir, run record.Run, observer Observer) (*record.Run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program's own file, which the tiers are started from: %w", err)
	}
	guard.BecomeSubreaper()
	l := &lab{self: self, plan: p, hosts: hosts, dir: dir, run: &run, observer: observer, logs: logs{open: dir.Log}}
	defer l.logs.close()
	defer func() { l.postgres.remove() }()
	l.takeUp(p.Before)
	run.Status, run.Finished = "running", nil
	run.Doubts, run.Hosts = verdict.RunDoubts(p.Experiment), hosts.record(p)
	if err := dir.WriteRun(run); err != nil {
		return nil, err
	}
	err = errors.Join(l.calibrate(ctx), l.forks(ctx))
	l.failed = l.failed || err != nil
	l.run.Status, l.run.Hosts = l.status(ctx), hosts.record(p)
	finished := time.Now().UTC()
	l.run.Finished = &finished
	err = errors.Join(err, l.judgeClaims(), dir.WriteRun(*l.run))
	if err == nil {
		err = context.Cause(ctx)
	}
	return l.run, err
}

// lab is one run in progress.
type lab struct {
	self     string // this program, which the tiers are started from
	plan     *plan.Plan
	hosts    *Hosts
	dir      *record.Dir
	run      *record.Run
	observer Observer
	logs     logs
	failed   bool                         // a cell or a start has failed, or one could not be saved
	measured []figure                     // the throughputs so far, for the equal rate
	rate     float64                      // the equal rate, once it is fixed
	attempts map[plan.KeyOf]int           // of cells that were interrupted, in a run that was resumed
	costs    []spent                      // of the instrument so far, which show the machine's speed
	postgres *postgresFolder              // nil until a SUT needs one
	flags    map[string]map[string]string // final flags of JVMs that were asked, see finalFlags
}

// forks is the whole story: each SUT afresh, up the ladder, round by round.
func (l *lab) forks(ctx context.Context) error {
	for _, t := range l.plan.Remaining() {
		if skipped, err := l.skipUnfit(t); skipped || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		f, err := l.open(ctx, t)
		if err == nil {
			err = f.climb(ctx, t.Cells)
		}
		if err == nil && t.EqualRate {
			err = f.equalRate(ctx)
		}
		f.close()
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// climb measures the cells of one fork, in order.
func (f *fork) climb(ctx context.Context, cells []plan.CellKey) error {
	var warmed record.Rung // the one that was warmed up last
	for _, key := range cells {
		if err := f.one(ctx, job{CellKey: key, warm: key.Rung() != warmed && f.warms()}); err != nil {
			return err
		}
		warmed = key.Rung()
		if f.recordsAfter(key) {
			if err := f.flight(ctx, key, f.last); err != nil {
				return err
			}
		}
	}
	return nil
}

// one measures a cell, where there is a SUT to measure, and keeps it.
func (f *fork) one(ctx context.Context, j job) error {
	if ctx.Err() != nil {
		return nil
	}
	var cell record.Cell
	if reason := f.plan.Unfit(j.CellKey); f.broken != "" {
		cell = f.skipped(j)
	} else if reason != "" {
		cell = unmeasured(j, "skipped", reason)
	} else {
		cell = f.measure(ctx, j)
	}
	f.last = cell
	if err := f.lab.keep(cell); err != nil {
		return err
	}
	f.notice(cell, j.where())
	return nil
}

// mortal is a tier by the name that sentences have for it.
type mortal struct {
	who string
	*tier
}

// dead are the tiers of the fork that have ended by now.
func (f *fork) dead() []mortal {
	tiers := []mortal{{"the SUT", f.app}, {"the downstream", f.down}}
	if f.db != nil {
		tiers = append(tiers, mortal{"PostgreSQL", f.db.tier})
	}
	return slices.DeleteFunc(tiers, func(t mortal) bool { return !t.hasEnded() })
}

// withDeaths puts before a reason why the fork could not start which tiers have
// died meanwhile, where it does not say so itself: they are the cause of the rest.
func (f *fork) withDeaths(reason error) error {
	for _, t := range f.dead() {
		cause, said := t.cause(), reason.Error()
		byItself := !t.lost && t.exit.Signal == "" // it has words of its own for that
		if strings.Contains(said, cause) || byItself && strings.Contains(said, t.who) {
			continue
		}
		reason = fmt.Errorf("%s %s; then %w", t.who, cause, reason)
	}
	return reason
}

// notice breaks the fork when a tier has died by the end of a cell, or of what came after it at the place that where names.
func (f *fork) notice(cell record.Cell, where string) {
	dead := f.dead()
	if f.broken != "" || len(dead) == 0 {
		return
	}
	t := dead[0]
	f.broken = fmt.Sprintf("%s had died %s", t.who, where)
	if cell.Status == "ok" {
		f.between = fmt.Sprintf("%s %s between two windows, after the one %s", t.who, t.cause(), where)
	}
}

// where names the rung of a job in a sentence.
func (j job) where() string {
	if j.Rate > 0 {
		return fmt.Sprintf("at %s requests offered a second", phrase.Number(j.Rate))
	}
	return fmt.Sprintf("at %d connections", j.Connections)
}

// judgeClaims says what the run, as far as it came, says of the author's claims.
func (l *lab) judgeClaims() error {
	saved, err := record.Open(l.dir.Path())
	if err != nil {
		return fmt.Errorf("the claims cannot be judged: %w", err)
	}
	saved.Run = *l.run
	l.run.Claims = claim.Decide(saved)
	return nil
}

// keep puts a cell on disk and shows it.
func (l *lab) keep(c record.Cell) error {
	if n := l.attempts[l.plan.KeyOf(&c)]; n > 0 {
		c.Attempt = n + 1
	}
	if err := l.dir.AppendCell(c); err != nil {
		return fmt.Errorf("cannot save a cell: %w", err)
	}
	l.remember(c)
	l.observer.Cell(c)
	return nil
}

// remember keeps of a cell what later ones are judged by.
func (l *lab) remember(c record.Cell) {
	if c.Status == "failed" {
		l.failed = true
	}
	l.measured = append(l.measured, figure{c.SUT, c.Fork, c.Connections, throughput(c)})
	if us := verdict.InstrumentUS(c); us > 0 {
		l.costs = append(l.costs, spent{c.SUT, c.Fork, c.Rung(), us})
	}
}

// skipped is the cell of a SUT that is not there (any more).
func (f *fork) skipped(j job) record.Cell {
	status, reason := "skipped", f.broken
	if f.between != "" { // no window saw the death: the first that is missing says it
		status, reason, f.between = "failed", f.between, ""
	}
	if f.neverReady {
		status = "failed"
		reason, _, _ = strings.Cut(f.broken, "\n") // what the SUT said last is in its start
	}
	return unmeasured(j, status, reason)
}

func (l *lab) status(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case l.failed:
		return "failed"
	}
	return "ok"
}

// log is a tier's log; one that cannot be opened loses nothing measured.
func (l *lab) log(tier string) io.Writer {
	w, err := l.logs.of(tier)
	if err != nil {
		l.observer.Warn(fmt.Sprintf("the output of %s is not kept: %v", tier, err))
	}
	return w
}

// skipUnfit keeps the cells of a turn of which none fits: no SUT is started for
// them. It reports whether that was so.
func (l *lab) skipUnfit(t plan.Turn) (bool, error) {
	fits := func(k plan.CellKey) bool { return len(l.plan.Lacks(k)) == 0 }
	if len(t.Cells) == 0 || t.EqualRate || slices.ContainsFunc(t.Cells, fits) {
		return false, nil
	}
	for _, key := range t.Cells {
		if err := l.keep(unmeasured(job{CellKey: key}, "skipped", l.plan.Unfit(key))); err != nil {
			return true, err
		}
	}
	return true, nil
}

// unmeasured is a cell without figures.
func unmeasured(j job, status, reason string) record.Cell {
	return record.Cell{SUT: j.SUT, Fork: j.Fork, Connections: j.Connections, Rate: j.Rate, Round: j.Round,
		Started: time.Now().UTC(), Status: status, Reason: reason}
}
