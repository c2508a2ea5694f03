package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"loomlab/lab/report"
)

// The listing as people read it: experiments under the article that they come
// from, each with its question, its time and what it needs.

const (
	listWidth   = 80  // where the terminal's is not known
	listWidest  = 120 // lines beyond it are hard to read
	listNoTitle = "Of the lab's own"
)

func (l *listing) write(w io.Writer, width int) error {
	if width <= 0 {
		width = listWidth
	}
	width = min(width, listWidest)
	var b strings.Builder
	b.WriteString("Experiments, by where they come from (loomlab run NAME):\n")
	names := 0
	for _, e := range l.Experiments {
		names = max(names, len(e.Name))
	}
	for _, title := range l.titles() {
		b.WriteString("\n")
		writeWrapped(&b, title, width, "", "  ")
		for _, e := range l.Experiments {
			if e.title() == title {
				e.write(&b, names, width)
			}
		}
	}
	l.writeApps(&b)
	l.writeJDKs(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// titles are the sources of the experiments, in the order of their first.
func (l *listing) titles() []string {
	var titles []string
	for _, e := range l.Experiments {
		if !slices.Contains(titles, e.title()) {
			titles = append(titles, e.title())
		}
	}
	return titles
}

func (e listedExperiment) title() string {
	if e.Source == nil || e.Source.Title == "" {
		return listNoTitle
	}
	return e.Source.Title
}

// write puts the name of an experiment left of everything about it.
func (e listedExperiment) write(b *strings.Builder, names, width int) {
	indent := strings.Repeat(" ", 2+names+2)
	writeWrapped(b, e.Question, width, fmt.Sprintf("  %-*s  ", names, e.Name), indent)
	facts := fmt.Sprintf("%s, with --quick %s; needs %s", e.Time.short(), e.QuickTime.short(), strings.Join(e.needs.Short(), ", "))
	writeWrapped(b, facts, width, indent, indent)
}

// writeWrapped writes text in lines of at most width, the first after head and
// the others after indent.
func writeWrapped(b *strings.Builder, text string, width int, head, indent string) {
	for i, line := range report.Wrap(text, max(20, width-len(indent)), "") {
		if i == 0 {
			b.WriteString(head)
		} else {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
}

// short is the time as one plans with it: "6 to 9 min".
func (t listedTime) short() string {
	least, most := time.Duration(t.MinS*1e9), time.Duration(t.MaxS*1e9)
	unit, name := time.Minute, "min"
	switch {
	case most <= 90*time.Second:
		unit, name = time.Second, "s"
	case most > 2*time.Hour:
		return fmt.Sprintf("%.1f to %.1f h", least.Hours(), most.Hours())
	}
	from, to := (least+unit/2)/unit, (most+unit/2)/unit
	if from == to {
		return fmt.Sprintf("%d %s", to, name)
	}
	return fmt.Sprintf("%d to %d %s", from, to, name)
}

func (l *listing) writeApps(b *strings.Builder) {
	b.WriteString("\nApps:\n")
	for _, a := range l.Apps {
		where := "not built yet; a run or `loomlab build` does it"
		if a.Jar != nil {
			where = *a.Jar
		}
		fmt.Fprintf(b, "  %-12s Spring Boot %s, %s\n", a.Name, a.Boot, where)
	}
}

func (l *listing) writeJDKs(b *strings.Builder) {
	b.WriteString("\nJDKs:\n")
	for _, j := range l.JDKs {
		fmt.Fprintf(b, "  %s\n", j)
	}
	if len(l.JDKs) == 0 {
		b.WriteString("  none found: the stand-ins run in place of the apps\n")
	}
}
