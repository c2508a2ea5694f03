package report

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// page is what report.html shows, ready for the template: all of it is text, made
// safe by escape and then by html/template.
type page struct {
	pageFrame
	Finding     finding
	Warnings    []string
	Table       htmlTable
	Ladder      ladderChart
	LadderRows  [][]string
	LadderSVG   template.HTML // for browsers without scripts
	Latency     latencyCharts
	Percentiles []string // heads of the tables under the latency curves
	Time        timeCharts
	TimePanels  []timePanel
	Matrix      []matrixRow
	RungTitles  []string
	Why         []whyRung
	Claims      *Claims
	Starts      []htmlBlock
	Limits      []limitRow
	Columns     []htmlColumn
	Calibration []htmlBlock // one, or none
	Versions    []string
	Inside      inside
	Environment [][2]string
	Processes   []processRow
	Commands    []command
	Legend      []string
}

// pageFrame is what all pages share.
type pageFrame struct {
	Title  string
	RunID  string
	Status string
	About  []string
	Assets pageAssets
	Data   any // the JSON data block
}

// htmlColumn heads a SUT's column.
type htmlColumn struct {
	Name  string
	Color int
}

// foldColumns is how many SUTs stand side by side; more go into further tables.
const foldColumns = 6

// newPage lays a run out.
func newPage(saved *record.Saved) page {
	t := Build(saved)
	c := newCharts(saved, t)
	p := page{
		Finding: newFinding(saved, t), Warnings: pageWarnings(saved),
		Table: newHTMLTable(t), Ladder: c.Ladder, LadderRows: ladderRows(c.Ladder), Latency: c.Latency, Time: c.Time, TimePanels: c.Time.Panels,
		Claims: t.Claims, Limits: limitRows(saved, t), Environment: environment(saved),
		Processes: processRows(saved), Commands: repeatCommands(saved), Legend: t.Legend,
	}
	p.pageFrame = pageFrame{Title: t.Title, RunID: escape(t.RunID), Status: escape(saved.Run.Status), About: t.About}
	p.LadderSVG = template.HTML(newLadderSVG(saved, t, c.Ladder).String()) // #nosec G203 -- escaped where it is made
	for _, q := range latencyQuantiles {
		p.Percentiles = append(p.Percentiles, q.label)
	}
	for column, name := range t.Columns {
		p.Columns = append(p.Columns, htmlColumn{escape(name), column})
	}
	for _, fold := range folds(t) {
		if len(t.Starts.Rows) > 0 {
			p.Starts = append(p.Starts, newHTMLBlock(t, t.Starts, fold))
		}
	}
	if t.Calibration != nil {
		p.Calibration = newHTMLTable(t.Calibration).Blocks
	}
	p.Versions, p.Inside = t.Versions, newInside(saved, t)
	c.Flames = &p.Inside.flames
	p.Data = c
	p.Matrix, p.RungTitles = matrix(saved, t)
	p.Why = why(saved, t)
	return p
}

// pageWarnings stand above everything: what a reader must know before believing
// a figure.
func pageWarnings(saved *record.Saved) []string {
	run := &saved.Run
	var lines []string
	add := func(text string) { lines = append(lines, escape(text)) }
	if run.Status != "ok" && run.Status != "" {
		add("This run is " + status(saved) + ".")
	}
	if run.Standins {
		add("Stand-ins ran in place of the experiment's SUTs: the figures are of small Go servers of the same shape, not of the apps.")
	}
	if run.Experiment.Quick {
		add("Shortened by --quick: a first look, not to be compared with a full run.")
	}
	if run.Note != "" {
		add("Note: " + run.Note + ".")
	}
	for _, d := range run.Doubts {
		add("Doubt about the run as a whole, " + d.Kind + ": " + d.Evidence + orPrefix(" → ", d.Remedy))
	}
	for _, w := range saved.Warnings {
		add(w)
	}
	return lines
}

func orPrefix(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// folds groups the columns into what stands side by side.
func folds(t *Table) [][]int {
	var list [][]int
	for column := range t.Columns {
		if column%foldColumns == 0 {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], column)
	}
	return list
}

// ladderRows is the chart's data: a line per rung and SUT.
func ladderRows(c ladderChart) [][]string {
	m, _ := record.MetricNamed(record.Throughput)
	text := func(v float64) string {
		if v != v {
			return "–"
		}
		return number(v, m)
	}
	var rows [][]string
	for i, x := range c.X {
		for _, s := range c.Series {
			low := text(s.Low[i]) + "…" + text(s.High[i])
			if s.Low[i] == s.High[i] || s.Low[i] != s.Low[i] {
				low = ""
			}
			rows = append(rows, []string{fmt.Sprint(x), s.Name, text(s.Y[i]), low, text(s.Published[i])})
		}
	}
	return rows
}

// limitRow is a limit of every SUT.
type limitRow struct {
	Name   string
	Values []string // a SUT each
	Same   string   // the value where all share it
	Differ bool     // two that have it have not the same
}

func limitRows(saved *record.Saved, t *Table) []limitRow {
	b := &builder{saved: saved, exp: &saved.Run.Experiment, table: t}
	var rows []limitRow
	for _, name := range b.limitNames() {
		values := b.limitValues(name)
		row := limitRow{Name: escape(name), Differ: differ(values)}
		if alike(values) && len(values) > 1 {
			row.Same = escape(values[0])
		}
		for _, v := range values {
			row.Values = append(row.Values, escape(orElse(v, "–")))
		}
		rows = append(rows, row)
	}
	return rows
}

// environment is the machine, a fact a line.
func environment(saved *record.Saved) [][2]string {
	m := record.MaskMachine(saved.Run.Machine)
	var list [][2]string
	add := func(name, value string) {
		if value != "" {
			list = append(list, [2]string{escape(name), escape(value)})
		}
	}
	add("machine", m.Host)
	add("processor", joined(m.CPU, coresText(m.Cores)))
	if m.MemoryBytes > 0 {
		add("memory", fmt.Sprintf("%.1f GB", float64(m.MemoryBytes)/(1<<30)))
	}
	add("system", strings.TrimSpace(strings.Trim(m.OS+"/"+m.Arch, "/")+" "+m.Kernel))
	add("C library", m.Libc)
	add("transparent huge pages", m.THP)
	if m.FDLimit > 0 {
		add("descriptors a process", fmt.Sprint(m.FDLimit))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Env)) {
		add(key, m.Env[key])
	}
	add("loomlab", saved.Run.Version)
	if !saved.Run.Started.IsZero() {
		add("started", saved.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if f := saved.Run.Finished; f != nil {
		add("took", clockTime(f.Sub(saved.Run.Started)))
	}
	return list
}

func coresText(n int) string {
	if n == 0 {
		return ""
	}
	return phrase.Count(n, "core")
}
