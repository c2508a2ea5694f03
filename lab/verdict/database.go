package verdict

import (
	"fmt"
	"math"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// The rules about the database: how many of its connections are busy, and
// whether they wait for something or for a CPU.

// query is how long a request keeps a database connection busy; 0: unknown.
func (f *figures) query() float64 {
	if f.busy == 0 || f.ok == 0 {
		return 0
	}
	return f.busy / f.ok
}

// onCPU is the share of the busy connections' time that their backends ran or
// waited for a CPU; the rest they slept, or waited for a lock or the disk.
func (f *figures) onCPU() float64 {
	if !f.db.known || f.busy == 0 {
		return 0
	}
	return min(1, f.db.demand()/f.busy)
}

// databasePool: all database connections are busy, and more requests want one.
func databasePool(f *figures) *record.Verdict {
	d := f.cell.Database
	if d == nil || f.busy == 0 || f.databaseShort() {
		return nil
	}
	limit := float64(d.Connections)
	if limit < 1 || limit > 0.97*f.n || f.busy < mostly*limit {
		return nil
	}
	v := &record.Verdict{Kind: record.VerdictDBPool, Evidence: f.databaseGauge() + "; " + f.utilisation(),
		Sure: f.busy >= nearlyAll*limit && !f.machineFull() && !f.engineSuspect()}
	v.Text = fmt.Sprintf("%d pooled database connections are the limit. %s/s is %s of %d ÷ %s s = %s/s, the time that a request keeps one busy%s.",
		d.Connections, phrase.Number(f.ok), phrase.Percent(f.busy/limit), d.Connections, phrase.Number3(f.query()), phrase.Number3(limit/f.query()), f.queue(limit))
	if declared := f.about.Limits.DBPool; declared > 0 && int64(declared) != d.Connections {
		v.Text += fmt.Sprintf(" (A pool of %d was declared.)", declared)
	}
	if f.machineFull() {
		v.Text += fmt.Sprintf(" The machine's CPUs are busy too (%s of %d), which makes every query take longer.", phrase.Number3(f.used()), f.about.Cores)
	}
	return v
}

// databaseShort says that the database wants more CPU than it gets, and that its
// connections are busy for that reason.
func (f *figures) databaseShort() bool {
	full := f.machineFull() || f.db.cpus > 0 && f.db.cores >= cpuFull*f.db.cpus
	return full && f.onCPU() >= 0.5 && f.db.cores > f.sut.cores && f.db.cores > f.load.cores
}

// databaseCPU: the database uses up the CPUs.
func databaseCPU(f *figures) *record.Verdict {
	if !f.databaseShort() {
		return nil
	}
	v := &record.Verdict{Kind: record.VerdictCPU, Evidence: f.databaseGauge() + "; " + f.utilisation(),
		Sure: f.db.cores >= 0.6*f.db.cpus && f.used() >= cpuSure*float64(f.about.Cores) && f.others < 0.05*float64(f.about.Cores)}
	v.Text = fmt.Sprintf("PostgreSQL's CPU is the limit: it uses %s of %s, and its %s busy connections run or wait for a CPU %s of the time.",
		phrase.Number3(f.db.cores), phrase.Cores(f.db.cpus), phrase.Number3(f.busy), phrase.Percent(f.onCPU()))
	if f.ok > 0 {
		v.Text += fmt.Sprintf(" A request costs %s of it: %s ÷ %s s = %s/s.", micros(f.db.cores/f.ok), phrase.Number3(f.db.cores), phrase.Number3(f.db.cores/f.ok), phrase.Number(f.ok))
	}
	return v
}

// databaseWorkers: as many requests as there are worker threads are in the
// downstream and in the database together.
func databaseWorkers(f *figures) *record.Verdict {
	workers := float64(f.about.Limits.Workers)
	if workers == 0 || workers > 0.97*f.n || f.busy == 0 || f.flight == 0 || f.sutFull() {
		return nil
	}
	held := f.flight + f.busy
	if math.Abs(held-workers) > 0.1*workers {
		return nil
	}
	each := held / f.ok
	return &record.Verdict{Kind: record.VerdictWorkerThreads, Sure: held >= nearlyAll*workers && !f.machineFull() && !f.engineSuspect(),
		Evidence: f.gauge() + "; " + f.databaseGauge() + "; " + f.utilisation(),
		Text: fmt.Sprintf("%s worker threads are the limit: %s requests are in the downstream and %s in the database. %s/s is %s of %s ÷ %s s = %s/s%s.",
			phrase.Number(workers), phrase.Number3(f.flight), phrase.Number3(f.busy), phrase.Number(f.ok), phrase.Percent(held/workers), phrase.Number(workers), phrase.Number3(each), phrase.Number3(workers/each), f.queue(workers))}
}

// databaseGauge is the evidence of the database's gauge.
func (f *figures) databaseGauge() string {
	d := f.cell.Database
	if d == nil {
		return ""
	}
	return fmt.Sprintf("busy database connections: mean %s, most %d, of %d; a request keeps one busy for %s", phrase.Number3(d.BusyMean), d.BusyMax, d.Connections, phrase.Millis(f.query()))
}
