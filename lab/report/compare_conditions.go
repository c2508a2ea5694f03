package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Condition is something in which two sides differ beside their figures.
type Condition struct {
	Field  string `json:"field"`
	SUT    string `json:"sut,omitempty"` // where it concerns one of several
	Old    string `json:"old"`
	New    string `json:"new"`
	Effect string `json:"effect"`

	bars bar
}

// Effects of a condition on a comparison.
const (
	Refused = "refused" // the figures would not mean the same
	Subject = "subject" // the one thing that is compared
	Ignored = "ignored" // would bar it, and was asked to be ignored
	Noted   = "noted"   // does not bar it
)

// bar says what a difference in a field means.
type bar int

const (
	always  bar = iota // how it was measured: never the thing compared
	subject            // may be the thing compared, when nothing else differs
	never              // worth knowing
)

// fields are the conditions that are looked at, in the order of messages.
// Everything that METHOD rule 15 wants equal is here.
var fields = []struct {
	name string
	bars bar
}{
	{"quick", always}, {"stand-ins", always}, {"delay", always}, {"downstream", always}, {"postgres", always}, {"path", always}, {"duration", always}, {"timeout", always}, {"memory tracking", always}, {"load", always}, {"scale", always},
	{"cpu", always}, {"cores", always}, {"memory", always}, {"calibration", always},
	{"sut", subject}, {"jdk", subject}, {"boot", subject}, {"heap", subject}, {"collector", subject}, {"flags", subject}, {"processors", subject}, {"env", subject}, {"network", subject}, {"place", subject},
	{"kernel", subject}, {"libc", subject}, {"thp", subject},
	{"experiment", never}, {"ladder", never}, {"isolate", never}, {"rounds", never}, {"warm-up", never}, {"host", never}, {"loomlab", never},
}

// NotComparable says why two sides are not compared.
type NotComparable struct{ Conditions []Condition }

func (e *NotComparable) Error() string {
	var parts, names []string
	subjects := 0
	for _, c := range e.Conditions {
		if c.Effect != Refused {
			continue
		}
		parts, names = append(parts, c.String()), appendNew(names, c.Field)
		if c.bars == subject {
			subjects++
		}
	}
	hint := fmt.Sprintf("--ignore %s compares them all the same", strings.Join(names, ","))
	if subjects > 1 {
		hint = "a change can be put down to one of them only where the others are equal; " + hint
	}
	return fmt.Sprintf("not comparable: %s; %s", strings.Join(parts, "; "), hint)
}

func (c Condition) String() string {
	name := c.Field
	if c.SUT != "" {
		name += " of " + c.SUT
	}
	return escape(fmt.Sprintf("%s %s → %s", name, orElse(c.Old, "none"), orElse(c.New, "none")))
}

// ConditionNames are what --ignore takes.
func ConditionNames() []string {
	var names []string
	for _, f := range fields {
		if f.bars != never {
			names = append(names, f.name)
		}
	}
	return names
}

// judgeConditions gives every difference its effect. One that may be the thing
// compared is that where it is the only one of its kind.
func judgeConditions(found []Condition, ignore []string) ([]Condition, error) {
	for _, name := range ignore {
		if !slices.Contains(ConditionNames(), name) {
			return nil, fmt.Errorf("--ignore %s: no such condition; there are %s", name, strings.Join(ConditionNames(), ", "))
		}
	}
	var subjects []string
	for _, c := range found {
		if c.bars == subject && !slices.Contains(ignore, c.Field) {
			subjects = appendNew(subjects, c.Field)
		}
	}
	refused := false
	for i := range found {
		c := &found[i]
		switch {
		case c.bars == never:
			c.Effect = Noted
		case slices.Contains(ignore, c.Field):
			c.Effect = Ignored
		case c.bars == subject && len(subjects) == 1:
			c.Effect = Subject
		default:
			c.Effect, refused = Refused, true
		}
	}
	if refused {
		return found, &NotComparable{found}
	}
	return found, nil
}

// differences lists what differs between two sides, in the order of [fields].
func differences(old, new Side, pairs []sutPair) []Condition {
	var found []Condition
	add := func(name, sut, a, b string) {
		at := slices.IndexFunc(fields, func(f struct {
			name string
			bars bar
		}) bool {
			return f.name == name
		})
		c := Condition{Field: name, SUT: sut, Old: a, New: b, bars: fields[at].bars}
		if a != b && !slices.ContainsFunc(found, func(x Condition) bool { return x.Field == name && x.Old == a && x.New == b }) {
			found = append(found, c)
		}
	}
	if old.Saved != new.Saved {
		runDifferences(&old.Saved.Run, &new.Saved.Run, add)
	}
	for _, p := range pairs {
		a, b := sutFacts(old.Saved, p.old), sutFacts(new.Saved, p.new)
		if a == nil || b == nil {
			continue // missing on one side, which the cells show
		}
		name := ""
		if len(pairs) > 1 {
			name = p.String()
		}
		for _, field := range slices.Sorted(maps.Keys(a)) {
			if field == "processors" && (a[field] == "" || b[field] == "") {
				continue // nobody asked
			}
			add(field, name, a[field], b[field])
		}
	}
	order := func(c Condition) int {
		for i, f := range fields {
			if f.name == c.Field {
				return i
			}
		}
		return len(fields)
	}
	slices.SortStableFunc(found, func(x, y Condition) int { return cmp.Compare(order(x), order(y)) })
	return found
}

