// Package tool runs the programs that the lab asks or lets work, such as java,
// Maven, jcmd and psql: in a process group of their own, bounded by a context, and
// with nothing left of one that failed.
//
// The usual steps: [Command], an [Opening] for what it may say, [Run].
//
// Limits: tiers are no tools; they have a guard.
package tool

import (
	"bytes"
	"context"
	"os/exec"
	"syscall"
	"time"
)

// Opening keeps the first 64 KiB written to it: a broken java may never stop talking.
type Opening struct{ bytes.Buffer }

// Command is a command in a process group of its own, which the end of ctx
// ends: Maven is a script that starts a JVM, and a terminal's Ctrl-C is ours.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// Run runs a toolCommand and leaves nothing of a failed one behind.
func Run(cmd *exec.Cmd) error {
	err := cmd.Run()
	if err != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return err
}

func (o *Opening) Write(p []byte) (int, error) {
	room := max(0, 64<<10-o.Len())
	o.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}
