//go:build linux

// Command chaos breaks real runs of loomlab at random moments and looks at what
// is left: it kills, stops and crashes each tier, PostgreSQL, the orchestrator, its guards and
// a wrapper shell; fills the disk; takes the port; takes away descriptors and
// memory; presses Ctrl-C once and twice. After every round no process, listener or
// temporary file of it may be there, every finished cell must be readable, the
// exit status and the record must agree, and no cell may hold figures from after
// a death. It prints a Markdown table and exits with 1 where anything was lost,
// left or wrong.
//
//	go run ./chaos --rounds 200            about 20 minutes
//	go run ./chaos --seed 7 --only disk    one fault, other moments
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type options struct {
	rounds, parallel int
	seed             uint64
	jars             bool
	only             *regexp.Regexp
	binary           string
}

func main() {
	if status, done := withOwnMounts(); done {
		os.Exit(status)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// ownMounts says that this process has mounts that nobody else sees.
const ownMounts = "LOOMLAB_CHAOS_MOUNTS"

// withOwnMounts runs this program again where it may mount small disks. Where the
// system does not allow that, the rounds about full disks are left out.
func withOwnMounts() (status int, done bool) {
	if os.Getenv(ownMounts) != "" {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM) // the one inside decides
	defer signal.Reset()
	for _, flags := range []uintptr{syscall.CLONE_NEWNS, syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER} {
		cmd := exec.Command(self, os.Args[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), ownMounts+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGTERM}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		if cmd.Start() != nil {
			continue
		}
		_ = cmd.Wait() // its status is in ProcessState
		return cmd.ProcessState.ExitCode(), true
	}
	return 0, false
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 20, "how many runs to break")
	flags.IntVar(&o.parallel, "parallel", 3, "how many at a time: they mostly wait")
	flags.Uint64Var(&o.seed, "seed", 1, "of the moments")
	flags.BoolVar(&o.jars, "jars", false, "every second round with the real jars (make jars builds them), and rounds beside PostgreSQL")
	only := flags.String("only", "", "only the faults whose name this `expression` matches")
	flags.StringVar(&o.binary, "binary", "", "the loomlab to break (default: built from these sources)")
	err := flags.Parse(args)
	if err == nil {
		o.only, err = regexp.Compile(*only)
	}
	if err != nil || flags.NArg() > 0 || o.rounds < 1 || o.parallel < 1 {
		fmt.Fprintln(stderr, "usage: go run ./chaos [--rounds N] [--parallel N] [--seed N] [--only FAULT] [--jars] [--binary FILE]")
		return 2
	}
	dir, err := os.MkdirTemp("", "loomlab-chaos-")
	switch {
	case err != nil:
	case o.binary == "":
		o.binary, err = build(dir)
	default:
		o.binary, err = filepath.Abs(o.binary)
	}
	if err != nil {
		fmt.Fprintf(stderr, "chaos: %v\n", err)
		return 2
	}
	chosen := choose(o, stderr)
	if len(chosen) == 0 {
		fmt.Fprintf(stderr, "chaos: no fault matches %q; there are %s\n", *only, strings.Join(names(), ", "))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	shared := sharedMemory()
	reports := breakRuns(ctx, o, dir, chosen, stderr)
	for _, name := range sharedMemory() {
		if !slices.Contains(shared, name) {
			reports = append(reports, report{fault: "(after all)", left: []string{"shared memory " + name}})
		}
	}
	bad := printTable(stdout, reports)
	if !bad {
		_ = os.RemoveAll(dir)
	} else {
		fmt.Fprintf(stderr, "chaos: what is left of the rounds that went wrong is in %s\n", dir)
	}
	switch {
	case ctx.Err() != nil:
		return 130
	case bad:
		return 1
	}
	return 0
}

func build(dir string) (string, error) {
	binary := filepath.Join(dir, "loomlab")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/loomlab")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build (run it from the project's folder): %w\n%s", err, out)
	}
	return binary, nil
}

// choose picks the faults of each round: all of them in turn, in a new order each
// time. What this system does not allow is said and left out.
func choose(o options, stderr io.Writer) []fault {
	var able []fault
	for _, f := range faults {
		if !o.only.MatchString(f.name) {
			continue
		}
		if f.postgres && !o.jars {
			fmt.Fprintf(stderr, "chaos: left out: %s: PostgreSQL comes with --jars\n", f.name)
			continue
		}
		if f.disk {
			if err := canMount(); err != nil {
				fmt.Fprintf(stderr, "chaos: left out: %s: no small disk can be mounted here: %v\n", f.name, err)
				continue
			}
		}
		able = append(able, f)
	}
	if len(able) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.seed, 0))
	var chosen []fault
	for len(chosen) < o.rounds {
		for _, i := range rng.Perm(len(able)) {
			chosen = append(chosen, able[i])
		}
	}
	return chosen[:o.rounds]
}

// canMount says why no tmpfs can be mounted, where that is so.
func canMount() error {
	if os.Getenv(ownMounts) == "" {
		return errors.New("this process has no mounts of its own")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "loomlab-chaos-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// breakRuns makes the rounds, a few at a time, and says how each went.
func breakRuns(ctx context.Context, o options, dir string, chosen []fault, progress io.Writer) []report {
	var (
		mu      sync.Mutex
		reports []report
		wait    sync.WaitGroup
		began   = time.Now()
		slots   = make(chan struct{}, o.parallel)
	)
	for n, f := range chosen {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			r := newRound(o, dir, n, f)
			got := r.play(ctx)
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, got)
			fmt.Fprintf(progress, "%4d of %d  %5.0f s  %s\n", len(reports), len(chosen), time.Since(began).Seconds(), got)
		})
	}
	wait.Wait()
	return reports
}
