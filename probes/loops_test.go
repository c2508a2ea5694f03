package probes

import (
	"fmt"
	"testing"
)

// wait writes where a thread waits.
func (m fakeMachine) wait(pid int, in string) {
	dir := fmt.Sprintf("proc/%d/task/%d/", pid, pid)
	m.write(dir+"wchan", in)
}

func TestLoopsThatWaitElsewhere(t *testing.T) {
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 100, 0)
	m.process(101, 100, 600, "S", 100, 0)
	tree := m.tree(100)
	look := func(first, second string, detailed bool) ThreadGroup {
		m.wait(100, first)
		m.wait(101, second)
		if !detailed {
			tree.Sample()
			return ThreadGroup{}
		}
		return tree.Detailed().Groups[0]
	}
	// One thread that polls for all is no event loop: the others sleep by design.
	if g := look("do_epoll_wait", "futex_do_wait", true); g.Looks != 0 {
		t.Errorf("one of two in epoll: %+v", g)
	}
	if g := look("0", "0", true); g.Looks != 0 {
		t.Errorf("both run, or may not be traced: %+v", g)
	}
	before := look("ep_poll", "0", true)
	if before.Looks != 2 || before.Blocked != 0 {
		t.Errorf("one at rest, one at work: %+v", before)
	}
	look("hrtimer_nanosleep", "0", false)              // one asleep, one runs
	look("futex_do_wait", "do_epoll_wait", false)      // one waits for a lock
	after := look("sk_wait_data", "do_sys_poll", true) // both for replies
	if looks, blocked := after.Looks-before.Looks, after.Blocked-before.Blocked; looks != 6 || blocked != 4 {
		t.Errorf("%d looks, %d blocked; want 6 and 4", looks, blocked)
	}
	groups := groupsBetween([]Sample{{Groups: []ThreadGroup{before}}, {Groups: []ThreadGroup{after}}})
	if groups[0].Looks != 6 || groups[0].Blocked != 4 {
		t.Errorf("between the two: %+v", groups[0])
	}
}

func TestLoopsOfProcessesThatMayNotBeTraced(t *testing.T) {
	m := newFakeMachine(t)
	m.process(100, 1, 500, "S", 100, 0)
	tree := m.tree(100)
	for _, in := range []string{"0", "0"} {
		m.wait(100, in)
		if g := tree.Detailed().Groups[0]; g.Looks != 0 {
			t.Errorf("%+v", g)
		}
	}
}
