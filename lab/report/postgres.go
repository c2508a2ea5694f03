package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// postgres says what database a run had, or "".
func postgres(run *record.Run) string {
	s, p := run.Postgres, run.Experiment.Postgres
	if s == nil || p == nil {
		return ""
	}
	parts := []string{strings.TrimSpace("PostgreSQL " + s.Version)}
	if s.Fresh {
		parts = append(parts, "fresh for every start of a SUT")
	} else {
		parts = append(parts, s.From)
	}
	parts = append(parts, fmt.Sprintf("%d users, %d orders", p.Users, p.Orders))
	if s.Fresh {
		for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
			parts = append(parts, name+"="+p.Settings[name])
		}
	}
	return joined(parts...)
}
