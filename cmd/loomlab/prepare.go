package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"loomlab/lab"
	"loomlab/lab/record"
	"loomlab/probes"
)

// planFacts is what this machine offers to a plan.
func planFacts(ctx context.Context, jdks []lab.JDK) lab.Facts {
	m, _ := probes.ReadMachine() // what it could not read is zero, which constrains nothing
	facts := lab.Facts{Cores: m.Cores, MemoryBytes: m.MemoryBytes, FDLimit: probes.HardFDLimit(), LocalPorts: probes.NewFS("/").LocalPorts()}
	facts.Self, _ = os.Executable()
	facts.FindJDK = func(spec string) (string, error) {
		jdk, err := lab.SelectJDK(ctx, jdks, spec)
		return jdk.Home, err
	}
	facts.FindApps = func(s record.SUT) string {
		jdk, err := lab.SelectJDK(ctx, jdks, s.JDK)
		if err != nil {
			return ""
		}
		if jdk, err = lab.CompilerFor(jdks, jdk); err != nil {
			return ""
		}
		apps, _ := lab.CachedApps(lab.BuildOptions{Boot: s.Boot, JDK: jdk})
		return apps.Dir
	}
	if jdk, err := lab.SelectJDK(ctx, jdks, ""); errors.Is(err, lab.ErrNoJDK) {
		facts.NoApps = err.Error()
	} else if err == nil {
		if _, cached := lab.CachedApps(lab.BuildOptions{JDK: jdk}); !cached && !haveMaven() {
			facts.NoApps = "no Maven is on the PATH and the jars are not built yet"
		}
	}
	return facts
}

func haveMaven() bool {
	_, err := exec.LookPath("mvn")
	return err == nil
}

// prepareApps builds the jars that the plan's apps need, or finds them built.
func prepareApps(ctx context.Context, plan *lab.Plan, jdks []lab.JDK, progress io.Writer) error {
	for i := range plan.SUTs {
		sut := &plan.SUTs[i]
		if sut.Kind != lab.KindApp {
			continue
		}
		jdk, err := lab.SelectJDK(ctx, jdks, sut.SUT.JDK)
		if err != nil {
			return fmt.Errorf("%s: %w", sut.Name, err)
		}
		if jdk, err = lab.CompilerFor(jdks, jdk); err != nil {
			return fmt.Errorf("%s: %w", sut.Name, err)
		}
		options := lab.BuildOptions{Boot: sut.Boot, JDK: jdk, Log: func(line string) { fmt.Fprintln(progress, line) }}
		if _, cached := lab.CachedApps(options); !cached {
			fmt.Fprintf(progress, "building the jars (Spring Boot %s, %v), once …\n", orDefault(sut.Boot, lab.DefaultBoot), jdk)
		}
		began := time.Now()
		apps, err := lab.BuildApps(ctx, options)
		if err != nil {
			return err
		}
		if took := time.Since(began); took > time.Second {
			fmt.Fprintf(progress, "built in %.0f s\n", took.Seconds())
		}
		sut.Apps = apps.Dir
	}
	return nil
}

// machine describes where the run takes place.
func machine() record.Machine {
	m, _ := probes.ReadMachine() // an unknown fact is empty in the record
	return record.Machine(m)
}
