package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"golang.org/x/term"

	"loomlab/lab/record"
)

// Live shows a run while it goes on. On a terminal a small table fills in place,
// beneath it the tiers, the last seconds and the progress of the whole run, drawn
// anew once a second and at each event; elsewhere each event is one plain line.
// Its methods may be called from several goroutines. Call [Live.Done] at the
// end, then print the whole table.
type Live struct {
	w     io.Writer
	tty   bool
	width int
	now   func() time.Time
	done  chan struct{} // closed by Done

	mu     sync.Mutex
	saved  record.Saved
	cells  int // how many the experiment has
	before int // of them, those that an earlier part of a resumed run has measured
	began  time.Time
	phase  string
	shown  []string // lines of the view on the screen now

	table      []string // drawn for this many cells in this many columns
	tableCells int
	tableWidth int

	planned  int           // cells, for which
	estimate time.Duration // is how long they take by the plan; 0: nobody said
	pulse    pulse
	bar      mpb.BarFiller
}

// NewLive starts a live view. With tty it draws with ANSI sequences in width
// columns (0: as wide as the terminal is); [Terminal] says what a writer takes.
func NewLive(w io.Writer, tty bool, width int, exp record.Experiment) *Live {
	l := newLive(w, tty, width, exp, time.Now)
	if tty {
		go l.tick()
	}
	return l
}

func newLive(w io.Writer, tty bool, width int, exp record.Experiment, now func() time.Time) *Live {
	l := &Live{w: w, tty: tty, width: width, now: now, done: make(chan struct{}), bar: mpb.BarStyle().Build()}
	l.saved.Run.Experiment = exp
	l.saved.Run.Status = "running"
	l.cells = exp.Cells()
	l.began = l.now()
	return l
}

// Expect says how many cells the run has and how long it may take, as planned: the
// time left is then known before the first cell has ended.
func (l *Live) Expect(cells int, total time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cells, l.planned, l.estimate = max(cells, l.cells), cells, total
}

// Point takes a second of a tier. It never draws and never waits for a terminal:
// who calls it is measuring.
func (l *Live) Point(p record.Point) {
	if l.tty {
		l.pulse.add(&p)
	}
}

// tick lets the time go on between events: a warm-up is silent for many seconds.
func (l *Live) tick() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-second.C:
			l.mu.Lock()
			if l.shown != nil {
				l.draw("")
			}
			l.mu.Unlock()
		}
	}
}

// Terminal reports whether w is a terminal to draw on, and how wide it is (0
// where that is unknown). NO_COLOR and TERM=dumb ask for plain lines.
func Terminal(w io.Writer) (tty bool, width int) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false, 0
	}
	width, _, _ = term.GetSize(int(file.Fd()))
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", width
}

// Phase says what is going on now, such as "virtual · 1000 connections · round
// 2 · window". It shows on a terminal only.
func (l *Live) Phase(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text = escape(text); text != l.phase {
		l.phase = text
		l.draw("")
	}
}

// Before takes what an earlier part of a resumed run has done; it prints nothing.
func (l *Live) Before(starts []record.Start, cells []record.Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range cells {
		if c.Status != "interrupted" {
			l.saved.Cells = append(l.saved.Cells, c)
		}
	}
	l.saved.Run.Starts = append(l.saved.Run.Starts, starts...)
	l.before = len(l.saved.Cells)
}

// Start takes a SUT that is ready, or that failed to become so.
func (l *Live) Start(s record.Start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saved.Run.Starts = append(l.saved.Run.Starts, s)
	l.draw(startLine(s))
}

// Cell takes a cell that has ended.
func (l *Live) Cell(c record.Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saved.Cells = append(l.saved.Cells, c)
	line := cellLine(&c)
	if l.tty && c.Status == "ok" || l.neverStarted(&c) {
		line = "" // the table has it, or the start's line said it
	}
	l.draw(line)
}

// neverStarted tells whether the cell failed because its SUT did not start.
func (l *Live) neverStarted(c *record.Cell) bool {
	return c.Status != "ok" && slices.ContainsFunc(l.saved.Run.Starts, func(s record.Start) bool {
		return s.SUT == c.SUT && s.Fork == c.Fork && s.Error != ""
	})
}

// Warn shows a line that stays.
func (l *Live) Warn(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw("warning: " + escape(message))
}

// Done wipes the view from a terminal; lines that were printed above it stay. A
// second call does nothing.
func (l *Live) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over() {
		return
	}
	close(l.done)
	var frame bytes.Buffer
	columns, _ := l.size()
	l.erase(&frame, columns)
	_, _ = l.w.Write(frame.Bytes()) // nobody to tell
	l.shown = nil
}

// over reports whether Done was called.
func (l *Live) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// draw prints line for good, and on a terminal the view anew beneath it, in one
// write so that nothing flickers.
func (l *Live) draw(line string) {
	if !l.tty || l.over() {
		if line != "" {
			fmt.Fprintln(l.w, line)
		}
		return
	}
	columns, rows := l.size()
	var frame bytes.Buffer
	l.erase(&frame, columns)
	if line != "" {
		for text := range strings.Lines(line) {
			for _, part := range Wrap(strings.TrimSuffix(text, "\n"), columns-1, "  ") {
				fmt.Fprintln(&frame, part)
			}
		}
	}
	lines := l.view(columns - 1)
	if room := max(3, rows-2); len(lines) > room {
		lines = append([]string{"…"}, lines[len(lines)-room+1:]...)
	}
	for _, s := range lines {
		frame.WriteString(s + "\n")
	}
	l.shown = lines
	_, _ = l.w.Write(frame.Bytes()) // a terminal that is gone must not end the run
}

// erase goes back to the first line of the view and clears from there. Terminals
// break lines anew when they become narrower, so that a line may take several rows.
func (l *Live) erase(frame *bytes.Buffer, columns int) {
	rows := 0
	for _, line := range l.shown {
		rows += max(1, (width(line)+columns-1)/columns)
	}
	if rows > 0 {
		fmt.Fprintf(frame, "\x1b[%dA\r\x1b[J", rows)
	}
}

func (l *Live) size() (columns, rows int) {
	columns, rows = l.width, 24
	if file, ok := l.w.(*os.File); ok {
		if w, h, err := term.GetSize(int(file.Fd())); err == nil && w > 0 && h > 0 {
			columns, rows = w, h // it may have been resized
		}
	}
	if columns <= 0 {
		columns = 80
	}
	return columns, rows
}
