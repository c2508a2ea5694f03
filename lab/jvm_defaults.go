package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// A new JDK is more than its number: it changes the values of flags that nobody
// sets. Where one SUT runs on several JDKs, each is asked for all of its flags,
// and those of the SUTs that then differ stand in the limits table.

// finalFlags asks a JVM that starts with the SUT's flags, and ends at once, for the
// value of every flag; nil where it does not say. It runs before the SUT does.
func (l *lab) finalFlags(ctx context.Context, s *PlannedSUT) map[string]string {
	if s.Of == "" || s.JDKHome == "" {
		return nil
	}
	key := s.JDKHome + "\x00" + strings.Join(s.JVM, "\x00")
	if flags, asked := l.flags[key]; asked {
		return flags
	}
	ctx, cancel := context.WithTimeout(ctx, javaPatience)
	defer cancel()
	cmd := toolCommand(ctx, filepath.Join(s.JDKHome, "bin", "java"), append(slices.Clone(s.JVM),
		"-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions", "-XX:+PrintFlagsFinal", "-version")...)
	cmd.Env = os.Environ() // what is set there is set for the SUT too
	out := &flagTable{}
	cmd.Stdout = out
	var flags map[string]string
	if runTool(cmd) == nil {
		flags = parseFinalFlags(out.String())
	}
	if l.flags == nil {
		l.flags = map[string]map[string]string{}
	}
	l.flags[key] = flags
	return flags
}

// flagTable keeps up to 1 MiB of output: the table of a JVM's flags takes 100 KB.
type flagTable struct{ strings.Builder }

func (t *flagTable) Write(p []byte) (int, error) {
	if t.Len() < 1<<20 {
		t.Builder.Write(p)
	}
	return len(p), nil
}

var finalFlag = regexp.MustCompile(`^\s*\S+\s+(\w+)\s+:?=\s*(.*?)\s*\{[^{}]*\}(?:\s*\{[^{}]*\})?\s*$`)

// parseFinalFlags reads the table of -XX:+PrintFlagsFinal.
func parseFinalFlags(text string) map[string]string {
	flags := map[string]string{}
	for line := range strings.Lines(text) {
		if m := finalFlag.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			flags[m[1]] = m[2]
		}
	}
	return flags
}

// shownDefaults bounds how many flags a row of the limits table names.
const shownDefaults = 12

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
	differing := differingFlags(slices.Collect(maps.Values(known)))
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

// differingFlags are the flags that all have, with values that are not the same.
func differingFlags(of []map[string]string) []string {
	var differing []string
	for flag, value := range of[0] {
		same, everywhere := true, true
		for _, other := range of[1:] {
			theirs, has := other[flag]
			everywhere = everywhere && has
			same = same && theirs == value
		}
		if everywhere && !same {
			differing = append(differing, flag)
		}
	}
	slices.Sort(differing)
	return differing
}
