package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"loomlab/probes"
)

// A guard ends what its tier has started. When somebody kills the guard itself,
// its descendants become children of the orchestrator, a subreaper as well, which
// then ends them in the guard's place.

// guards are the running guards of this process. The lock is held while one
// starts, so that nobody takes it for an orphan before it is known.
var guards = struct {
	sync.Mutex
	pids map[int]struct{}
}{pids: map[int]struct{}{}}

// Start starts a guard and enters it among those that run.
func Start(cmd *exec.Cmd) error {
	guards.Lock()
	defer guards.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	guards.pids[cmd.Process.Pid] = struct{}{}
	return nil
}

// Ended is called when a guard has been waited for.
func Ended(pid int) {
	guards.Lock()
	defer guards.Unlock()
	delete(guards.pids, pid)
}

// runBegan is before this process has started anything.
var runBegan = time.Now()

// orphansLimit bounds the ending of orphans; KILL takes milliseconds.
const orphansLimit = 2 * time.Second

// EndOrphans kills what a lost guard has left: the group of the tier's command,
// and every descendant of this process that is below no guard.
func EndOrphans(command int) {
	gone := append(probes.NewFS("/").Descendants(command), command)
	_ = syscall.Kill(-command, syscall.SIGKILL) // it may be gone
	removeJVMFiles(command)
	defer func() { removeSharedMemory(gone, runBegan) }()
	guards.Lock()
	defer guards.Unlock()
	for end := time.Now().Add(orphansLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left := orphans()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // an orphan of an orphan is not ours yet
			removeJVMFiles(pid)
			gone = append(gone, pid)
		}
	}
}

// orphans are the living descendants of this process below no guard. The caller
// holds the lock.
func orphans() []int {
	if !isSubreaper() {
		return nil
	}
	fs := probes.NewFS("/")
	guarded := map[int]struct{}{}
	for guard := range guards.pids {
		guarded[guard] = struct{}{}
		for _, pid := range fs.Descendants(guard) {
			guarded[pid] = struct{}{}
		}
	}
	return slices.DeleteFunc(fs.Descendants(os.Getpid()), func(pid int) bool {
		_, ok := guarded[pid]
		return ok
	})
}

// removeJVMFiles removes what a JVM leaves in the temporary folder when it is
// killed: its performance counters, and the socket that tools attach to.
func removeJVMFiles(pid int) {
	for _, pattern := range []string{"hsperfdata_*/%d", ".java_pid%d", ".attach_pid%d"} {
		for _, dir := range slices.Compact([]string{"/tmp", os.TempDir()}) { // /tmp whatever TMPDIR says, but on macOS
			files, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf(pattern, pid))) // the pattern is well formed
			for _, file := range files {
				_ = os.Remove(file) // another user's stays
			}
		}
	}
}
