package lab

import (
	"context"
	"time"

	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// child is one process of the load tier: most often the only one.
type child struct {
	place launcher
	argv  []string
	lines func([]byte)
	// theirClock says that lines get the times of the host's clock, not of this one's.
	theirClock bool
}

// runEngine loads the SUT by our engine, or by several of it that share the load.
func (w *window) runEngine(ctx context.Context) {
	places := w.f.generators(w.job.Rung())
	argv := w.f.plan.EngineArgv(*w.f.sut, w.f.url, w.job.Rung(), w.job.warm)
	if len(places) > 1 {
		w.runGenerators(ctx, places, argv)
		return
	}
	if !w.drive(ctx, []child{{place: places[0], argv: argv, lines: w.line}}, true) {
		return
	}
	if w.result == nil && w.cell.Status == "ok" && ctx.Err() == nil {
		w.fail("the load engine %s%s", w.loads[0].cause(), w.loads[0].lastWords())
	}
}

// runGenerators does it by several. Where one is lost, what the others counted is
// half a load: the cell fails, without figures.
func (w *window) runGenerators(ctx context.Context, places []launcher, argv []string) {
	gs := newGenerators(places, w.event)
	w.several = gs
	var children []child
	for i, place := range places {
		children = append(children, child{place, plan.OfGenerator(argv, i, len(places)), func(b []byte) { gs.line(i, b) }, true})
	}
	if !w.drive(ctx, children, true) {
		return
	}
	w.result = gs.result
	if w.resultErr = gs.err; gs.err == nil && gs.result == nil && ctx.Err() == nil && w.cell.Status == "ok" {
		w.fail("the generators gave no result")
	}
}

// drive starts the load and waits until it, the SUT or the caller ends it. With
// held its processes have a stdin, on which words are given. It is false when the
// cell has failed.
func (w *window) drive(ctx context.Context, children []child, held bool) bool {
	f := w.f
	w.loads = nil
	defer func() { stopAll(w.loads) }()
	if !w.startLoads(children, held) {
		return false
	}
	most := w.mostTime()
	limit := time.NewTimer(most)
	defer limit.Stop()
	gone := make(chan struct{}, len(w.loads))
	for _, load := range w.loads {
		go func() {
			<-load.gone
			gone <- struct{}{}
		}()
	}
	for range w.loads {
		select {
		case <-gone:
			if w.several == nil {
				break
			}
			if lost := w.several.lost(); lost != nil && ctx.Err() == nil {
				w.fail("%v %s in the middle of the cell, %.1f s after it began%s", lost, lost.tier.cause(), time.Since(w.began).Seconds(), lost.tier.lastWords())
				return false
			}
		case <-f.app.ended():
			w.fail("the SUT %s in the middle of the cell, %.1f s after it began%s", f.app.cause(), time.Since(w.began).Seconds(), f.app.lastWords())
			return false
		case <-f.down.ended():
			w.fail("the downstream %s in the middle of the cell%s", f.down.cause(), f.down.lastWords())
			return false
		case <-f.db.ended():
			w.fail("PostgreSQL %s in the middle of the cell%s", f.db.tier.cause(), f.db.tier.lastWords())
			return false
		case <-limit.C:
			w.fail("the load did not end within %v", most)
			return false
		case <-ctx.Done():
			w.interruptLoads()
			return true
		}
	}
	return true
}

// startLoads starts the processes of the load tier and watches them. It is false,
// and the cell has failed, when one cannot be started.
func (w *window) startLoads(children []child, held bool) bool {
	f := w.f
	if w.several != nil { // what they say waits until all are there
		w.several.mu.Lock()
		defer w.several.mu.Unlock()
	}
	for i, c := range children {
		load, err := start(f.lab.self, launch{tier: record.TierLoad, place: c.place, argv: c.argv, log: f.lab.log(record.TierLoad), lines: c.lines, theirClock: c.theirClock, stdin: held})
		if err != nil {
			w.fail("%v", err)
			return false
		}
		w.loads = append(w.loads, load)
		if w.several != nil {
			w.several.all[i].tier = load
		}
		if _, err := f.watch.add(load); err != nil {
			w.cell.Unavailable["probes.load"] = err.Error()
		}
	}
	return true
}

// interruptLoads asks the load to say what it has so far and waits until it is gone.
func (w *window) interruptLoads() {
	for _, load := range w.loads {
		load.interrupt()
	}
	limit := time.After(2 * time.Second)
	for _, load := range w.loads {
		select {
		case <-load.gone:
		case <-limit:
			stopAll(w.loads) // they do not listen
		}
	}
	for _, load := range w.loads {
		<-load.gone
	}
}

// stopAll ends tiers at once, so that one that is slow does not hold up another.
func stopAll(tiers []*tier) {
	done := make(chan struct{})
	for _, t := range tiers {
		go func() {
			t.stop()
			done <- struct{}{}
		}()
	}
	for range tiers {
		<-done
	}
}

// start ends the warm-up. An error shows as the load's end.
func (w *window) start() {
	for _, load := range w.loads {
		go func() { _, _ = load.stdin.Write([]byte("start\n")) }()
	}
}
