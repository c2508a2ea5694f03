package record

import "testing"

func TestPoolJoinsTheDatabase(t *testing.T) {
	a, b := sampleCell(t, "a", 1, 1, 1000, 100_000), sampleCell(t, "a", 1, 2, 1000, 100_000)
	eight, ten := 8.0, 10.0
	a.Database = &Database{Samples: 100, Connections: 20, BusyMean: 19, BusyMax: 20, BusyMS: &eight}
	b.Database = &Database{Samples: 300, Connections: 10, BusyMean: 7, BusyMax: 9, BusyMS: &ten}
	d := Pool([]*Cell{&a, &b}).Database
	if d == nil || d.Samples != 400 || d.Connections != 20 || d.BusyMean != 10 || d.BusyMax != 20 || d.BusyMS == nil || *d.BusyMS != 9.5 {
		t.Errorf("%+v", d)
	}
	b.Database = nil
	if d := Pool([]*Cell{&a, &b}).Database; d != nil {
		t.Errorf("a round without it: %+v", d)
	}
}

func TestDatabaseMetricsNeedADatabase(t *testing.T) {
	with, without := len(MetricsWith(true)), len(MetricsWith(false))
	if with != len(Metrics()) || with-without != 3 {
		t.Errorf("%d with, %d without a database", with, without)
	}
	for _, m := range MetricsWith(false) {
		if m.Database {
			t.Errorf("%s is there without a database", m.Name)
		}
	}
}
