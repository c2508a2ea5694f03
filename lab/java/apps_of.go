package java

import (
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// AppsOf are the names of the apps that s and the tiers around it run from: its own,
// and those whose folders a command line mentions, as {{apps}}/mvc/lib does. A mention
// that names no folder may mean any of them. Empty: it needs the tools at most.
func AppsOf(s record.SUT) []string {
	names := []string{}
	if s.App != "" {
		names = append(names, s.App)
	}
	words := slices.Concat(s.Command, s.Args, slices.Sorted(maps.Values(s.Env)))
	if s.Load != nil {
		words = append(words, s.Load.Command...)
	}
	if s.Downstream != nil {
		words = append(words, s.Downstream.Command...)
	}
	for _, word := range words {
		for _, rest := range strings.Split(word, "{{apps}}")[1:] {
			folder, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
			switch {
			case slices.Contains(AppNames, folder):
				names = append(names, folder)
			case folder != ToolsFolder:
				return AppNames
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
