package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"loomlab/probes"
)

// jvmTools are the tools of the JDK that a SUT runs on, and its JVM as they reach
// it. The attach protocol belongs to a JDK's version, so it is always its own jcmd.
type jvmTools struct {
	pid  int
	jcmd string
	jfr  string // "" in a JDK without it
}

// jcmdPatience bounds one question: a JVM that thrashes in its heap answers late or never.
const jcmdPatience = 20 * time.Second

// tools finds the SUT's JVM and its jcmd; reason says why there is none.
func (f *fork) tools() (t jvmTools, reason string) {
	if f.appTree == nil {
		return t, "the SUT is not a child of the lab"
	}
	home := f.sut.JDKHome
	facts, err := f.appTree.JVM()
	switch {
	case err == nil:
		t.pid = facts.PID
		if facts.Home != "" {
			home = facts.Home
		}
	case err.Error() == probes.NoJVM:
		return t, err.Error()
	default: // perf data is off or cannot be read: it is the SUT's own command, if that is java
		if t.pid = f.javaPID(); t.pid == 0 {
			return t, err.Error()
		}
	}
	if home == "" {
		home = homeOf(t.pid)
	}
	if home == "" {
		return t, "the home of the JVM's JDK is not known"
	}
	t.jcmd = filepath.Join(home, "bin", "jcmd")
	if !isExecutable(t.jcmd) {
		return t, fmt.Sprintf("no jcmd in %s: it is a JRE", home)
	}
	if jfr := filepath.Join(home, "bin", "jfr"); isExecutable(jfr) {
		t.jfr = jfr
	}
	return t, ""
}

// homeOf is the JDK whose java a process runs, or "" where the system does not tell.
func homeOf(pid int) string {
	java, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || filepath.Base(java) != "java" {
		return ""
	}
	return filepath.Dir(filepath.Dir(java))
}

// javaPID is the SUT's first process if its command is java, else 0.
func (f *fork) javaPID() int {
	if f.app != nil && len(f.app.argv) > 0 && filepath.Base(f.app.argv[0]) == "java" {
		return f.app.pid
	}
	return 0
}

// lean makes a JDK's tool, which is a JVM of its own, start with little work.
var lean = []string{"-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-Xshare:auto", "-J-XX:-UsePerfData"}

// ask sends one diagnostic command to the JVM and returns its answer.
func (t jvmTools) ask(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, jcmdPatience)
	defer cancel()
	cmd := toolCommand(ctx, t.jcmd, append(append(append([]string{}, lean...), strconv.Itoa(t.pid)), command...)...)
	cmd.Env = withoutJavaOptions(os.Environ())
	var out bytes.Buffer
	var said opening
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := runTool(cmd); err != nil {
		switch {
		case ctx.Err() == context.DeadlineExceeded:
			return "", fmt.Errorf("jcmd %s got no answer within %v", command[0], jcmdPatience)
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
		words := firstLine(said.String())
		if words == "" {
			words = firstLine(afterPID(out.String()))
		}
		return "", fmt.Errorf("jcmd %s failed (%w): %s", command[0], err, printable(words))
	}
	return out.String(), nil
}

// afterPID drops the first line of jcmd's answers, which is the process's number.
func afterPID(answer string) string {
	if _, rest, more := strings.Cut(answer, "\n"); more {
		return rest
	}
	return answer
}

// withoutJavaOptions drops the variables that change every JVM, the tools' own too.
func withoutJavaOptions(env []string) []string {
	var kept []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if name != "JAVA_TOOL_OPTIONS" && name != "JDK_JAVA_OPTIONS" && name != "_JAVA_OPTIONS" {
			kept = append(kept, v)
		}
	}
	return kept
}
