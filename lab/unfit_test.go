package lab

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// TestRunSkipsUnfit: cells that do not fit are kept as skipped, no SUT is
// started for a turn of which none fits, and the run is no failure.
func TestRunSkipsUnfit(t *testing.T) {
	exp := &record.Experiment{Name: "x", Forks: 1, Load: record.Load{Path: "/", Connections: []int{1000}, Rounds: 2, Duration: record.Duration(time.Second), Timeout: record.Duration(time.Second)},
		SUTs: []record.SUT{{Name: "a", Command: []string{"/nonexistent", "{{port}}"}}}}
	p, err := plan.New(exp, plan.Options{}, plan.Facts{FDLimit: 500})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := record.Create(t.TempDir(), "x", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	run, err := Run(context.Background(), p, nil, dir, record.Run{}, silent{})
	if err != nil || run.Status != "ok" || len(run.Starts) != 0 {
		t.Fatalf("%+v, %v", run, err)
	}
	saved, err := record.Open(filepath.Clean(dir.Path()))
	if err != nil || len(saved.Cells) != 2 {
		t.Fatalf("%v, %v", saved, err)
	}
	for _, c := range saved.Cells {
		if c.Status != "skipped" || c.Reason != "1000 connections need 1256 descriptors in the SUT, which may open 500; 240 would fit" || c.Load != nil {
			t.Errorf("%+v", c)
		}
	}
}

// silent is an observer that does not care.
type silent struct{}

func (silent) Phase(string) {}

func (silent) Start(record.Start) {}

func (silent) Cell(record.Cell) {}

func (silent) Warn(string) {}

func (silent) Point(record.Point) {}
