package jvm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"loomlab/lab/java"
	"loomlab/lab/phrase"
	"loomlab/lab/tool"
)

// Tools are the tools of the JDK that a SUT runs on, and its JVM as they reach
// it. The attach protocol belongs to a JDK's version, so it is always its own jcmd.
type Tools struct {
	PID  int
	Jcmd string
	JFR  string // "" in a JDK without it
}

// jcmdPatience bounds one question: a JVM that thrashes in its heap answers late or never.
const jcmdPatience = 20 * time.Second

// ToolsOf are those beside the JVM of a process, whose JDK is in home ("": the
// one that its command belongs to); reason says why there are none.
func ToolsOf(pid int, home string) (t Tools, reason string) {
	if home == "" {
		home = homeOf(pid)
	}
	if home == "" {
		return t, "the home of the JVM's JDK is not known"
	}
	t = Tools{PID: pid, Jcmd: filepath.Join(home, "bin", "jcmd")}
	if !java.IsExecutable(t.Jcmd) {
		return Tools{}, fmt.Sprintf("no jcmd in %s: it is a JRE", home)
	}
	if jfr := filepath.Join(home, "bin", "jfr"); java.IsExecutable(jfr) {
		t.JFR = jfr
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

// lean makes a JDK's tool, which is a JVM of its own, start with little work.
var lean = []string{"-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-Xshare:auto", "-J-XX:-UsePerfData"}

// Ask sends one diagnostic command to the JVM and returns its answer.
func (t Tools) Ask(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, jcmdPatience)
	defer cancel()
	cmd := tool.Command(ctx, t.Jcmd, append(append(append([]string{}, lean...), strconv.Itoa(t.PID)), command...)...)
	cmd.Env = withoutJavaOptions(os.Environ())
	var out bytes.Buffer
	var said tool.Opening
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := tool.Run(cmd); err != nil {
		switch {
		case ctx.Err() == context.DeadlineExceeded:
			return "", fmt.Errorf("jcmd %s got no answer within %v", command[0], jcmdPatience)
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
		words := phrase.FirstLine(said.String())
		if words == "" {
			words = phrase.FirstLine(afterPID(out.String()))
		}
		return "", fmt.Errorf("jcmd %s failed (%w): %s", command[0], err, phrase.Printable(words))
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
