package verdict

import (
	"fmt"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
	"loomlab/probes"
)

// Looks at event loops that a verdict needs, and the share of them that must
// have found a loop waiting elsewhere than in epoll.
const (
	fewestLooks  = 6
	loopsBlocked = 0.8
)

// blockedLoop: the threads of an event loop sleep, or wait for a lock or a reply,
// and with them all their connections.
func blockedLoop(f *figures) *record.Verdict {
	if !f.closed() || !f.sutIdle() || f.share() >= mostly || f.bad >= manyBad || f.ok == 0 {
		return nil
	}
	g := f.blockedGroup()
	if g == nil {
		return nil
	}
	share, loops := blockedShare(g), float64(g.Threads)
	held := loops / f.ok
	return &record.Verdict{Kind: record.VerdictBlockedLoop, Sure: share >= 0.95 && g.Looks >= 2*fewestLooks && f.n > loops,
		Text: fmt.Sprintf("blocked event loops are the limit: %s of group %s wait elsewhere than in epoll %s of the time, while the SUT's CPUs idle. A request holds its loop for %s: %s ÷ %s s = %s/s%s.",
			threads(g.Threads), g.Name, phrase.Percent(share), phrase.Millis(held), phrase.Number(loops), phrase.Number3(held), phrase.Number(f.ok), f.queue(loops)),
		Evidence: fmt.Sprintf("%d of %d looks at the threads of %s found them asleep or waiting for a lock or a reply; %s", g.Blocked, g.Looks, g.Name, f.utilisation())}
}

// blockedGroup is the event loops of the SUT that are blocked most, if they are.
func (f *figures) blockedGroup() *probes.ThreadGroup {
	p := f.cell.Probes[record.TierSUT]
	if p == nil {
		return nil
	}
	var worst *probes.ThreadGroup
	for i := range p.Groups {
		g := &p.Groups[i]
		if g.Looks >= fewestLooks && g.Threads > 0 && blockedShare(g) >= loopsBlocked && (worst == nil || blockedShare(g) > blockedShare(worst)) {
			worst = g
		}
	}
	return worst
}

func blockedShare(g *probes.ThreadGroup) float64 { return float64(g.Blocked) / float64(g.Looks) }

func threads(n int64) string {
	if n == 1 {
		return "the one thread"
	}
	return fmt.Sprintf("the %d threads", n)
}
