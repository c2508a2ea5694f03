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

// findLoops marks the groups whose threads all run or wait in epoll, some of them
// in epoll: those are event loops. A Go program is none, since one of its threads
// polls for all and the others sleep.
func (t *Tree) findLoops(alive []*member) {
	polls := map[*ThreadGroup]bool{} // some of its threads wait in epoll, as far as looked
	ruled := map[*ThreadGroup]bool{} // out: one waits elsewhere, so the others need no look
	for _, m := range alive {
		for tid, th := range m.threads {
			g := t.groups[GroupName(th.name)]
			if g == nil || t.loops[g.Name] || ruled[g] {
				continue
			}
			in := t.waitsIn(m, tid)
			polls[g] = polls[g] || epollWaits[in]
			ruled[g] = in != running && !epollWaits[in]
		}
	}
	for g := range polls {
		if polls[g] && !ruled[g] {
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
