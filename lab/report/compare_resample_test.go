package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"loomlab/lab/record"
)

// sameJar is a measured run: one jar under two names, six forks each.
const sameJar = "../../testdata/runs/same-jar"

// oneFork is what a run keeps of one process.
type oneFork struct {
	start record.Start
	cells []record.Cell
}

// forksUnder returns every fork of a run, whatever the name of its SUT.
func forksUnder(t *testing.T, saved *record.Saved) []oneFork {
	t.Helper()
	var forks []oneFork
	for _, start := range saved.Run.Starts {
		f := oneFork{start: start}
		for _, c := range saved.Cells {
			if c.SUT == start.SUT && c.Fork == start.Fork && c.Rate == 0 {
				f.cells = append(f.cells, c)
			}
		}
		if len(f.cells) == 0 {
			t.Fatalf("%s, fork %d has no cells", start.SUT, start.Fork)
		}
		forks = append(forks, f)
	}
	return forks
}

// runOf makes a run of one SUT out of forks, which it renames and numbers.
func runOf(from *record.Saved, forks []oneFork) *record.Saved {
	saved := &record.Saved{Run: from.Run}
	sut := from.Run.Experiment.SUTs[0]
	saved.Run.Experiment.SUTs = []record.SUT{sut}
	saved.Run.Experiment.Forks = len(forks)
	saved.Run.Starts = nil
	for i, f := range forks {
		f.start.SUT, f.start.Fork = sut.Name, i+1
		saved.Run.Starts = append(saved.Run.Starts, f.start)
		for _, c := range f.cells {
			c.SUT, c.Fork = sut.Name, i+1
			saved.Cells = append(saved.Cells, c)
		}
	}
	return saved
}

// alarms names the primary metrics in which two runs are said to differ.
func alarms(t *testing.T, old, new *record.Saved) []string {
	t.Helper()
	c, err := Compare(Side{Saved: old, Name: "old"}, Side{Saved: new, Name: "new"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	judged := 0
	for _, cell := range c.Cells {
		for _, row := range cell.Rows {
			if row.Primary && row.P != nil {
				judged++
				if slices.Contains([]string{Better, Worse, Differs}, row.Verdict) {
					found = append(found, fmt.Sprintf("%s at %d: %s", row.Name, cell.Connections, row.Verdict))
				}
			}
		}
	}
	if judged < 2 {
		t.Fatalf("only %d primary metrics were judged", judged)
	}
	return found
}

// A thousand times, the forks of one jar are dealt out to two sides at random. A
// comparison that finds a difference in any primary metric is a false alarm.
func TestResampledForksOfOneJar(t *testing.T) {
	saved, err := record.Open(sameJar)
	if err != nil {
		t.Fatal(err)
	}
	forks := forksUnder(t, saved)
	if len(forks) != 12 {
		t.Fatalf("%d forks", len(forks))
	}
	const deals = 1000
	random := rand.New(rand.NewPCG(1, 2))
	wrong, example := 0, ""
	for range deals {
		random.Shuffle(len(forks), func(i, j int) { forks[i], forks[j] = forks[j], forks[i] })
		if found := alarms(t, runOf(saved, forks[:6]), runOf(saved, forks[6:])); len(found) > 0 {
			wrong++
			example = fmt.Sprint(found)
		}
	}
	t.Logf("%d false alarms in %d comparisons of one jar with itself", wrong, deals)
	if wrong > deals/20 {
		t.Errorf("%d false alarms in %d comparisons, the last one %s; at most 5 %% are allowed", wrong, deals, example)
	}
}
