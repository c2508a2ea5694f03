package lab

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"loomlab/lab/guard"
)

// TestMain lets the test binary stand in for loomlab where a tier needs a
// guard, and for an orchestrator that is going to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "guard": // guard [FLAG VALUE]… -- argv…
			os.Exit(guard.Run(parseGuard(os.Args[2:])))
		case "orchestrate": // orchestrate SCRIPT: runs it as a tier, prints its pid, waits to be killed
			t, err := start(os.Args[0], launch{tier: "sut", argv: []string{"sh", "-c", os.Args[2]}, log: io.Discard, grace: 300 * time.Millisecond})
			if err != nil {
				panic(err)
			}
			fmt.Println(t.pid)
			select {}
		case "lose-guard": // lose-guard SCRIPT: runs it as a tier, and at the end of stdin kills its guard
			guard.BecomeSubreaper()
			t, err := start(os.Args[0], launch{tier: "sut", argv: []string{"sh", "-c", os.Args[2]}, log: io.Discard})
			if err != nil {
				panic(err)
			}
			_, _ = io.Copy(io.Discard, os.Stdin)
			if err := t.guard.Process.Kill(); err != nil {
				panic(err)
			}
			<-t.done
			t.stop()
			os.Exit(0)
		case "orchestrate-postgres": // orchestrate-postgres PROGRAMS: the same with a PostgreSQL
			orchestratePostgres(os.Args[2])
		}
	}
	os.Exit(m.Run())
}

// parseGuard reads what the hidden command guard reads.
func parseGuard(args []string) (argv []string, o guard.Options) {
	flags := flag.NewFlagSet("guard", flag.PanicOnError)
	flags.DurationVar(&o.Grace, "grace", 0, "")
	flags.StringVar(&o.CPUs, "cpus", "", "")
	flags.StringVar(&o.Netns, "netns", "", "")
	flags.StringVar(&o.User, "user", "", "")
	flags.StringVar(&o.Dir, "dir", "", "")
	flags.StringVar(&o.Stop, "stop", "", "")
	flags.StringVar(&o.Remove, "remove", "", "")
	_ = flags.Parse(args) // it panics
	return flags.Args(), o
}
