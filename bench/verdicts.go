package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func init() { benches["verdicts"] = benchVerdicts }

// judged is one cell of the matrix with what was expected of it.
type judged struct {
	label, kind, text string
	right, sure       bool
}

// benchVerdicts runs the matrix of labelled bottlenecks: each SUT has one known
// limit, its size drawn by seed, and the lab must name it. It fails when fewer
// than 95 % of the verdicts are right, or when a wrong one claims to be sure.
func benchVerdicts(args []string) error {
	flags := flag.NewFlagSet("bench verdicts", flag.ContinueOnError)
	seeds := flags.String("seeds", "1", "whole numbers with commas between; each is one pass with parameters of its own")
	jars := flags.Bool("jars", false, "run the cases of the real jars too (needs a JDK 21+, and the jars of make jars)")
	only := flags.String("only", "", "run only the cases with this in their label")
	keep := flags.String("keep", "", "keep the experiments and their documents in this folder")
	verbose := flags.Bool("v", false, "print every verdict, not only the wrong ones")
	if err := flags.Parse(args); err != nil {
		return err
	}
	binary, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	m := &matrix{binary: binary, dir: *keep, verbose: *verbose}
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp("", "loomlab-verdicts-"); err != nil {
			return err
		}
		defer os.RemoveAll(m.dir)
	}
	for word := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return fmt.Errorf("--seeds %s: %w", *seeds, err)
		}
		if err := m.pass(seed, *only, *jars); err != nil {
			return err
		}
	}
	return m.summary()
}

// matrix collects the outcomes of all passes.
type matrix struct {
	binary, dir string
	verbose     bool
	outcomes    []judged
	skipped     []string
}

// pass runs every case once with parameters drawn from seed.
func (m *matrix) pass(seed uint64, only string, jars bool) error {
	groups := caseGroups(m.binary)
	if jars {
		groups = append(groups, jarGroups(m.binary)...)
	}
	for i, g := range groups {
		// Every group draws from its own source: --only must not change what is drawn.
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		cases := g.cases(rnd)
		cases = slices.DeleteFunc(cases, func(c labelled) bool { return !strings.Contains(c.label, only) })
		if len(cases) == 0 {
			continue
		}
		if why := g.lacks(); why != "" {
			for _, c := range cases {
				m.skip(fmt.Sprintf("seed %d, %s: %s", seed, c.label, why))
			}
			continue
		}
		if err := m.runGroup(seed, i, g, cases); err != nil {
			return fmt.Errorf("seed %d, %s: %w", seed, cases[0].label, err)
		}
	}
	return nil
}

func (m *matrix) skip(why string) {
	fmt.Printf("SKIPPED %s\n", why)
	m.skipped = append(m.skipped, why)
}

// runGroup runs one experiment, whose SUTs are the cases.
func (m *matrix) runGroup(seed uint64, number int, g group, cases []labelled) error {
	name := fmt.Sprintf("verdicts-%d-%d", seed, number)
	var text strings.Builder
	fmt.Fprintf(&text, "name: %s\n%s\nsuts:\n", name, g.head)
	for i, c := range cases {
		fmt.Fprintf(&text, "  - {name: c%d, %s} # %s\n", i, c.sut, c.label)
	}
	file := filepath.Join(m.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return err
	}
	if g.around != nil {
		stop, err := g.around()
		if err != nil {
			return err
		}
		defer stop()
	}
	argv := []string{"run", file, "--json", "--out", filepath.Join(m.dir, "runs")}
	cmd := exec.Command(m.binary, argv...)
	var errText strings.Builder
	cmd.Stderr = &errText
	document, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: a cell failed, as some must
		return fmt.Errorf("loomlab %s: %w\n%s", strings.Join(argv, " "), err, errText.String())
	}
	_ = os.WriteFile(filepath.Join(m.dir, name+".json"), document, 0o644) // only to look at later
	return m.judge(seed, document, cases)
}

// judge compares the verdicts of a run with the labels.
func (m *matrix) judge(seed uint64, document []byte, cases []labelled) error {
	var run struct {
		Cells []struct {
			SUT     string `json:"sut"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Verdict *struct {
				Kind     string `json:"kind"`
				Sure     bool   `json:"sure"`
				Text     string `json:"text"`
				Evidence string `json:"evidence"`
			} `json:"verdict"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(document, &run); err != nil {
		return fmt.Errorf("the run's document: %w", err)
	}
	for i, c := range cases {
		o := judged{label: c.label, kind: "none"}
		evidence := ""
		for _, cell := range run.Cells {
			if cell.SUT != fmt.Sprintf("c%d", i) {
				continue
			}
			o.text = cell.Status + " " + cell.Reason
			if v := cell.Verdict; v != nil {
				o.kind, o.sure, o.text, evidence = v.Kind, v.Sure, v.Text, v.Evidence
			}
		}
		o.right = slices.Contains(c.right, o.kind)
		m.outcomes = append(m.outcomes, o)
		mark := "right"
		if !o.right {
			mark = "WRONG"
			if o.sure {
				mark = "WRONG AND SURE"
			}
		}
		fmt.Printf("seed %d  %-32s %-16s %-6s %s\n", seed, c.label, o.kind, map[bool]string{true: "sure"}[o.sure], mark)
		if m.verbose || !o.right {
			fmt.Printf("    want %s: %s\n    %s\n    %s\n", strings.Join(c.right, " or "), c.sut, o.text, evidence)
		}
	}
	return nil
}

// summary prints the confusion table and judges the matrix as a whole.
func (m *matrix) summary() error {
	kinds := map[string]bool{}
	rows := map[string]map[string]string{}
	counts := map[string]map[string]int{}
	right, wrongSure := 0, 0
	for _, o := range m.outcomes {
		kinds[o.kind] = true
		if counts[o.label] == nil {
			counts[o.label], rows[o.label] = map[string]int{}, map[string]string{}
		}
		counts[o.label][o.kind]++
		mark := ""
		if !o.right {
			mark = " ✗"
		}
		rows[o.label][o.kind] = fmt.Sprintf("%d%s", counts[o.label][o.kind], mark)
		if o.right {
			right++
		} else if o.sure {
			wrongSure++
		}
	}
	columns := slices.Sorted(maps.Keys(kinds))
	fmt.Printf("\n| bottleneck \\ verdict | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("--:|", len(columns)))
	for _, label := range slices.Sorted(maps.Keys(rows)) {
		cells := make([]string, len(columns))
		for i, kind := range columns {
			cells[i] = rows[label][kind]
		}
		fmt.Printf("| %s | %s |\n", label, strings.Join(cells, " | "))
	}
	if len(m.outcomes) == 0 {
		return errors.New("no case was run")
	}
	share := 100 * float64(right) / float64(len(m.outcomes))
	fmt.Printf("\n%d of %d right (%.0f %%), %d wrong and sure, %d skipped\n", right, len(m.outcomes), share, wrongSure, len(m.skipped))
	for _, why := range m.skipped {
		fmt.Printf("skipped: %s\n", why)
	}
	if share < 95 || wrongSure > 0 {
		return fmt.Errorf("want at least 95 %% right and none wrong and sure")
	}
	return nil
}
