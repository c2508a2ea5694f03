package report

import "loomlab/lab/record"

// calibrationMetrics are what the instrument itself can do here, and what it costs.
var calibrationMetrics = []string{record.Throughput, record.P50, record.P99, "load_cpu_us", "downstream_cpu_us", "errors"}

// newCalibration is the load engine straight against the downstream, without a SUT: a
// table of its own, of one block with a rung a column. A row without any figure is
// left out, and so are errors where there were none. nil without a calibration.
func newCalibration(saved *record.Saved) *Table {
	cells := saved.Run.Calibration
	if len(cells) == 0 {
		return nil
	}
	t := &Table{}
	for i := range cells {
		t.Columns = append(t.Columns, rungTitle(cells[i].Rung()))
	}
	block := Block{Title: "calibration, no SUT"}
	for _, name := range calibrationMetrics {
		m, _ := record.MetricNamed(name)
		row, worth := Row{Metric: m}, false
		for i := range cells {
			v := m.Of(&cells[i])
			worth = worth || v != nil && (*v != 0 || name != "errors")
			row.Cells = append(row.Cells, Cell{Points: []Point{{Fork: 1, Round: 1, Status: cells[i].Status, Value: v, Reason: cells[i].Reason}}})
		}
		if worth {
			block.Rows = append(block.Rows, row)
		}
	}
	t.Rungs = []Block{block}
	return t
}
