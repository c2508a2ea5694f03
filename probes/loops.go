package probes

import "strconv"

// A thread that runs an event loop either runs or waits in epoll. One that is
// found waiting anywhere else (asleep, for a lock, for a reply) blocks all
// connections of its loop meanwhile. Where a thread waits is the kernel function
// in /proc/PID/task/TID/wchan; it says "0" of a running thread, and of one that
// the reader may not trace, whose loops then stay unknown.

// epollWaits are the functions in which epoll_wait sleeps: since Linux 6.x, and before.
var epollWaits = map[string]bool{"do_epoll_wait": true, "ep_poll": true}

// running is what wchan says of a thread that does not wait.
const running = "0"

// waitsIn returns the kernel function that a thread waits in, or "" when it cannot be read.
func (t *Tree) waitsIn(m *member, tid int) string {
	data, err := t.fs.read(t.fs.proc(m.PID, "task/"+strconv.Itoa(tid)+"/wchan"), t.buffer())
	if err != nil {
		return ""
	}
	return string(data)
}

// findLoops marks the groups of which every thread waits in epoll at once: those
// are event loops at rest. A Go program is none, since one of its threads polls for all.
func (t *Tree) findLoops(alive []*member) {
	inEpoll := map[*ThreadGroup]int64{}
	for _, m := range alive {
		for tid, th := range m.threads {
			if g := t.groups[GroupName(th.name)]; g != nil && !t.loops[g.Name] && epollWaits[t.waitsIn(m, tid)] {
				inEpoll[g]++
			}
		}
	}
	for g, n := range inEpoll {
		if n == g.Threads {
			t.loops[g.Name] = true
		}
	}
}

// lookAtLoops counts where the known event loops are at the moment.
func (t *Tree) lookAtLoops(alive []*member) {
	if len(t.loops) == 0 {
		return
	}
	for _, m := range alive {
		for tid, th := range m.threads {
			name := GroupName(th.name)
			if !t.loops[name] {
				continue
			}
			in := t.waitsIn(m, tid)
			if in == "" {
				continue // it has ended
			}
			g := t.groups[name]
			g.Looks++
			if in != running && !epollWaits[in] {
				g.Blocked++
			}
		}
	}
}
