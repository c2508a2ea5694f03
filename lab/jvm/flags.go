package jvm

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"loomlab/lab/java"
	"loomlab/lab/tool"
)

// FinalFlags asks a JVM of the JDK in home that starts with the given flags, and
// ends at once, for the value of every flag; nil where it does not say.
func FinalFlags(ctx context.Context, home string, flags []string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, java.JavaPatience)
	defer cancel()
	cmd := tool.Command(ctx, filepath.Join(home, "bin", "java"), append(slices.Clone(flags),
		"-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions", "-XX:+PrintFlagsFinal", "-version")...)
	cmd.Env = os.Environ() // what is set there is set for the SUT too
	out := &flagTable{}
	cmd.Stdout = out
	if tool.Run(cmd) != nil {
		return nil
	}
	return parseFinalFlags(out.String())
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

// DifferingFlags are the flags that all have, with values that are not the same.
func DifferingFlags(of []map[string]string) []string {
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
