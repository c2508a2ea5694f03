package lab

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// A downstream of somebody else's takes the place of ours where the experiment gives its
// command line. It has no account and no gauge, so nothing that rests on them can
// be had; how long it takes when it is asked alone is measured instead.

const (
	commandReady = 60 * time.Second // a JVM that compiles its source first
	// soloRequests are sent one after the other on one connection, of which the
	// last ones count: Linux acknowledges the first segments of a connection at
	// once, and delays later ones where a server writes head and body apart.
	soloRequests = 24
	soloCounted  = 8
)

// startDownstreamCommand starts the downstream that takes the place of ours, waits until
// it answers, and asks it alone.
func (f *fork) startDownstreamCommand(ctx context.Context, listen string, port int) error {
	values := experiment.Placeholders{"address": listen, "port": strconv.Itoa(port), "run_dir": f.lab.dir.Path()}
	maps.Copy(values, f.site(record.TierDownstream).placeholders(f.sut))
	argv, err := f.plan.DownstreamCommand(*f.sut, values)
	if err != nil {
		return err
	}
	t, err := start(f.lab.self, launch{tier: "downstream", place: f.launcher("downstream"), argv: argv, log: f.lab.log("downstream")})
	if err != nil {
		return err
	}
	f.down, f.downProber, f.mute = t, f.proberOf(record.TierDownstream, f.downURL), true
	f.watch.sockets(f.sockets())
	if _, err := f.watch.add(t); err != nil {
		f.lab.observer.Warn(fmt.Sprintf("the downstream cannot be probed: %v", err))
	}
	limit := time.Duration(f.sut.Downstream.Delay) + readyAttempt
	began := time.Now()
	for {
		_, err := f.downProber.get(ctx, "/", limit)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case t.hasEnded():
			return fmt.Errorf("the downstream %s%s", t.cause(), t.lastWords())
		case err == nil: // whatever it says to /
			f.soloP50, err = solo(ctx, f.downProber, limit)
			return err
		case time.Since(began) > commandReady:
			return fmt.Errorf("the downstream did not answer on port %d within %v: %s%s", port, commandReady, notReady(err), t.lastWords())
		}
		sleep(ctx, readyInterval)
	}
}

// solo is the median time of answers to requests that come one at a time.
func solo(ctx context.Context, p *prober, limit time.Duration) (time.Duration, error) {
	if p.site != nil {
		return p.site.solo(ctx, p.base, limit)
	}
	transport := p.client.Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = false
	client := http.Client{Timeout: limit, Transport: transport}
	defer client.CloseIdleConnections()
	var took []time.Duration
	for range soloRequests {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/", nil)
		if err != nil {
			return 0, err
		}
		sent := time.Now()
		resp, err := client.Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err != nil {
			return 0, fmt.Errorf("the downstream does not answer requests one at a time: %w", err)
		}
		took = append(took, time.Since(sent))
	}
	counted := took[soloRequests-soloCounted:]
	slices.Sort(counted)
	return counted[soloCounted/2], nil
}
