package probes

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Tree is a process and all its descendants, followed from one reading to the
// next. Its methods may be called from several goroutines.
type Tree struct {
	mu        sync.Mutex
	fs        FS
	processes processes
	root      ID
	skipRoot  bool
	members   map[int]*member
	strangers map[int]struct{} // processes known not to belong: their parents need not be read again
	readings  int
	lostCPU   time.Duration // of members that ended without a member counting them as waited for
	groups    map[string]*ThreadGroup
	loops     map[string]bool // groups that are event loops
	buf       []byte
}

// member is a process of the tree with what was last read of it.
type member struct {
	procStat
	threads map[int]*thread
	jvm     jvmSearch
}

// processes is what a Tree needs of the operating system: [FS] on Linux, gopsutil elsewhere.
type processes interface {
	pids() ([]int, error)
	lineage(pid int) (id ID, ppid int, err error) // cheap: it is asked for every process of the machine
	stat(pid int, buf []byte) (procStat, error)
	residentBytes(pid int, buf []byte) (int64, error)
	openFDs(pid int) (int64, error)
	startedAt(id ID) (time.Time, error)
}

// TreeOption changes what a Tree counts.
type TreeOption func(*Tree)

// SkipRoot leaves the first process out: only its descendants are the tier, as
// under a guard. What they used still counts after the guard has waited for them.
func SkipRoot(t *Tree) { t.skipRoot = true }

// NewTree follows the process pid and its descendants. It fails with [ErrGone] if pid does not run.
func NewTree(fs FS, pid int, options ...TreeOption) (*Tree, error) {
	t := &Tree{
		fs: fs, processes: fs,
		members:   map[int]*member{},
		strangers: map[int]struct{}{},
		groups:    map[string]*ThreadGroup{},
		loops:     map[string]bool{},
	}
	if fs.elsewhere() {
		t.processes = portable{}
	}
	for _, option := range options {
		option(t)
	}
	root, err := t.processes.stat(pid, nil)
	if err != nil {
		return nil, err
	}
	if root.zombie() {
		return nil, fmt.Errorf("%w: %d is a zombie", ErrGone, pid)
	}
	t.root = root.ID
	t.members[pid] = &member{procStat: root}
	return t, nil
}

func (fs FS) lineage(pid int) (ID, int, error) {
	s, err := fs.stat(pid, nil)
	return s.ID, s.PPID, err
}

// Root is the identity of the first process.
func (t *Tree) Root() ID { return t.root }

// PIDs returns the processes of the tree that are alive, oldest first.
func (t *Tree) PIDs() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.update()
	var pids []int
	for _, m := range t.alive() {
		pids = append(pids, m.PID)
	}
	return pids
}

// rescanEvery bounds how long a stranger whose number was reused by a child can stay unseen.
const rescanEvery = 16

// update reads every member again and looks for new ones.
func (t *Tree) update() {
	t.refresh()
	if t.readings%rescanEvery == 0 {
		clear(t.strangers)
	}
	t.readings++
	pids, err := t.processes.pids()
	if err != nil {
		return // the members are still followed; without a process list there are no new ones
	}
	listed := make(map[int]struct{}, len(pids))
	for _, pid := range pids {
		listed[pid] = struct{}{}
	}
	for pid := range t.strangers {
		if _, ok := listed[pid]; !ok {
			delete(t.strangers, pid)
		}
	}
	t.adopt(pids, listed)
}

// refresh reads the members' figures again and settles the account of those that ended.
//
// A process that is waited for passes its CPU time on to whoever waited, so the
// sum over the tree does not change. Time that no survivor received (the
// kernel reaped the child by itself, or a process outside did) is kept in
// lostCPU; thus the total can only grow.
func (t *Tree) refresh() {
	var ended, received time.Duration
	for pid, m := range t.members {
		now, err := t.processes.stat(pid, t.buffer())
		if err != nil && !errors.Is(err, ErrGone) {
			continue // unreadable for once: the last figures stand
		}
		if err != nil || now.ID != m.ID {
			ended += t.counted(m)
			delete(t.members, pid)
			continue
		}
		received += max(0, now.Waited-m.Waited)
		m.procStat = now
	}
	t.lostCPU += max(0, ended-received)
}

// counted is what m contributes to the tree's CPU time.
func (t *Tree) counted(m *member) time.Duration {
	if t.skipRoot && m.ID == t.root {
		return m.Waited
	}
	return m.Own + m.Waited
}

// adopt makes members of the listed processes whose parent is one. A child can
// be listed before its parent was, so it repeats until nothing changes.
func (t *Tree) adopt(pids []int, listed map[int]struct{}) {
	type candidate struct {
		id   ID
		ppid int
	}
	var candidates []candidate
	for _, pid := range pids {
		_, member := t.members[pid]
		_, stranger := t.strangers[pid]
		if member || stranger {
			continue
		}
		if id, ppid, err := t.processes.lineage(pid); err == nil {
			candidates = append(candidates, candidate{id, ppid})
		}
	}
	for found := true; found; {
		found = false
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool {
			parent := t.members[c.ppid]
			if parent == nil || c.id.Start < parent.Start {
				return false // an older "child" belonged to an earlier bearer of the parent's number
			}
			if s, err := t.processes.stat(c.id.PID, t.buffer()); err == nil && s.ID == c.id {
				t.members[c.id.PID] = &member{procStat: s}
				found = true
			}
			return true
		})
	}
	for _, c := range candidates {
		// Whose parent was not listed may be the child of a process too new for the list: ask again next time.
		if _, ok := listed[c.ppid]; ok || c.ppid == 0 {
			t.strangers[c.id.PID] = struct{}{}
		}
	}
}

// alive returns the processes that hold resources: no zombies, and not a skipped root. Oldest first.
func (t *Tree) alive() []*member {
	var alive []*member
	for _, m := range t.members {
		if !m.zombie() && (!t.skipRoot || m.ID != t.root) {
			alive = append(alive, m)
		}
	}
	slices.SortFunc(alive, func(a, b *member) int {
		if a.Start != b.Start {
			if a.Start < b.Start {
				return -1
			}
			return 1
		}
		return a.PID - b.PID
	})
	return alive
}

func (t *Tree) buffer() []byte {
	if t.buf == nil {
		t.buf = make([]byte, 0, 4096)
	}
	return t.buf
}

// Descendants returns the processes below pid, zombies left out, children after
// their parents. What cannot be read is left out too.
func (fs FS) Descendants(pid int) []int {
	t, err := NewTree(fs, pid, SkipRoot)
	if err != nil {
		return nil
	}
	return t.PIDs()
}
