package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
)

// replay feeds the saved run to a live view, as the orchestrator does.
func replay(t *testing.T, l *Live) {
	t.Helper()
	saved := openSaved(t)
	last := ""
	for _, c := range saved.Cells {
		if c.SUT != last {
			for _, s := range saved.Run.Starts {
				if s.SUT == c.SUT {
					l.Start(s)
				}
			}
			last = c.SUT
		}
		l.Phase(c.SUT + " · " + rungTitle(c.Rung()) + " · window")
		l.Cell(c)
	}
	l.Warn("the downstream was late\x1b[2J")
}

func TestLiveWithoutATerminalPrintsPlainLines(t *testing.T) {
	var out bytes.Buffer
	l := NewLive(&out, false, 0, openSaved(t).Run.Experiment)
	replay(t, l)
	l.Done()
	golden(t, "live-plain.txt", out.Bytes())
	if bytes.ContainsAny(out.Bytes(), "\x1b\r") {
		t.Error("escapes in plain lines")
	}
}

// screen is what a terminal shows after the bytes, as far as Live uses one: lines,
// going up, and clearing to the end.
func screen(t *testing.T, out string) []string {
	t.Helper()
	var lines []string
	row := 0
	for out != "" {
		if strings.HasPrefix(out, "\x1b[") {
			end := strings.IndexAny(out, "AJm")
			if end < 0 {
				t.Fatalf("unknown sequence %q", out[:min(len(out), 10)])
			}
			switch out[end] {
			case 'A':
				up := 0
				for _, digit := range out[2:end] {
					up = up*10 + int(digit-'0')
				}
				if row -= up; row < 0 {
					t.Fatal("went up beyond the first line")
				}
			case 'J':
				lines = lines[:row]
			}
			out = out[end+1:]
			continue
		}
		if out[0] == '\r' {
			out = out[1:]
			continue
		}
		end := strings.IndexAny(out, "\n\x1b")
		for len(lines) <= row {
			lines = append(lines, "")
		}
		if end < 0 {
			end = len(out)
		}
		lines[row] += out[:end]
		out = out[end:]
		if strings.HasPrefix(out, "\n") {
			row++
			out = out[1:]
		}
	}
	return lines
}

func TestLiveOnATerminalGrowsInPlace(t *testing.T) {
	var out bytes.Buffer
	now := noon
	l := newLive(&out, true, 80, openSaved(t).Run.Experiment, func() time.Time { now = now.Add(7 * time.Second); return now })
	replay(t, l)
	lines := screen(t, out.String())
	for _, line := range lines {
		if width(line) >= 80 {
			t.Errorf("a line of %d cells would wrap: %s", width(line), line)
		}
	}
	golden(t, "live-screen.txt", []byte(strings.Join(lines, "\n")+"\n"))
	l.Done()
	after := screen(t, out.String())
	for _, line := range after {
		if strings.Contains(line, "│") {
			t.Errorf("the table stays after Done: %s", line)
		}
	}
	if len(after) == 0 || !strings.Contains(strings.Join(after, "\n"), "killed by signal 9") {
		t.Errorf("the failed cell is not among the lines that stay: %q", after)
	}
}

func TestLiveStartsEmpty(t *testing.T) {
	var out bytes.Buffer
	l := NewLive(&out, true, 0, record.Experiment{})
	l.Phase("preparing")
	l.Start(record.Start{SUT: "a", Error: "exit status 1"})
	l.Cell(record.Cell{SUT: "a", Status: "skipped"})
	l.Done()
	l.Done()
	if text := out.String(); !strings.Contains(text, "a did not start: exit status 1") || !strings.Contains(text, "▸ preparing") {
		t.Errorf("screen:\n%s", text)
	}
	if text := strings.Join(screen(t, out.String()), "\n"); strings.Contains(text, "preparing") {
		t.Errorf("the view stays after Done:\n%s", text)
	}
}

// A SUT that did not start is one message, whatever number of cells it had.
func TestLiveFailedStartIsSaidOnce(t *testing.T) {
	var out bytes.Buffer
	l := NewLive(&out, false, 0, record.Experiment{})
	l.Start(record.Start{SUT: "a", Fork: 1, Error: "it ended with exit status 3\n    boom\x1b[2J\n    bam"})
	for range 3 {
		l.Cell(record.Cell{SUT: "a", Fork: 1, Status: "failed", Reason: "it ended with exit status 3"})
	}
	l.Cell(record.Cell{SUT: "b", Fork: 1, Connections: 5, Round: 1, Status: "failed", Reason: "died"})
	l.Done()
	want := "a did not start: it ended with exit status 3\n    boom\\x1b[2J\n    bam\nb at 5 connections, round 1: failed: died\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

func TestClockTime(t *testing.T) {
	check := func(d time.Duration, want string) {
		t.Helper()
		if got := clockTime(d); got != want {
			t.Errorf("%v = %s, want %s", d, got, want)
		}
	}
	check(0, "0:00")
	check(61*time.Second, "1:01")
	check(3*time.Hour+2*time.Minute+time.Second, "3:02:01")
}

// After a terminal has become narrower its lines take more rows, and all of them go.
func TestLiveErasesWhatAResizeBroke(t *testing.T) {
	l := &Live{shown: []string{"short", bold + strings.Repeat("x", 90) + reset, "", strings.Repeat("広", 20)}}
	for columns, want := range map[int]string{120: "\x1b[4A\r\x1b[J", 60: "\x1b[5A\r\x1b[J", 30: "\x1b[7A\r\x1b[J", 90: "\x1b[4A\r\x1b[J"} {
		var frame bytes.Buffer
		if l.erase(&frame, columns); frame.String() != want {
			t.Errorf("%d columns: %q, want %q", columns, frame.String(), want)
		}
	}
}
