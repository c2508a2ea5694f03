package report

import (
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestLimitsShowWhatDiffers(t *testing.T) {
	saved := openSaved(t)
	saved.Run.Limits = map[string]map[string]string{
		"platform": {"worker threads": "200", "JDK": "25.0.3", "accept queue": "100"},
		"virtual":  {"worker threads": "virtual threads", "JDK": "25.0.3", "accept queue": "100"},
		"webflux":  {"JDK": "25.0.3", "client pool": "20000"},
	}
	table := Build(saved)
	var rows []string
	for _, row := range table.Limits.Rows {
		var cells []string
		for _, c := range row.Cells {
			cells = append(cells, c.Text)
		}
		rows = append(rows, row.Label()+": "+strings.Join(cells, " | "))
	}
	want := []string{"worker threads ≠: 200 | virtual threads | –", "accept queue: 100 | 100 | –", "client pool: – | – | 20000"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if !slices.Contains(table.Legend, "limits that all share: JDK 25.0.3") {
		t.Errorf("legend %q", table.Legend)
	}
}

func TestEqualRateStandsApart(t *testing.T) {
	saved := openSaved(t)
	saved.Run.Experiment.Forks = 2
	open := saved.Cells[0]
	open.Connections, open.Rate, open.Fork, open.Round = 0, 1400, 2, 1
	saved.Cells = append(saved.Cells, open)
	table := Build(saved)
	block := table.Rungs[len(table.Rungs)-1]
	if block.Title != "1400/s offered" || len(block.Rows[0].Cells[0].Points) != 1 {
		t.Errorf("block %q with points %v, want the one window that was asked for", block.Title, block.Rows[0].Cells[0].Points)
	}
}

func TestDoubtOverEveryCellIsSaidOnce(t *testing.T) {
	saved := openSaved(t)
	for i := range saved.Cells {
		saved.Cells[i].Doubts = []record.Doubt{{Kind: "thin-p99", Metric: record.P99, Evidence: "99 of them", Threshold: "300", Remedy: "longer"}}
	}
	table := Build(saved)
	at := slices.IndexFunc(table.Notes, func(n Note) bool { return strings.Contains(n.Text, "thin-p99") })
	if at < 0 || !slices.Equal(table.Notes[at].Items, []string{"every cell, such as platform at 100: 99 of them"}) {
		t.Fatalf("notes %+v", table.Notes)
	}
	for _, row := range table.Rungs[0].Rows {
		if marked := slices.Contains(row.Cells[0].Notes, at+1); marked != (row.Metric.Name == record.P99) {
			t.Errorf("row %s is marked: %v", row.Metric.Name, marked)
		}
	}
}
