//go:build linux

package probes

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newTree(t *testing.T, pid int, options ...TreeOption) *Tree {
	t.Helper()
	tree, err := NewTree(NewFS(""), pid, options...)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCPUOfABurningChildIsItsOwnRusage(t *testing.T) {
	c := start(t, command("burn", "300"))
	tree := newTree(t, c.Process.Pid)
	used := c.number(t)
	s := tree.Detailed()
	if s.CPUS == nil || s.RSSBytes == nil || s.Threads == nil || s.FDs == nil || s.RunDelayS == nil {
		t.Fatalf("figures are missing: %s", asJSON(s))
	}
	near(t, "cpu_s", *s.CPUS, used, 0.05)
	if *s.RSSBytes < 1<<20 || *s.Threads < 2 || *s.FDs < 3 || s.Processes != 1 {
		t.Errorf("implausible gauges: %s", asJSON(s))
	}
	var groups float64
	for _, g := range s.Groups {
		groups += g.CPUS
	}
	near(t, "CPU by thread group", groups, used, 0.1)
	if s.JVM != nil || s.Unavailable["jvm"] != NoJVM {
		t.Errorf("jvm of a Go program: %s", asJSON(s))
	}
}

func TestIdleChildUsesNothing(t *testing.T) {
	c := start(t, command("idle"))
	c.line(t)
	tree := newTree(t, c.Process.Pid)
	first := tree.Sample()
	time.Sleep(300 * time.Millisecond)
	last := tree.Sample()
	if used := *last.CPUS - *first.CPUS; used > 0.03 {
		t.Errorf("an idle process used %v s", used)
	}
}

// A SUT may do its work in processes that live for less than a sampling interval.
func TestShortLivedGrandchildrenCount(t *testing.T) {
	c := start(t, command("fork", "8", "50"))
	tree := newTree(t, c.Process.Pid)
	done := make(chan float64, 1)
	go func() { done <- c.number(t) }()
	before := 0.0
	for {
		s := tree.Detailed()
		if s.CPUS == nil {
			t.Fatalf("cpu_s: %v", s.Unavailable)
		}
		if *s.CPUS < before {
			t.Fatalf("cpu_s went from %v to %v", before, *s.CPUS)
		}
		before = *s.CPUS
		select {
		case used := <-done:
			near(t, "cpu_s", *tree.Sample().CPUS, used, 0.1)
			return
		case <-time.After(7 * time.Millisecond):
		}
	}
}

func TestSkippedRootIsNotCounted(t *testing.T) {
	c := start(t, command("parent", "burn", "200"))
	whole, tier := newTree(t, c.Process.Pid), newTree(t, c.Process.Pid, SkipRoot)
	used := c.number(t)
	w, s := whole.Sample(), tier.Sample()
	if w.Processes != 2 || s.Processes != 1 {
		t.Fatalf("processes: %d with the root, %d without", w.Processes, s.Processes)
	}
	near(t, "cpu_s", *s.CPUS, used, 0.05)
	if *s.RSSBytes >= *w.RSSBytes {
		t.Errorf("rss without the root %d, with it %d", *s.RSSBytes, *w.RSSBytes)
	}
	c.stdin.Close() // both end; the root waits for its child first
	eventually(t, "the tier has ended", func() bool { return tier.Sample().Processes == 0 })
	end := tier.Sample()
	if end.RSSBytes != nil || end.Threads != nil || end.Unavailable["rss_bytes"] == "" {
		t.Errorf("an ended tier has figures: %s", asJSON(end))
	}
}

// Until somebody waits for it, a zombie is not a sample of zeros but an absent one.
func TestZombieIsAbsent(t *testing.T) {
	c := start(t, command("burn", "50"))
	c.line(t)
	tree := newTree(t, c.Process.Pid)
	id := tree.Root()
	if !NewFS("").Alive(id) {
		t.Fatal("a running child is not alive")
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child is a zombie", func() bool { return tree.Sample().Processes == 0 })
	s := tree.Sample()
	if s.RSSBytes != nil || s.Threads != nil || s.FDs != nil || s.Unavailable["threads"] == "" {
		t.Errorf("a zombie has figures: %s", asJSON(s))
	}
	if NewFS("").Alive(id) {
		t.Error("a zombie is alive")
	}
	if _, err := NewTree(NewFS(""), c.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("tree of a zombie: %v", err)
	}
	_ = c.Wait()
	if _, err := NewTree(NewFS(""), c.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("tree of nobody: %v", err)
	}
	if s := tree.Sample(); s.CPUS != nil || s.Unavailable["cpu_s"] != reasonEnded {
		t.Errorf("cpu_s of a tree that is gone: %s", asJSON(s))
	}
	if _, err := tree.RSSNow(); !errors.Is(err, ErrGone) {
		t.Errorf("RSS of a tree that is gone: %v", err)
	}
}

func TestMemoryOfATree(t *testing.T) {
	c := start(t, command("parent", "idle"))
	c.line(t)
	tree := newTree(t, c.Process.Pid)
	if err := tree.ResetPeak(); err != nil {
		t.Fatal(err)
	}
	now, err := tree.RSSNow()
	if err != nil {
		t.Fatal(err)
	}
	peak, err := tree.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	sampled := *tree.Sample().RSSBytes
	if now < 1<<20 || peak < now/2 || sampled < now/2 || sampled > 2*now {
		t.Errorf("rss: now %d, peak %d, sampled %d", now, peak, sampled)
	}
}

func TestListeningSocketBelongsToTheTree(t *testing.T) {
	c := start(t, command("parent", "listen"))
	port := int(c.number(t))
	tree := newTree(t, c.Process.Pid, SkipRoot)
	if ok, err := tree.Owns(port); err != nil || !ok {
		t.Errorf("the tree's own port: %v, %v", ok, err)
	}
	other := newTree(t, os.Getpid(), SkipRoot)
	if ok, err := other.Owns(1); err != nil || ok {
		t.Errorf("a port that nobody listens on: %v, %v", ok, err)
	}
	pids := tree.PIDs()
	if pid, err := NewFS("").ListeningPID(port); err != nil || len(pids) != 1 || pid != pids[0] {
		t.Errorf("listening: %d, %v; the tree has %v", pid, err, pids)
	}
	idle := start(t, command("idle"))
	idle.line(t)
	if ok, err := newTree(t, idle.Process.Pid).Owns(port); err != nil || ok {
		t.Errorf("another tree's port: %v, %v", ok, err)
	}
}

// Threads and processes disappear between a directory's listing and a file's opening.
func TestSamplingWhileEverythingVanishes(t *testing.T) {
	c := start(t, command("fork", "60", "1"))
	tree := newTree(t, c.Process.Pid)
	done := make(chan struct{})
	go func() { c.line(t); close(done) }()
	for n := 0; ; n++ {
		s := tree.Detailed()
		for field, reason := range s.Unavailable {
			if field != "jvm" {
				t.Fatalf("sample %d: %s: %s", n, field, reason)
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestOwnLimits(t *testing.T) {
	var want syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &want); err != nil {
		t.Fatal(err)
	}
	if got, err := NewFS("").FDLimit(os.Getpid()); err != nil || uint64(got) != want.Cur {
		t.Errorf("descriptors: %d, %v; want %d", got, err, want.Cur)
	}
}

// BenchmarkSample shows what one reading costs, with 3 processes and 500 threads in all, as far as the shell can make them.
func BenchmarkSample(b *testing.B) {
	for _, threads := range []int{10, 500} {
		stop := make(chan struct{})
		for range threads {
			go func() {
				var fds [2]int
				_ = syscall.Pipe(fds[:])
				go func() { <-stop; syscall.Close(fds[1]) }()
				_, _ = syscall.Read(fds[0], make([]byte, 1)) // a blocking read holds an OS thread
				syscall.Close(fds[0])
			}()
		}
		time.Sleep(200 * time.Millisecond)
		tree, err := NewTree(NewFS(""), os.Getpid())
		if err != nil {
			b.Fatal(err)
		}
		n := strings.TrimSpace(strconv.Itoa(int(*tree.Sample().Threads)))
		b.Run("threads="+n, func(b *testing.B) {
			for b.Loop() {
				tree.Sample()
			}
		})
		b.Run("detailed/threads="+n, func(b *testing.B) {
			for b.Loop() {
				tree.Detailed()
			}
		})
		close(stop)
		time.Sleep(100 * time.Millisecond)
	}
}
