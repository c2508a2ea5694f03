package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// inside is what a rung's cells show of the insides of their JVMs, in a line each:
// where the memory went, and what a flight recording of the rung saw.
func (b *builder) inside(rung record.Rung, cells [][]*record.Cell) []string {
	var lines []string
	for i, sut := range b.table.Columns {
		if c := lastWithMemory(cells[i]); c != nil {
			lines = append(lines, escape(memorySentence(b.saved, sut, c)))
		} else if reason := whyNoMemory(b.saved, cells[i]); reason != "" {
			lines = append(lines, escape(fmt.Sprintf("%s at %s: where its memory is: n/a (%s)", sut, rungName(rung), reason)))
		}
	}
	for i := range b.saved.Run.Recordings {
		if r := &b.saved.Run.Recordings[i]; rung.Rate == 0 && r.Connections == rung.Connections {
			lines = append(lines, escape(recordingSentence(r)))
		}
	}
	return lines
}

// lastWithMemory is the last measured cell whose memory is known; nil without one.
func lastWithMemory(cells []*record.Cell) *record.Cell {
	for _, c := range slices.Backward(cells) {
		if c.Status == "ok" && c.Memory != nil && c.Memory.Before != nil && c.Memory.After != nil {
			return c
		}
	}
	return nil
}

// idle is the memory of the process that a cell was measured in before it had any
// load, and its collector. Without it the quiet time before the cell stands in.
func idle(saved *record.Saved, c *record.Cell) (m *record.MemoryMap, collector string) {
	collector = "the JVM"
	for i := range saved.Run.Starts {
		s := &saved.Run.Starts[i]
		if s.SUT != c.SUT || s.Fork != c.Fork || s.Connections != 0 && s.Connections != c.Connections {
			continue
		}
		m = s.Memory
		if s.JVM != nil && s.JVM.Collector != "" {
			collector = s.JVM.Collector
		}
	}
	if m == nil {
		m = c.Memory.Before
	}
	return m, collector
}

const (
	mib = 1 << 20
	// worthSaying is the growth in bytes below which a part is not named: RSS moves
	// that much by itself.
	worthSaying = 4 * mib
)

func inMB(bytes int64) string { return fmt.Sprintf("%.0f", math.Abs(float64(bytes))/mib) }

// memorySentence says what a SUT's memory grew by from idle to the end of a window:
// "virtual at 1000: of +318 MB since idle (371 → 689), 210 is heap that G1 committed, 64 direct buffers, 44 all else".
func memorySentence(saved *record.Saved, sut string, c *record.Cell) string {
	from, collector := idle(saved, c)
	to := c.Memory.After
	total := to.RSSBytes - from.RSSBytes
	head := fmt.Sprintf("%s at %s: ", sut, rungName(c.Rung()))
	tail := ""
	if peak := c.Memory.PeakBytes; peak != nil && *peak > to.RSSBytes+2*worthSaying {
		tail = fmt.Sprintf("; at its peak it held %s", inMB(*peak))
	}
	if total < 2*worthSaying && total > -2*worthSaying {
		return head + fmt.Sprintf("its memory is as it was idle, %s MB%s", inMB(to.RSSBytes), tail)
	}
	changes := record.MemoryGrowth(from, to)
	slices.SortStableFunc(changes, func(a, b record.MemoryChange) int {
		if total < 0 {
			a, b = b, a
		}
		return cmp.Compare(b.By(), a.By())
	})
	var grew, shrank []string
	rest := total
	for _, ch := range changes {
		if ch.By() < worthSaying && ch.By() > -worthSaying {
			continue
		}
		rest -= ch.By()
		text := inMB(ch.By()) + " " + ch.Name
		if (ch.By() < 0) != (total < 0) {
			shrank = append(shrank, text)
			continue
		}
		if ch.Name == record.MemoryHeap && total > 0 {
			text = fmt.Sprintf("%s is heap that %s", inMB(ch.By()), heapStory(from, to, ch, collector))
		}
		grew = append(grew, text)
	}
	if rest >= mib || rest <= -mib {
		grew = append(grew, inMB(rest)+" all else")
	}
	sign, verb := "+", ", while it gave back "
	if total < 0 {
		sign, verb = "−", ", while it took "
	}
	text := fmt.Sprintf("of %s%s MB since idle (%s → %s), %s", sign, inMB(total), inMB(from.RSSBytes), inMB(to.RSSBytes), strings.Join(grew, ", "))
	if shrank != nil {
		text += verb + strings.Join(shrank, ", ")
	}
	return head + text + tail
}

// heapStory tells a heap that grew from one whose committed pages were used for the first time.
func heapStory(from, to *record.MemoryMap, resident record.MemoryChange, collector string) string {
	if committed := to.HeapCommittedBytes - from.HeapCommittedBytes; 2*committed >= resident.By() {
		return collector + " committed"
	}
	return "was committed from the start and is in use now"
}

// memory draws the waterfall from idle to the end of the rung's last window.
func (e *explainer) memory(sut string, cells []*record.Cell) {
	c := lastWithMemory(cells)
	if c == nil {
		if reason := whyNoMemory(e.saved, cells); reason != "" {
			e.indented("memory: n/a (" + escape(reason) + ")")
		}
		return
	}
	from, _ := idle(e.saved, c)
	to := c.Memory.After
	e.indented("memory: " + escape(strings.TrimPrefix(memorySentence(e.saved, sut, c), fmt.Sprintf("%s at %s: ", sut, rungName(c.Rung())))))
	const bar = 24
	most := int64(1)
	changes := record.MemoryGrowth(from, to)
	for _, ch := range changes {
		most = max(most, ch.By(), -ch.By())
	}
	fmt.Fprintf(e.w, "    %-16s %8s %8s %8s\n", "MB resident", "idle", "now", "change")
	line := func(name string, a, b int64) {
		change := float64(b-a) / mib
		blocks := strings.Repeat("█", int(math.Round(bar*math.Abs(float64(b-a))/float64(most))))
		if name == "RSS" {
			blocks = ""
		}
		fmt.Fprintln(e.w, strings.TrimRight(fmt.Sprintf("    %-16s %8.1f %8.1f %+8.1f  %s", name, float64(a)/mib, float64(b)/mib, change, blocks), " "))
	}
	for _, ch := range changes {
		line(escape(ch.Name), ch.From, ch.To)
	}
	line("RSS", from.RSSBytes, to.RSSBytes)
}

// whyNoMemory is why --memory has nothing to show; "" where nobody asked.
func whyNoMemory(saved *record.Saved, cells []*record.Cell) string {
	if !saved.Run.Experiment.Memory {
		return ""
	}
	for _, c := range cells {
		if reason := c.Unavailable["memory"]; reason != "" {
			return reason
		}
	}
	return ""
}
