package probes

import "testing"

// The way of the systems without Linux's /proc gives the same figures where both can be had.
func TestPortableFigures(t *testing.T) {
	c := start(t, command("parent", "burn", "200"))
	tree, err := NewTree(NewFS(""), c.Process.Pid, SkipRoot)
	if err != nil {
		t.Fatal(err)
	}
	tree.processes = portable{}
	root, err := portable{}.stat(c.Process.Pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree.root, tree.members = root.ID, map[int]*member{root.PID: {procStat: root}}
	used := c.number(t)
	s := tree.Sample()
	if s.CPUS == nil || s.RSSBytes == nil || s.Threads == nil || s.Processes != 1 {
		t.Fatalf("%s", asJSON(s))
	}
	near(t, "cpu_s", *s.CPUS, used, 0.1)
	if *s.RSSBytes < 1<<20 || *s.Threads < 2 {
		t.Errorf("%s", asJSON(s))
	}
	if s.FDs != nil || s.Unavailable["fds"] != ErrNeedsLinux.Error() {
		t.Errorf("fds: %s", asJSON(s))
	}
	if at, err := (portable{}).startedAt(root.ID); err != nil || at.IsZero() {
		t.Errorf("started %v, %v", at, err)
	}
}
