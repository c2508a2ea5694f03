package probes

import (
	"cmp"
	"maps"
	"slices"
)

// SumSamples is one sample of several trees that were looked at together: a tier
// that is several processes. What one of them lacks the sum lacks too, with its
// reason. At is the last one's, and the JVM that of the first that has one.
func SumSamples(list []Sample) Sample {
	all := list[0]
	for _, s := range list[1:] {
		all = Sample{
			At: max(all.At, s.At), Processes: all.Processes + s.Processes, JVM: cmp.Or(all.JVM, s.JVM),
			CPUS: add(all.CPUS, s.CPUS), RunDelayS: add(all.RunDelayS, s.RunDelayS),
			RSSBytes: add(all.RSSBytes, s.RSSBytes), Threads: add(all.Threads, s.Threads), FDs: add(all.FDs, s.FDs),
			Groups: sumGroups(all.Groups, s.Groups), Unavailable: reasons(all.Unavailable, s.Unavailable),
		}
	}
	return all
}

// SumWindows is one window of several trees over the same time. Extremes add up
// though they need not have been at the same moment: they are upper bounds.
func SumWindows(list []Window) Window {
	all := list[0]
	for _, w := range list[1:] {
		sum := Window{
			CPUS: add(all.CPUS, w.CPUS), Cores: add(all.Cores, w.Cores), RunDelayS: add(all.RunDelayS, w.RunDelayS),
			FDsMax: add(all.FDsMax, w.FDsMax), Groups: sumGroups(all.Groups, w.Groups), Unavailable: reasons(all.Unavailable, w.Unavailable),
		}
		if a, b := all.RSSBytes, w.RSSBytes; a != nil && b != nil {
			sum.RSSBytes = &Extent{Mean: a.Mean + b.Mean, Max: a.Max + b.Max, End: a.End + b.End}
		}
		if a, b := all.Threads, w.Threads; a != nil && b != nil {
			sum.Threads = &LivePeak{Live: a.Live + b.Live, Peak: a.Peak + b.Peak}
		}
		all = sum
	}
	return all
}

// add is null where one side is.
func add[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// sumGroups joins groups of the same name; the busiest thread stays one thread.
func sumGroups(a, b []ThreadGroup) []ThreadGroup {
	byName := map[string]ThreadGroup{}
	for _, g := range slices.Concat(a, b) {
		sum := byName[g.Name]
		byName[g.Name] = ThreadGroup{
			Name: g.Name, Threads: sum.Threads + g.Threads, CPUS: sum.CPUS + g.CPUS, MaxCPUS: max(sum.MaxCPUS, g.MaxCPUS),
			RunDelayS: sum.RunDelayS + g.RunDelayS, Looks: sum.Looks + g.Looks, Blocked: sum.Blocked + g.Blocked,
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(x, y ThreadGroup) int {
		return cmp.Or(cmp.Compare(y.CPUS, x.CPUS), cmp.Compare(x.Name, y.Name))
	})
}

func reasons(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, b)
	maps.Copy(all, a)
	return all
}
