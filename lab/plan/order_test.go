package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// TestWilliamsIsBalanced counts places and neighbours over a full set.
func TestWilliamsIsBalanced(t *testing.T) {
	for n := 1; n <= 9; n++ {
		sequences := williams(n)
		places, after := map[[2]int]int{}, map[[2]int]int{}
		for _, s := range sequences {
			if sorted := slices.Sorted(slices.Values(s)); len(sorted) != n || sorted[0] != 0 || sorted[n-1] != n-1 || len(slices.Compact(sorted)) != n {
				t.Fatalf("n = %d: %v is no order of all", n, s)
			}
			for i, treatment := range s {
				places[[2]int{treatment, i}]++
				if i > 0 {
					after[[2]int{s[i-1], treatment}]++
				}
			}
		}
		if len(places) != n*n || len(after) != n*(n-1) {
			t.Errorf("n = %d: %d places of %d, %d neighbours of %d", n, len(places), n*n, len(after), n*(n-1))
		}
		for what, counts := range map[string]map[[2]int]int{"places": places, "neighbours": after} {
			for key, count := range counts {
				if want := len(sequences) / n; count != want {
					t.Errorf("n = %d: %s %v %d times, want %d", n, what, key, count, want)
				}
			}
		}
	}
	if got := fmt.Sprint(williams(3)); got != "[[0 1 2] [2 1 0] [1 2 0] [0 2 1] [2 0 1] [1 0 2]]" {
		t.Errorf("three SUTs run in the orders %s", got)
	}
}

// planOf plans the article with changes.
func planOf(t *testing.T, opts Options, change func(*record.Experiment)) *Plan {
	t.Helper()
	e := article(t)
	change(e)
	p, err := New(e, opts, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// processes are the SUT processes of a plan, in order: SUT, fork and rungs.
func processes(p *Plan) []string {
	var list []string
	for _, turn := range p.turns() {
		var rungs []int
		for _, key := range turn.Cells {
			if !slices.Contains(rungs, key.Connections) {
				rungs = append(rungs, key.Connections)
			}
		}
		list = append(list, fmt.Sprintf("%s/%d%v", turn.SUT.Name, turn.Fork, rungs))
	}
	return list
}

func TestForksRunInWilliamsOrder(t *testing.T) {
	p := planOf(t, Options{Forks: ptr(2), Connections: []int{1, 2}}, func(*record.Experiment) {})
	want := []string{"platform/1[1 2]", "virtual/1[1 2]", "webflux/1[1 2]", "webflux/2[1 2]", "virtual/2[1 2]", "platform/2[1 2]"}
	// The last process of a fork and the first of the next may be of one SUT;
	// they are two processes all the same.
	if got := processes(p); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := p.ForkOrders(); len(got) != 2 || !reflect.DeepEqual(got[1], []string{"webflux", "virtual", "platform"}) || p.Experiment.Order != experiment.OrderWilliams {
		t.Errorf("orders %v, %s", got, p.Experiment.Order)
	}
	if p := planOf(t, Options{}, func(*record.Experiment) {}); p.Experiment.Order != experiment.OrderListed {
		t.Errorf("a single fork runs in the order %q", p.Experiment.Order)
	}
}

func TestRandomOrderFollowsItsSeed(t *testing.T) {
	random := func(seed uint64) string {
		return fmt.Sprint(planOf(t, Options{Forks: ptr(8)}, func(e *record.Experiment) { e.Order, e.Seed = experiment.OrderRandom, seed }).ForkOrders())
	}
	first, again, other := random(1), random(1), random(2)
	if first != again || first == other {
		t.Errorf("seed 1: %s and %s; seed 2: %s", first, again, other)
	}
	listed := planOf(t, Options{Forks: ptr(3)}, func(e *record.Experiment) { e.Order = experiment.OrderListed })
	for _, order := range listed.ForkOrders() {
		if !reflect.DeepEqual(order, listed.Order()) {
			t.Errorf("listed ran %v", order)
		}
	}
}

func TestIsolatedRungsHaveProcessesOfTheirOwn(t *testing.T) {
	opts := Options{Forks: ptr(2), Connections: []int{1, 2}, SUTs: []string{"platform", "webflux"}}
	p := planOf(t, opts, func(e *record.Experiment) { e.Isolate = experiment.IsolateRung })
	want := "platform/1[1] webflux/1[1] platform/1[2] webflux/1[2] webflux/2[1] platform/2[1] webflux/2[2] platform/2[2]"
	if got := strings.Join(processes(p), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(p.Cells) != 16 {
		t.Errorf("%d cells, want 16", len(p.Cells))
	}
	// One SUT alone: its rungs follow one another and are still apart.
	opts.SUTs = []string{"platform"}
	p = planOf(t, opts, func(e *record.Experiment) { e.Isolate = experiment.IsolateRung })
	if got := strings.Join(processes(p), " "); got != "platform/1[1] platform/1[2] platform/2[1] platform/2[2]" {
		t.Errorf("alone: %s", got)
	}
	whole := planOf(t, opts, func(*record.Experiment) {})
	if p.Estimate.Parts[0].Min != 2*whole.Estimate.Parts[0].Min {
		t.Errorf("isolated starts take %v, shared ones %v", p.Estimate.Parts[0], whole.Estimate.Parts[0])
	}
}

func TestOrderAndIsolationAreChecked(t *testing.T) {
	_, err := experiment.Parse("f", []byte("name: x\norder: wiliams\nisolate: fork\nsuts: [{name: s, url: 'http://h'}]\nload: {connections: [1]}\n"))
	for _, want := range []string{`f:2:8: "wiliams"; did you mean williams?; want one of williams, random, listed`, `f:3:10: "fork"; want one of rung`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
