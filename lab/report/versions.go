package report

import (
	"fmt"
	"slices"
	"strings"
)

// versions says of SUTs that are versions of one another (the same SUT on several
// JDKs, or built with several Boot versions) exactly in what they differ: more
// comes with a version than its number, such as a collector's defaults or Netty's
// allocator. A line for each family.
func (b *builder) versions() []string {
	var lines []string
	for _, family := range b.families() {
		var parts []string
		for _, name := range b.limitNames() {
			if values := b.limitsOf(name, family); !alike(values) {
				for i := range values {
					values[i] = orElse(values[i], "–")
				}
				parts = append(parts, name+" "+strings.Join(values, " | "))
			}
		}
		if parts == nil {
			parts = []string{"nothing that the lab knows of"}
		}
		lines = append(lines, escape(fmt.Sprintf("%s differ in: %s", strings.Join(family, " | "), strings.Join(parts, "; "))))
	}
	return lines
}

// families are the names of SUTs that are versions of one, in their order.
func (b *builder) families() [][]string {
	var of []string
	members := map[string][]string{}
	for _, s := range b.exp.SUTs {
		if s.Of != "" && slices.Contains(b.table.Columns, s.Name) && b.saved.Run.Limits[s.Name] != nil {
			of = appendNew(of, s.Of)
			members[s.Of] = append(members[s.Of], s.Name)
		}
	}
	var families [][]string
	for _, name := range of {
		if len(members[name]) > 1 {
			families = append(families, members[name])
		}
	}
	return families
}

// limitsOf are the values of one row for some SUTs; "" where a SUT has none.
func (b *builder) limitsOf(row string, suts []string) []string {
	values := make([]string, len(suts))
	for i, sut := range suts {
		values[i] = b.saved.Run.Limits[sut][row]
	}
	return values
}
