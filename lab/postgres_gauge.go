package lab

import (
	"regexp"
	"sync"
	"time"

	"loomlab/clock"
	"loomlab/lab/record"
	"loomlab/probes"
)

// busyGauge counts the busy connections of a PostgreSQL, as the downstream's
// gauge counts requests in flight: what caps it is a pool in front of the
// database. A backend says in its title what it does ("… SELECT", "… idle"), so
// looking costs the database nothing.
type busyGauge struct {
	fs   probes.FS
	tree *probes.Tree
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	samples []busySample
}

// busySample is one look at all backends.
type busySample struct {
	at         float64 // clock seconds
	open, busy int64
}

const (
	busyEvery  = 50 * time.Millisecond
	busyRescan = 20    // looks between two searches for new backends: pools keep theirs
	busyKeep   = 12000 // samples: windows of ten minutes
)

// backendTitle matches that of a process with a client: user, database, address,
// and what it does. Processes of the server itself have other titles.
var backendTitle = regexp.MustCompile(`^postgres: (?:[^ ]+: )?[^ ]+ [^ ]+ (?:\[local\]|[^ ]+\(\d+\)) (.+)$`)

// backend reads a title: whether it is a client's, and whether it is at work. A
// transaction that waits for its client keeps a connection busy too.
func backend(title string) (client, busy bool) {
	m := backendTitle.FindStringSubmatch(title)
	return m != nil, m != nil && m[1] != "idle"
}

func newBusyGauge(fs probes.FS, tree *probes.Tree) *busyGauge {
	g := &busyGauge{fs: fs, tree: tree, quit: make(chan struct{}), done: make(chan struct{})}
	go g.run()
	return g
}

func (g *busyGauge) run() {
	defer close(g.done)
	tick := time.NewTicker(busyEvery)
	defer tick.Stop()
	var pids []int
	for looks := 0; ; looks++ {
		select {
		case <-g.quit:
			return
		case <-tick.C:
		}
		if looks%busyRescan == 0 {
			pids = g.tree.PIDs()
		}
		s := busySample{at: clock.Now().Seconds()}
		for _, pid := range pids {
			title, err := g.fs.Title(pid)
			if err != nil {
				continue // it has ended, or this system has no titles
			}
			client, busy := backend(title)
			s.open += count01(client)
			s.busy += count01(busy)
		}
		g.mu.Lock()
		if len(g.samples) == busyKeep {
			g.samples = g.samples[1:]
		}
		g.samples = append(g.samples, s)
		g.mu.Unlock()
	}
}

func count01(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// begin drops the samples of the cell before.
func (g *busyGauge) begin() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.samples = nil
}

// between summarises a window; nil without a sample, or a client, in it.
func (g *busyGauge) between(opened, closed float64) *record.Database {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var d record.Database
	for _, s := range g.samples {
		if s.at < opened || s.at > closed {
			continue
		}
		d.Samples++
		d.BusyMean += float64(s.busy)
		d.BusyMax, d.Connections = max(d.BusyMax, s.busy), max(d.Connections, s.open)
	}
	if d.Samples == 0 || d.Connections == 0 {
		return nil
	}
	d.BusyMean /= float64(d.Samples)
	return &d
}

func (g *busyGauge) stop() {
	if g == nil {
		return
	}
	close(g.quit)
	<-g.done
}

// joinDatabase adds what the database did in the window.
func (w *window) joinDatabase() {
	c, db := &w.cell, w.f.db
	if db == nil {
		return
	}
	if p := c.Probes[record.TierPostgres]; p != nil {
		p.RSSBytes = nil
		p.Unavailable["rss_bytes"] = "its processes share their buffers: a sum over them counts those many times"
	}
	c.Database = db.gauge.between(w.opened, w.closed)
	switch d := c.Database; {
	case db.tier == nil:
		c.Unavailable["database"] = "the database is the user's own, no child of the lab"
		c.Unavailable["probes."+record.TierPostgres] = c.Unavailable["database"]
	case d == nil:
		c.Unavailable["database"] = "no client's process was seen in the window"
	case c.Load.ThroughputPerS != nil && *c.Load.ThroughputPerS > 0:
		ms := d.BusyMean / *c.Load.ThroughputPerS * 1e3
		d.BusyMS = &ms
	}
}
