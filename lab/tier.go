package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"loomlab/lab/guard"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// stopGrace is how long a tier may take to end by itself after TERM.
const stopGrace = 5 * time.Second

// launch says how to start a tier.
type launch struct {
	tier  string   // "load", "sut", "downstream" or "postgres"
	argv  []string // the tier's own command line
	env   []string // its whole environment; nil is the orchestrator's, or the probe's of another machine
	add   []string // to that environment
	place launcher // where it runs
	log   io.Writer
	lines func(line []byte) // called with each line of stdout; nil: stdout goes to log as stderr does
	// theirClock leaves the times in lines as another machine's clock has them; they
	// are on this one's otherwise.
	theirClock bool
	stdin      bool          // give it a pipe as stdin (see tier.stdin)
	grace      time.Duration // between TERM and KILL; 0 is stopGrace
	// What the guard is to do besides: see [GuardOptions].
	user, dir, stop, remove string
}

// guardFlags are the options of the guard beside its grace.
func (l launch) guardFlags() []string {
	var flags []string
	for _, f := range [][2]string{{"--user", l.user}, {"--dir", l.dir}, {"--stop", l.stop}, {"--remove", l.remove}} {
		if f[1] != "" {
			flags = append(flags, f[0], f[1])
		}
	}
	return flags
}

// environ is what the tier's environment is to be; nil is this process's own.
func (l launch) environ() []string {
	if len(l.add) == 0 {
		return l.env
	}
	env := l.env
	if env == nil {
		env = os.Environ()
	}
	return append(slices.Clip(env), l.add...)
}

// tier is a running child behind its guard.
type tier struct {
	name  string
	pid   int // of the tier's own command, not of the guard
	argv  []string
	stdin io.WriteCloser

	guard    *exec.Cmd
	lifeline *os.File
	done     chan struct{} // closed when the tier's command has ended
	gone     chan struct{} // closed when guard, descendants and pipes are gone
	grace    time.Duration
	exit     guard.Status // valid after done
	lost     bool         // the guard died without a word; valid after done
	tail     *tail

	away   *awayTier // on another machine; then it has no guard here
	broken error     // why nothing is known of it any more; valid after done
}

