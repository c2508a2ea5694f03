package plan

import (
	"os"
	"path/filepath"
	"strings"

	"loomlab/lab/jvm"
	"loomlab/lab/record"
)

// instruments are the flags that the lab adds to the command line of a JVM to
// look into it. They stand in the plan, in --dry-run and in the record, apart from
// the SUT's own flags.
func (p *Plan) instruments(s SUT) []string {
	var flags []string
	if p.Experiment.Memory {
		flags = append(flags, jvm.NMTFlag)
	}
	if s.NeedsJDK() { // an older JVM, as an unknown java may be, would refuse the flag
		flags = append(flags, jvm.GCLogFlag(s.Name))
	}
	return flags
}

// instrumented puts the instruments into a command line that starts with java. A
// command that starts java by itself gets the one flag that was asked for through
// the environment, where every java of JDK 9 or later finds it.
func (p *Plan) instrumented(s *SUT) []string {
	words := append(append([]string(nil), s.Command...), s.Args...)
	if len(words) == 0 {
		return words
	}
	if filepath.Base(words[0]) == "java" {
		return append(append(words[:1:1], p.instruments(*s)...), words[1:]...)
	}
	if p.Experiment.Memory {
		const variable = "JDK_JAVA_OPTIONS"
		env := map[string]string{}
		for key, value := range s.Env {
			env[key] = value
		}
		own, set := env[variable]
		if !set && p.Launcher(&s.SUT, record.TierSUT).Host == "" {
			own = os.Getenv(variable)
		}
		if !strings.Contains(own, jvm.NMTFlag) { // a run that is resumed has it already
			own = strings.TrimSpace(own + " " + jvm.NMTFlag)
		}
		env[variable] = own
		s.Env = env
	}
	return words
}

// isInstrument tells the lab's own flags from a SUT's.
func isInstrument(flag string) bool {
	return flag == jvm.NMTFlag || strings.HasPrefix(flag, "-Xlog:gc,gc+phases:file=")
}

// OwnFlags parts the flags that a JVM reports into its own and the lab's.
func OwnFlags(jvm *record.StartJVM, flags []string) {
	for _, flag := range flags {
		if isInstrument(flag) {
			jvm.Instruments = append(jvm.Instruments, flag)
		} else {
			jvm.Flags = append(jvm.Flags, flag)
		}
	}
}