// runDifferences reports what differs between two runs as a whole.
func runDifferences(a, b *record.Run, add func(field, sut, old, new string)) {
	yes := func(v bool, word string) string {
		if v {
			return word
		}
		return "no"
	}
	e, f := &a.Experiment, &b.Experiment
	add("quick", "", yes(e.Quick, "yes"), yes(f.Quick, "yes"))
	add("scale", "", yes(e.Scale != 0, plain(e.Scale)), yes(f.Scale != 0, plain(f.Scale)))
	add("memory tracking", "", yes(e.Memory, "yes"), yes(f.Memory, "yes"))
	add("load", "", loadText(&e.Load), loadText(&f.Load))
	add("duration", "", e.Load.Window(), f.Load.Window())
	add("timeout", "", e.Load.Timeout.String(), f.Load.Timeout.String())
	add("postgres", "", postgres(a), postgres(b))
	add("experiment", "", e.Name, f.Name)
	add("ladder", "", ladder(e.Rungs()), ladder(f.Rungs()))
	add("isolate", "", yes(e.Isolate != "", e.Isolate), yes(f.Isolate != "", f.Isolate))
	add("rounds", "", fmt.Sprint(e.Load.Rounds), fmt.Sprint(f.Load.Rounds))
	add("warm-up", "", warmupText(e.Load.Warmup), warmupText(f.Load.Warmup))
	add("loomlab", "", a.Version, b.Version)
	m, n := &a.Machine, &b.Machine
	add("cpu", "", joined(m.OS+"/"+m.Arch, m.CPU), joined(n.OS+"/"+n.Arch, n.CPU))
	add("cores", "", fmt.Sprint(m.Cores), fmt.Sprint(n.Cores))
	if far(float64(m.MemoryBytes), float64(n.MemoryBytes), 0.05) {
		add("memory", "", gigabytes(m.MemoryBytes), gigabytes(n.MemoryBytes))
	}
	add("kernel", "", m.Kernel, n.Kernel)
	add("libc", "", m.Libc, n.Libc)
	add("thp", "", m.THP, n.THP)
	add("host", "", m.Host, n.Host)
	add("env", "", envText(m.Env), envText(n.Env))
	if old, new := calibrationDrift(a, b); old != "" {
		add("calibration", "", old, new)
	}
}

func ladder(rungs []record.Rung) string {
	words := make([]string, len(rungs))
	for i, r := range rungs {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}

// loadText is what makes a load what it is beside its ladder and its times.
func loadText(l *record.Load) string {
	var parts []string
	for _, t := range l.Targets {
		parts = append(parts, plain(t.Weight)+" "+t.Path)
	}
	if len(l.Command) > 0 {
		parts = append(parts, "by "+strings.Join(l.Command, " "))
	}
	if l.NoKeepAlive {
		parts = append(parts, "no keep-alive")
	}
	return orElse(strings.Join(parts, ", "), "plain")
}

// ownLoad is a SUT's own load in full, "" where it has the experiment's.
func ownLoad(s record.SUT) string {
	if s.Load == nil {
		return ""
	}
	return joined(s.Load.Window(), "timeout "+s.Load.Timeout.String(), loadText(s.Load))
}

func warmupText(w record.Warmup) string { return w.Min.String() + " to " + w.Max.String() }

func gigabytes(bytes int64) string { return fmt.Sprintf("%.2f GB", float64(bytes)/(1<<30)) }

// far reports whether two figures differ by more than a share of the smaller.
func far(a, b, share float64) bool { return math.Abs(a-b) > share*min(a, b) }

// calibrationShare is how far the calibration columns of two runs may differ
// (METHOD rule 20).
const calibrationShare = 0.03

// calibrationText says whether the lab itself was the same in both runs.
func calibrationText(a, b *record.Run) string {
	throughput, _ := record.MetricNamed(record.Throughput)
	for i := range a.Calibration {
		rung := a.Calibration[i].Rung()
		if calibration(a, rung, throughput) != nil && calibration(b, rung, throughput) != nil {
			if old, _ := calibrationDrift(a, b); old != "" {
				return "the calibrations of the two runs differ: what differs below may be the machine"
			}
			return fmt.Sprintf("the calibrations of the two runs agree within %.0f %%", 100*calibrationShare)
		}
	}
	return "not both runs have a calibration on the same rung: nothing says that the machine was the same"
}

// calibrationDrift is the first rung on which the engine alone against the
// downstream did not come to the same throughput in both runs.
func calibrationDrift(a, b *record.Run) (old, new string) {
	throughput, _ := record.MetricNamed(record.Throughput)
	for i := range a.Calibration {
		rung := a.Calibration[i].Rung()
		x, y := calibration(a, rung, throughput), calibration(b, rung, throughput)
		if x != nil && y != nil && far(x.Median, y.Median, calibrationShare) {
			return fmt.Sprintf("%s/s at %s", number(x.Median, throughput), rungName(rung)), fmt.Sprintf("%s/s", number(y.Median, throughput))
		}
	}
	return "", ""
}

func calibration(run *record.Run, rung record.Rung, m record.Metric) *record.Summary {
	var values []float64
	for i := range run.Calibration {
		if c := &run.Calibration[i]; c.Rung() == rung && c.Status == "ok" {
			if v := m.Of(c); v != nil {
				values = append(values, *v)
			}
		}
	}
	return record.Over(values)
}