// start launches a tier behind `self guard`. It returns when the command is
// running (not yet ready), or with one line that says why it could not start.
func start(self string, l launch) (*tier, error) {
	if l.place.site != nil {
		return l.place.site.start(self, l)
	}
	if l.place.Host != "" {
		return nil, fmt.Errorf("there is no connection to %s", l.place.Host)
	}
	t := &tier{name: l.tier, argv: l.argv, done: make(chan struct{}), gone: make(chan struct{}), tail: &tail{}, grace: l.grace}
	if t.grace == 0 {
		t.grace = stopGrace
	}
	line := l.place.guarded(self, t.grace.String(), l.argv, l.guardFlags()...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = l.environ()
	// A group of its own: Ctrl-C at the terminal must reach the orchestrator first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Descendants of a guard that was killed may hold the pipes open for ever.
	cmd.WaitDelay = 2 * time.Second
	taken := t.output(cmd, l)
	if l.stdin {
		var err error
		if t.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	status, err := t.startGuard(cmd)
	if err != nil {
		taken()
		return nil, fmt.Errorf("cannot start a guard for %s: %w", l.tier, err)
	}
	started := make(chan guard.Status, 1)
	go t.follow(status, started)
	go func() {
		_ = cmd.Wait() // its status came through the status pipe
		guard.Ended(cmd.Process.Pid)
		taken()
		<-t.done // how it ended is known before it is gone
		close(t.gone)
	}()
	s := <-started
	if s.Error != "" {
		<-t.gone
		t.lifeline.Close()
		return nil, errors.New(s.Error)
	}
	t.pid = s.PID
	return t, nil
}

// output sends what the tier says to its log, or its stdout to whoever wants its
// lines. The result waits until all that was said is taken.
func (t *tier) output(cmd *exec.Cmd, l launch) (taken func()) {
	log := &redactor{w: io.MultiWriter(l.log, t.tail), secrets: record.Secrets(cmd.Env, l.argv)}
	cmd.Stdout, cmd.Stderr = log, log
	if l.lines == nil {
		return log.flush
	}
	r, w := io.Pipe()
	cmd.Stdout = w
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		eachLine(r, l.lines)
	}()
	return func() {
		log.flush()
		w.Close()
		<-ended
	}
}

// startGuard starts the guard with its end of a lifeline, and returns where its
// status lines come from.
func (t *tier) startGuard(cmd *exec.Cmd) (status *os.File, err error) {
	lifeline, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	status, theirs, err := os.Pipe()
	if err != nil {
		lifeline.Close()
		ours.Close()
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{lifeline, theirs}
	err = guard.Start(cmd)
	lifeline.Close()
	theirs.Close()
	if err != nil {
		ours.Close()
		status.Close()
		return nil, err
	}
	t.guard, t.lifeline = cmd, ours
	return status, nil
}

// follow reads the guard's status lines to their end.
func (t *tier) follow(status *os.File, started chan<- guard.Status) {
	defer status.Close()
	defer close(t.done)
	dec := json.NewDecoder(status)
	var s guard.Status
	if err := dec.Decode(&s); err != nil {
		t.lost = true
		started <- guard.Status{Error: "its guard ended at once"}
		return
	}
	started <- s
	if s.Error != "" {
		return
	}
	if err := dec.Decode(&t.exit); err != nil {
		t.lost = true
	}
}

// stop ends the tier and all its descendants and returns when nothing is left.
func (t *tier) stop() {
	if t.away != nil {
		t.away.stop()
		return
	}
	_, _ = t.lifeline.Write(guard.OrderlyStop) // an error: the guard has ended
	defer t.lifeline.Close()                   // not before all are gone: its end would cut the grace short
	select {
	case <-t.gone:
	case <-time.After(t.grace + 5*time.Second):
		// The guard itself is stuck or stopped: end it, then what it left.
		_ = t.guard.Process.Kill()
		_ = syscall.Kill(-t.pid, syscall.SIGKILL)
		<-t.gone
	}
	if t.lost {
		guard.EndOrphans(t.pid)
	}
}

// interrupt asks the tier's command to end and to say what it has so far.
func (t *tier) interrupt() {
	select {
	case <-t.done:
	default:
		if t.away != nil {
			t.away.interrupt()
			return
		}
		_ = syscall.Kill(t.pid, syscall.SIGINT)
	}
}

// cause says in one line how the tier ended; call it after done.
func (t *tier) cause() string {
	what := ""
	switch {
	case t.broken != nil:
		what = "is out of reach: " + t.broken.Error()
	case t.lost:
		what = "lost its guard, which was killed"
	case t.exit.Signal == "SIGKILL":
		what = "was killed by SIGKILL (out of memory, or somebody ended it)"
	case t.exit.Signal != "":
		what = "died of " + t.exit.Signal
	default:
		what = fmt.Sprintf("ended with exit status %d", t.exit.Code)
	}
	if hint := classVersionHint(t.tail.String()); hint != "" {
		what += " (" + hint + ")"
	}
	return what
}

// lastWords are the tier's last lines of output, indented, for an error message.
// Of a tier that has ended they are complete: its output may come after the news.
func (t *tier) lastWords() string {
	if t.hasEnded() {
		select {
		case <-t.gone:
		case <-time.After(500 * time.Millisecond): // a descendant goes on writing
		}
	}
	text := strings.TrimSpace(t.tail.String())
	if text == "" {
		return ""
	}
	rows := strings.Split(text, "\n")
	if len(rows) > 20 {
		rows = rows[len(rows)-20:]
	}
	for i, row := range rows {
		rows[i] = "    " + phrase.Printable(row)
	}
	return "\n" + strings.Join(rows, "\n")
}

// classVersionHint explains the most common reason why a jar ends at once.
func classVersionHint(output string) string {
	const mark = "has been compiled by a more recent version of the Java Runtime (class file version "
	i := strings.Index(output, mark)
	if i < 0 {
		return ""
	}
	var need, have float64
	rest := output[i+len(mark):]
	if _, err := fmt.Sscanf(rest, "%f", &need); err != nil {
		return ""
	}
	hint := fmt.Sprintf("the jar needs JDK %d", int(need)-44)
	const upTo = "up to "
	if j := strings.Index(rest, upTo); j >= 0 {
		if _, err := fmt.Sscanf(rest[j+len(upTo):], "%f", &have); err == nil {
			hint += fmt.Sprintf(" and runs on %d", int(have)-44)
		}
	}
	return hint + ": choose another with --jdk, which a command of your own takes as {{jdk}}/bin/java"
}

// eachLine calls f with every line of r, without its newline, to the end.
func eachLine(r io.Reader, f func([]byte)) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadBytes('\n')
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			f(line)
		}
		if err != nil {
			return
		}
	}
}

// tail keeps the last few KiB written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailSize {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailSize:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
