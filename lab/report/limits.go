package report

import (
	"slices"
	"strings"

	"loomlab/lab/record"
)

// limits is the table of what bounds each SUT: the rows in which the SUTs are
// not alike. "≠" marks those that two of them have with different values; where
// some have no such thing, as no pool in front of a SUT without a client, the
// difference is one of kind and stands unmarked.
func (b *builder) limits() Block {
	block := Block{Title: "limits"}
	for _, name := range b.limitNames() {
		values := b.limitValues(name)
		if alike(values) {
			continue
		}
		row := Row{Metric: record.Metric{Label: name}}
		if differ(values) {
			row.Metric.Label += " ≠"
		}
		for _, v := range values {
			row.Cells = append(row.Cells, Cell{Text: escape(orElse(v, "–"))})
		}
		block.Rows = append(block.Rows, row)
	}
	return block
}

// equalLimits are those that all SUTs share, in one line.
func (b *builder) equalLimits() string {
	var equal []string
	for _, name := range b.limitNames() {
		if values := b.limitValues(name); alike(values) {
			equal = append(equal, name+" "+escape(values[0]))
		}
	}
	if equal == nil {
		return ""
	}
	if len(b.table.Columns) == 1 {
		return "limits: " + strings.Join(equal, ", ")
	}
	return "limits that all share: " + strings.Join(equal, ", ")
}

// limitNames are the rows that any SUT has, known ones first and in their order.
func (b *builder) limitNames() []string {
	var found []string
	for _, limits := range b.saved.Run.Limits {
		for name := range limits {
			found = appendNew(found, name)
		}
	}
	slices.SortFunc(found, func(x, y string) int {
		if i, j := slices.Index(record.LimitNames, x), slices.Index(record.LimitNames, y); i != j {
			return i - j
		}
		return strings.Compare(x, y)
	})
	return found
}

// limitValues are a row's, by column; "" where a SUT has none.
func (b *builder) limitValues(name string) []string { return b.limitsOf(name, b.table.Columns) }

// alike reports whether all are the same.
func alike(values []string) bool { return len(slices.Compact(slices.Clone(values))) == 1 }

// differ reports whether two that are there are not the same.
func differ(values []string) bool {
	there := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	return len(there) > 1 && !alike(there)
}
