package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"loomlab/lab/netns"
)

// Descriptors that a guard gets from the orchestrator beside stdin, stdout and
// stderr, which belong to the tier.
const (
	lifelineFD = 3 // read end of a pipe whose write end only the orchestrator holds, until nothing is left: a byte asks for a stop, its end says that it died
	statusFD   = 4 // write end of a pipe for guardStatus lines
)

// Status is one line from a guard: first PID or Error, then how the tier ended.
type Status struct {
	PID    int    `json:"pid,omitempty"`
	Error  string `json:"error,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// OrderlyStop is what the orchestrator writes on a lifeline to stop a tier.
var OrderlyStop = []byte{'s'}

// Options say how a guard runs its command, and how it ends it.
type Options struct {
	Grace time.Duration // between the signal that asks for an end and KILL
	CPUs  string        // where command and descendants may run, such as "0-1"; "": anywhere
	Netns string        // file of the network namespace that they are in; "": the guard's own
	User  string        // "uid:gid" to run them as, which takes root; "": the guard's own
	Dir   string        // working folder; "": the guard's own
	// Stop names a signal that asks the command, and it alone, to end its
	// descendants and itself: "INT", "QUIT". "" is TERM to every descendant.
	Stop string
	// Remove is a folder that nobody else can remove once the orchestrator has died.
	Remove string
}

// stopSignals are the values of [GuardOptions.Stop].
var stopSignals = map[string]syscall.Signal{"INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT}

// Run without argv only sees to [GuardOptions.Remove]; else it runs argv as a child and outlives it only to clean up: when the child
// ends, when the lifeline breaks (the orchestrator stopped the tier, or died in
// whatever way) or when the guard is told to end by a signal, it sends TERM to
// every descendant, after grace KILL, and returns when none is left.
//
// A JVM cannot watch its parent, and a parent-death signal does not reach
// grandchildren; a subreaper with a pipe sees both. Guard returns the exit
// status for its process: the child's own, or 128 + the signal that ended it.
func Run(argv []string, o Options) int {
	lifeline, status := os.NewFile(lifelineFD, "lifeline"), os.NewFile(statusFD, "status")
	syscall.CloseOnExec(lifelineFD)
	syscall.CloseOnExec(statusFD)
	tell := func(s Status) { _ = json.NewEncoder(status).Encode(s) } // nobody may be listening any more

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if len(argv) == 0 {
		tell(Status{PID: os.Getpid()})
		return o.keep(lifeline, signals, tell)
	}
	raiseDescriptors()
	BecomeSubreaper()
	pid, err := o.fork(argv)
	if err != nil {
		tell(Status{Error: startError(argv[0], err)})
		return 127
	}
	tell(Status{PID: pid})
	return guardChild(pid, o, lifeline, signals, tell)
}

// fork starts the command as the options say.
func (o Options) fork(argv []string) (pid int, err error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if o.User != "" {
		var c syscall.Credential
		if _, err := fmt.Sscanf(o.User, "%d:%d", &c.Uid, &c.Gid); err != nil {
			return 0, fmt.Errorf("%q is no uid:gid", o.User)
		}
		attr.Sys.Credential = &c
	}
	err = o.inPlace(func() (err error) {
		pid, err = syscall.ForkExec(path, argv, attr)
		return err
	})
	return pid, err
}

// inPlace calls f on a thread that is on the CPUs and in the network namespace
// of the options, both of which a process that f forks inherits.
func (o Options) inPlace(f func() error) error {
	if o.CPUs != "" {
		anywhere := f
		f = func() error { return onCPUs(o.CPUs, anywhere) }
	}
	if o.Netns == "" {
		return f()
	}
	n, err := netns.Open(o.Netns)
	if err != nil {
		return err
	}
	defer n.Close()
	return n.Enter(f)
}

// keep guards a folder alone, until the lifeline breaks or the orchestrator wants
// it no more.
func (o Options) keep(lifeline *os.File, signals <-chan os.Signal, tell func(Status)) int {
	stopped := make(chan bool, 1)
	go func() {
		n, _ := lifeline.Read(make([]byte, 1))
		stopped <- n > 0
	}()
	select {
	case orderly := <-stopped:
		if !orderly {
			_ = os.RemoveAll(o.Remove) // there is nobody to tell
		}
	case <-signals:
	}
	tell(Status{Ended: true})
	return 0
}

// guardChild waits for the first reason to end and then for the last descendant.
func guardChild(pid int, o Options, lifeline *os.File, signals <-chan os.Signal, tell func(Status)) int {
	end := make(chan struct{})
	ended := sync.OnceFunc(func() { close(end) })
	code := 0
	allGone := make(chan struct{})
	began := time.Now()
	var reapedPIDs []int // until allGone the reaper's
	go func() {
		defer close(allGone)
		reapAll(func(reaped int, ws syscall.WaitStatus) {
			reapedPIDs = append(reapedPIDs, reaped)
			removeJVMFiles(reaped)
			if reaped != pid {
				return
			}
			s := Status{Ended: true, Code: ws.ExitStatus()}
			code = s.Code
			if ws.Signaled() {
				s.Code, s.Signal = 0, signalName(ws.Signal())
				code = 128 + int(ws.Signal())
			}
			tell(s)
			ended()
		})
	}()
	abandoned := make(chan struct{})
	go func() {
		defer close(abandoned)
		var b [1]byte
		for {
			if n, _ := lifeline.Read(b[:]); n == 0 {
				return
			}
			ended() // an orderly stop
		}
	}()
	select {
	case <-end:
	case <-signals:
	case <-abandoned:
	}
	told := endDescendants(pid, o, abandoned, allGone) // a child of theirs may have been reaped by its own parent
	removeSharedMemory(append(told, reapedPIDs...), began)
	select {
	case <-abandoned:
		if o.Remove != "" {
			_ = os.RemoveAll(o.Remove) // there is nobody to tell
		}
	default:
	}
	return code
}

// AbandonedGrace is the grace when the orchestrator has died, or ended at a
// second Ctrl-C: nobody waits for a tidy end any more, and the next run may want
// the machine.
const AbandonedGrace = time.Second

// reapAll waits for every child and adopted orphan until none is left.
func reapAll(each func(pid int, ws syscall.WaitStatus)) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil { // ECHILD
			return
		}
		each(pid, ws)
	}
}

// endDescendants sends TERM to all descendants (or to the child what it asks
// for), and KILL again and again once grace is over (a descendant may fork
// meanwhile), until allGone. Where TERM was sent, grace is short from the moment
// that the orchestrator is gone. It returns whom it told.
func endDescendants(child int, o Options, abandoned, allGone <-chan struct{}) (told []int) {
	if s, own := stopSignals[o.Stop]; own {
		_ = syscall.Kill(child, s) // it may have ended
	} else {
		signalDescendants(child, syscall.SIGTERM)
	}
	told = signalDescendants(child, syscall.SIGCONT) // a stopped process must run to see TERM
	over := time.After(o.Grace)
	for waiting := true; waiting; {
		select {
		case <-allGone:
			return told
		case <-over:
			waiting = false
		case <-abandoned:
			abandoned = nil
			if o.Stop == "" { // one that is asked cleans up what would outlive a KILL, such as shared memory
				over = time.After(min(o.Grace, AbandonedGrace))
			}
		}
	}
	for {
		told = append(told, signalDescendants(child, syscall.SIGKILL)...)
		select {
		case <-allGone:
			return told
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startError says in one line why a command could not be started.
func startError(command string, err error) string {
	if info, statErr := os.Stat(command); statErr == nil && info.IsDir() {
		return fmt.Sprintf("%s is a directory, not a command", command)
	}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("command not found: %s", command)
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf("%s is not executable", command)
	}
	return fmt.Sprintf("cannot start %s: %v", command, err)
}

// signalName gives a signal its usual name ("SIGSEGV"); Go's String is prose.
func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGKILL: "SIGKILL",
		syscall.SIGSEGV: "SIGSEGV", syscall.SIGPIPE: "SIGPIPE", syscall.SIGTERM: "SIGTERM", syscall.SIGSYS: "SIGSYS",
	}
	if name, ok := names[s]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
