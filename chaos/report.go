//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// report is how one round went.
type report struct {
	fault  string
	seed   uint64
	missed bool     // the run had ended before the fault came
	kept   int      // finished cells that were on disk when the fault came
	lost   []string // of them, those that could not be read afterwards
	left   []string // processes, listeners, temporary files
	wrong  []string // exit status, messages, figures
}

func (r report) bad() bool { return len(r.lost)+len(r.left)+len(r.wrong) > 0 }

func (r report) String() string {
	text := fmt.Sprintf("%s (seed %d)", r.fault, r.seed)
	switch {
	case r.missed:
		text += ": came too late"
	case !r.bad():
		text += ": well"
	}
	for what, list := range map[string][]string{"lost": r.lost, "left": r.left, "wrong": r.wrong} {
		if len(list) > 0 {
			text += fmt.Sprintf("\n      %s: %s", what, strings.Join(list, "\n            "))
		}
	}
	return text
}

// printTable prints a row for each fault and their sum, and reports whether
// anything was lost, left or wrong.
func printTable(w io.Writer, reports []report) (bad bool) {
	rows := map[string]*[6]int{}
	var sum [6]int
	for _, r := range reports {
		row := rows[r.fault]
		if row == nil {
			row = &[6]int{}
			rows[r.fault] = row
		}
		late := 0
		if r.missed {
			late = 1
		}
		for i, n := range [6]int{1, late, r.kept, len(r.lost), len(r.left), len(r.wrong)} {
			row[i] += n
			sum[i] += n
		}
		bad = bad || r.bad()
	}
	fmt.Fprintln(w, "| fault | rounds | too late | cells on disk | lost | left behind | wrong |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|")
	line := func(name string, n [6]int) {
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d |\n", name, n[0], n[1], n[2], n[3], n[4], n[5])
	}
	for _, name := range append(names(), "(after all)") {
		if row := rows[name]; row != nil {
			line(name, *row)
		}
	}
	line("**all**", sum)
	return bad
}

func names() []string {
	var list []string
	for _, f := range faults {
		if !slices.Contains(list, f.name) {
			list = append(list, f.name)
		}
	}
	return list
}
