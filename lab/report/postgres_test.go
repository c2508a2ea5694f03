package report

import (
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestPostgresIsNamed(t *testing.T) {
	run := &record.Run{
		Postgres:   &record.PostgresServer{Version: "17.5", From: "io.zonky:x:17.5.0", Fresh: true},
		Experiment: record.Experiment{Postgres: &record.Postgres{Users: 10, Orders: 20, Settings: map[string]string{"max_connections": "30", "fsync": "on"}}},
	}
	if got, want := postgres(run), "PostgreSQL 17.5 · fresh for every start of a SUT · 10 users, 20 orders · fsync=on · max_connections=30"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	run.Postgres = &record.PostgresServer{Version: "15.1", From: "postgres://ann:***@h:5432/shop"}
	if got, want := postgres(run), "PostgreSQL 15.1 · postgres://ann:***@h:5432/shop · 10 users, 20 orders"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := postgres(&record.Run{}); got != "" {
		t.Errorf("%q of a run without a database", got)
	}
}

// Another database, or other rows in it, is another experiment.
func TestPostgresBarsAComparison(t *testing.T) {
	with := func(orders int) func(*record.Saved) {
		return func(s *record.Saved) {
			s.Run.Postgres = &record.PostgresServer{Version: "17.5", Fresh: true}
			s.Run.Experiment.Postgres = &record.Postgres{Users: 10, Orders: orders}
		}
	}
	random := newRandom(47)
	old, same, other := drawn(random, "a", 6, theArticle[:1]), drawn(random, "a", 6, theArticle[:1]), drawn(random, "a", 6, theArticle[:1])
	with(20)(old)
	with(20)(same)
	with(21)(other)
	if _, err := Compare(side(old, "base"), side(same, "new"), nil); err != nil {
		t.Errorf("the same database: %v", err)
	}
	if _, err := Compare(side(old, "base"), side(other, "new"), nil); err == nil || !strings.Contains(err.Error(), "10 users, 20 orders → PostgreSQL 17.5") {
		t.Errorf("another one: %v", err)
	}
}
