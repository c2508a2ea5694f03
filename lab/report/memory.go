package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// inside adds what a rung's cells show of the insides of their JVMs: where the
// memory went, how long the collector stopped them, and what a flight recording of
// the rung saw.
func (b *builder) inside(block *Block, cells [][]*record.Cell) {
	at := rungName(block.Rung)
	for i, sut := range b.table.Columns {
		if c := lastWithMemory(cells[i]); c != nil {
			fall := newWaterfall(b.saved, i, c)
			block.Memory = append(block.Memory, fall)
			block.Inside = append(block.Inside, fmt.Sprintf("%s at %s: %s", escape(sut), at, fall.Sentence))
		} else if reason := whyNoMemory(b.saved, cells[i]); reason != "" {
			block.Memory = append(block.Memory, waterfall{Column: i, Missing: escape(reason)})
			block.Inside = append(block.Inside, fmt.Sprintf("%s at %s: where its memory is: n/a (%s)", escape(sut), at, escape(reason)))
		}
		if story, ok := newPauseStory(i, cells[i]); ok {
			block.Pauses = append(block.Pauses, story)
		}
	}
	for i := range b.saved.Run.Recordings {
		if r := &b.saved.Run.Recordings[i]; block.Rung.Rate == 0 && r.Connections == block.Rung.Connections {
			block.Inside = append(block.Inside, escape(recordingSentence(r)))
		}
	}
}

// waterfall is where the memory of a SUT went from idle to the end of the last
// window of a rung.
type waterfall struct {
	Column   int    // of the SUT
	Sentence string // the same in words
	Changes  []record.MemoryChange
	RSS      record.MemoryChange // their sum
	Peak     int64               // highest RSS in bytes since the load began, 0 if not known
	Missing  string              // why there is none
}

func newWaterfall(saved *record.Saved, column int, c *record.Cell) waterfall {
	from, _ := idle(saved, c)
	to := c.Memory.After
	fall := waterfall{
		Column: column, Sentence: escape(memorySentence(saved, c)), Changes: record.MemoryGrowth(from, to),
		RSS: record.MemoryChange{Name: "RSS", From: from.RSSBytes, To: to.RSSBytes},
	}
	if c.Memory.PeakBytes != nil {
		fall.Peak = *c.Memory.PeakBytes
	}
	return fall
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
// "of +318 MB since idle (371 → 689), 210 is heap that G1 committed, 64 direct buffers, 44 all else".
func memorySentence(saved *record.Saved, c *record.Cell) string {
	from, collector := idle(saved, c)
	to := c.Memory.After
	total := to.RSSBytes - from.RSSBytes
	tail := ""
	if peak := c.Memory.PeakBytes; peak != nil && *peak > to.RSSBytes+2*worthSaying {
		tail = fmt.Sprintf("; at its peak it held %s", inMB(*peak))
	}
	if total < 2*worthSaying && total > -2*worthSaying {
		return fmt.Sprintf("its memory is as it was idle, %s MB%s", inMB(to.RSSBytes), tail)
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
	return text + tail
}

// heapStory tells a heap that grew from one whose committed pages were used for the first time.
func heapStory(from, to *record.MemoryMap, resident record.MemoryChange, collector string) string {
	if committed := to.HeapCommittedBytes - from.HeapCommittedBytes; 2*committed >= resident.By() {
		return collector + " committed"
	}
	return "was committed from the start and is in use now"
}

// memory draws the waterfall from idle to the end of the rung's last window.
func (e *explainer) memory(fall waterfall) {
	if fall.Missing != "" {
		e.indented("memory: n/a (" + fall.Missing + ")")
		return
	}
	e.indented("memory: " + fall.Sentence)
	const bar = 24
	most := int64(1)
	for _, ch := range fall.Changes {
		most = max(most, ch.By(), -ch.By())
	}
	fmt.Fprintf(e.w, "    %-16s %8s %8s %8s\n", "MB resident", "idle", "now", "change")
	line := func(ch record.MemoryChange, blocks int) {
		fmt.Fprintln(e.w, strings.TrimRight(fmt.Sprintf("    %-16s %8.1f %8.1f %+8.1f  %s",
			escape(ch.Name), float64(ch.From)/mib, float64(ch.To)/mib, float64(ch.By())/mib, strings.Repeat("█", blocks)), " "))
	}
	for _, ch := range fall.Changes {
		line(ch, int(math.Round(bar*math.Abs(float64(ch.By()))/float64(most))))
	}
	line(fall.RSS, 0)
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
