package lab

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for loomlab where a tier needs a
// guard, and for an orchestrator that is going to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "guard": // guard --grace D [--cpus LIST] -- argv…
			grace, err := time.ParseDuration(os.Args[3])
			if err != nil {
				panic(err)
			}
			cpus, argv := "", os.Args[5:]
			if os.Args[4] == "--cpus" {
				cpus, argv = os.Args[5], os.Args[7:]
			}
			os.Exit(Guard(argv, grace, cpus))
		case "orchestrate": // orchestrate SCRIPT: runs it as a tier, prints its pid, waits to be killed
			t, err := start(os.Args[0], launch{tier: "sut", argv: []string{"sh", "-c", os.Args[2]}, log: io.Discard, grace: 300 * time.Millisecond})
			if err != nil {
				panic(err)
			}
			fmt.Println(t.pid)
			select {}
		case "lose-guard": // lose-guard SCRIPT: runs it as a tier, and at the end of stdin kills its guard
			becomeSubreaper()
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
		}
	}
	os.Exit(m.Run())
}
