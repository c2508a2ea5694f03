package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/jvm"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// A new JDK is more than its number: it changes the values of flags that nobody
// sets. Where one SUT runs on several JDKs, each is asked for all of its flags,
// and those of the SUTs that then differ stand in the limits table.

// finalFlags asks a JVM that starts with the SUT's flags, and ends at once, for the
// value of every flag; nil where it does not say. It runs before the SUT does.
func (l *lab) finalFlags(ctx context.Context, s *plan.SUT) map[string]string {
	if s.Of == "" || s.JDKHome == "" {
		return nil
	}
	key := s.JDKHome + "\x00" + strings.Join(s.JVM, "\x00")
	if flags, asked := l.flags[key]; asked {
		return flags
	}
	flags := jvm.FinalFlags(ctx, s.JDKHome, s.JVM)
	if l.flags == nil {
		l.flags = map[string]map[string]string{}
	}
	l.flags[key] = flags
	return flags
}

// differingDefaults enters, for all versions of a SUT that have started, the
// flags whose values are not the same in all of them.
func (l *lab) differingDefaults(ctx context.Context, of string) {
	known := map[string]map[string]string{}
	for i := range l.plan.SUTs {
		s := &l.plan.SUTs[i]
		if s.Of == of && of != "" && l.run.Limits[s.Name] != nil {
			if flags := l.finalFlags(ctx, s); len(flags) > 0 {
				known[s.Name] = flags
			}
		}
	}
	if len(known) < 2 {
		return
	}
	differing := jvm.DifferingFlags(slices.Collect(maps.Values(known)))
	for name, flags := range known {
		var parts []string
		for _, flag := range differing[:min(len(differing), shownDefaults)] {
			parts = append(parts, flag+" "+flags[flag])
		}
		if more := len(differing) - shownDefaults; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		if parts != nil {
			l.run.Limits[name][record.LimitDefaults] = strings.Join(parts, ", ")
		}
	}
}

// shownDefaults bounds how many flags a row of the limits table names.
const shownDefaults = 12
