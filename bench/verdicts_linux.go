package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func init() { benches["hog"] = hog }

// hogs runs n processes that use all the CPU they get, on one CPU (-1: on any),
// while a group runs. Those with a rhythm, spin and sleep, are before all
// others: the scheduler is so kind to who sleeps much that an ordinary process
// does not keep an instrument from its CPU.
func hogs(n, cpu int, rhythm ...time.Duration) func() (func(), error) {
	return func() (func(), error) {
		var stops []func()
		stop := func() {
			for _, f := range stops {
				f()
			}
		}
		for range n {
			argv := []string{"hog", strconv.Itoa(cpu)}
			for _, d := range rhythm {
				argv = append(argv, d.String())
			}
			cmd := exec.Command(self(), argv...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			lifeline, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				stop()
				return nil, err
			}
			stops = append(stops, func() {
				lifeline.Close()
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
		}
		return stop, nil
	}
}

// hog spins on one CPU until its stdin ends.
func hog(args []string) error {
	if len(args) != 1 && len(args) != 3 {
		return fmt.Errorf("usage: hog CPU [SPIN SLEEP]")
	}
	cpu, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	runtime.LockOSThread()
	if cpu >= 0 {
		var set unix.CPUSet
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return err
		}
	}
	if len(args) == 1 {
		//lint:ignore SA5002 using up a CPU is what this is for
		for {
		}
	}
	spin, err1 := time.ParseDuration(args[1])
	sleep, err2 := time.ParseDuration(args[2])
	if err := errors.Join(err1, err2, firstInLine()); err != nil {
		return err
	}
	for {
		for began := time.Now(); time.Since(began) < spin; {
		}
		time.Sleep(sleep)
	}
}

// firstInLine lets this thread run whenever it wants to.
func firstInLine() error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return fmt.Errorf("no real-time priority: %w", err)
	}
	return nil
}

// realtimeLacks says why no process can be put before all others.
func realtimeLacks() string {
	if why := twoCPUs(); why != "" {
		return why
	}
	errs := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its priority
		errs <- firstInLine()
	}()
	if err := <-errs; err != nil {
		return err.Error()
	}
	return ""
}
