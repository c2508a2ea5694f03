package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// A run that was interrupted goes on at its first missing cell, with the settings
// that are in its record. What was measured stands; a cell that was interrupted is
// measured again and counts its attempts (METHOD rule 21). The SUT of a fork that
// was cut short is another process than before, which its start and, where memory
// is concerned, its cells say.

// ErrComplete says that a run has no cell left to measure.
var ErrComplete = errors.New("the run is complete: no cell is missing")

// Resume plans what is missing of saved for the same machine; dsn is that of
// the user's own database, which a record does not hold, where the run had one.
// Its errors are differences that forbid to go on, one line each.
func Resume(saved *record.Saved, machine Facts, dsn string) (*Plan, error) {
	run := &saved.Run
	if where := record.Masked(run.Experiment); where != "" {
		return nil, fmt.Errorf("its record keeps no secrets and %s is one: start it anew", where)
	}
	p := &Plan{Experiment: cloneExperiment(&run.Experiment), Facts: machine, Standins: run.Standins, Note: run.Note, Before: slices.Clone(saved.Cells)}
	if p.Before == nil {
		p.Before = []record.Cell{}
	}
	for _, s := range p.Experiment.SUTs {
		planned := p.planned(s)
		if run.Standins && s.Standin != nil && (run.Note == "" || planned.NeedsJDK()) {
			planned.Kind = record.KindStandin
		}
		if planned.NeedsJDK() {
			if why, err := p.findJDK(&planned, Options{}); err != nil || why != "" {
				return nil, errors.Join(err, errorOf(why))
			}
		}
		if planned.NeedsApps() && machine.FindApps != nil {
			planned.Apps = machine.FindApps(planned.SUT)
		}
		planned.Words = p.words(&planned)
		p.SUTs = append(p.SUTs, planned)
	}
	if err := p.planPostgres(dsn); err != nil {
		return nil, err
	}
	if err := p.sameDatabase(run.Postgres); err != nil {
		return nil, err
	}
	p.complete()
	if len(p.Remaining()) == 0 {
		return nil, ErrComplete
	}
	return p, nil
}

func errorOf(why string) error {
	if why == "" {
		return nil
	}
	return errors.New(why)
}

// Differences says what forbids to go on with saved on this machine and with this
// plan (its apps built), in words: "kernel 6.1, was 6.0". The plan's own settings
// come from the record and cannot differ.
func (p *Plan) Differences(saved *record.Saved, version string, machine record.Machine) []string {
	var found []string
	differ := func(what string, was, is any) {
		was, is = orNotSet(was), orNotSet(is)
		if !reflect.DeepEqual(was, is) {
			found = append(found, fmt.Sprintf("%s is %v, was %v", what, is, was))
		}
	}
	differ("loomlab's version", saved.Run.Version, version)
	was, is := asMap(saved.Run.Machine), asMap(record.MaskMachine(machine))
	for _, field := range slices.Sorted(maps.Keys(is)) {
		if field == "env" {
			continue
		}
		differ("the machine's "+strings.ReplaceAll(field, "_", " "), was[field], is[field])
	}
	env := record.MaskMachine(machine).Env
	for _, name := range slices.Sorted(maps.Keys(union(env, saved.Run.Machine.Env))) {
		differ(name, saved.Run.Machine.Env[name], env[name])
	}
	for _, start := range saved.Run.Starts {
		if start.Error != "" || start.Argv == nil {
			continue
		}
		at := slices.IndexFunc(p.SUTs, func(s SUT) bool { return s.Name == start.SUT })
		if at < 0 {
			continue
		}
		if was, is := p.SUTs[at].commandDiffers(start.Argv); is != "" {
			differ("the command of "+start.SUT, was, is)
		}
	}
	return slices.Compact(found)
}

func orNotSet(v any) any {
	if v == "" {
		return "not set"
	}
	return v
}

// commandDiffers returns the first word of an earlier start's command that is not
// what it would be now. Words that hold a placeholder differ from start to start.
func (s *SUT) commandDiffers(argv []string) (was, is string) {
	known := experiment.Placeholders{}
	if s.JDKHome != "" {
		known["jdk"] = s.JDKHome
	}
	if s.Apps != "" {
		known["apps"] = s.Apps
	}
	if len(argv) != len(s.Words) {
		return fmt.Sprintf("of %d words", len(argv)), fmt.Sprintf("of %d words", len(s.Words))
	}
	for i, word := range record.MaskArgs(s.Words) {
		now, err := known.Expand(word)
		ours := i == 0 && s.Kind == record.KindStandin // this program, which its version stands for
		if err == nil && !ours && !strings.Contains(now, "{{") && now != argv[i] {
			return argv[i], now
		}
	}
	return "", ""
}

func asMap(v any) map[string]any {
	var m map[string]any
	body, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		panic(err) // plain structs of the record always are JSON objects
	}
	return m
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

// Kept is how many of the plan's cells an earlier part of the run has finished.
func (p *Plan) Kept() int {
	kept := 0
	for i := range p.Before {
		if c := &p.Before[i]; c.Status != "interrupted" && !p.KeyOf(c).equalRate {
			kept++
		}
	}
	return kept
}
