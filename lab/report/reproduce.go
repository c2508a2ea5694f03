package report

import (
	"maps"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// command is something to type, and what it does.
type command struct {
	What string
	Line string
}

// repeatCommands are how to do a run again and how to look at it.
func repeatCommands(saved *record.Saved) []command {
	run := &saved.Run
	var list []command
	if len(run.Args) > 0 {
		list = append(list, command{"measure it again", "loomlab " + commandLine(run.Args[1:])})
	}
	if run.ID == "" {
		return list
	}
	name := escape(run.ID)
	return append(list,
		command{"the table in a terminal", "loomlab report " + record.QuoteWord(name)},
		command{"what held each cell back, in words", "loomlab explain " + record.QuoteWord(name)},
		command{"every figure, for a spreadsheet or R", "loomlab report " + record.QuoteWord(name) + " --format csv -o " + record.QuoteWord(escape(orElse(run.Experiment.Name, "run"))+".csv")},
		command{"against another run of yours", "loomlab compare " + record.QuoteWord(name) + " last"})
}

// processRow is how a SUT was started, and what it said of itself.
type processRow struct {
	htmlColumn
	Kind  string
	Line  string
	Env   []string
	JVM   string
	Facts [][2]string
}

// processRows describe the first start of each SUT.
func processRows(saved *record.Saved) []processRow {
	b := &builder{saved: saved, exp: &saved.Run.Experiment}
	var rows []processRow
	for column, name := range b.columns() {
		starts := b.startsOf(name)
		if len(starts) == 0 {
			continue
		}
		s := starts[0]
		row := processRow{htmlColumn: htmlColumn{escape(name), column}, Kind: escape(strings.Replace(s.Kind, "standin", "stand-in", 1)), Line: commandLine(s.Argv)}
		env := record.MaskEnv(s.Env)
		for _, key := range slices.Sorted(maps.Keys(env)) {
			row.Env = append(row.Env, escape(key+"="+env[key]))
		}
		if s.JVM != nil {
			row.JVM = escape(jvm(s.JVM))
			for _, key := range slices.Sorted(maps.Keys(s.JVM.Info)) {
				row.Facts = append(row.Facts, [2]string{escape(strings.ReplaceAll(key, "_", " ")), escape(s.JVM.Info[key])})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// commandLine writes argv as a shell would take it, as far as a page can show it. A
// record keeps no secrets, but those of before did.
func commandLine(argv []string) string {
	return escape(record.JoinWords(record.MaskArgs(argv)))
}
