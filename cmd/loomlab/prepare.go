package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"loomlab/lab"
	"loomlab/lab/java"
	"loomlab/lab/netns"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/probes"
)

// jdkRoot goes before the well-known folders of JDKs; tests hide this machine's with it.
var jdkRoot string

// findJDKs looks for the JDKs of this machine.
func findJDKs(ctx context.Context) []java.JDK {
	return java.JDKSearch{Getenv: os.Getenv, Root: jdkRoot}.Find(ctx)
}

// planFacts is what this machine offers to a plan.
func planFacts(ctx context.Context, m record.Machine, jdks []java.JDK, asked plan.Options) plan.Facts {
	facts := plan.Facts{Cores: m.Cores, MemoryBytes: m.MemoryBytes, FDLimit: probes.HardFDLimit(), LocalPorts: probes.NewFS("/").LocalPorts(),
		Capacity: probes.NewFS("/").Capacity()}
	if facts.Capacity.MemoryBytes > 0 { // a control group's limit counts, not what is built in
		facts.MemoryBytes = facts.Capacity.MemoryBytes
	}
	facts.Self, _ = os.Executable()
	facts.NetnsLacks = sync.OnceValue(netns.Lacks)
	facts.FindJDK = func(spec string) (string, error) {
		jdk, err := java.SelectJDK(ctx, jdks, spec)
		return jdk.Home, err
	}
	facts.FindApps = func(s record.SUT) string {
		compiler, err := compilerOr(ctx, jdks, s.JDK)
		if err != nil {
			return ""
		}
		apps, ok := java.CachedApps(java.BuildOptions{Apps: java.AppsOf(s), App: java.ContestantOf(s), Boot: s.Boot, JDK: compiler})
		if !ok {
			return ""
		}
		return apps.Dir
	}
	if len(asked.JDK) > 0 {
		return facts // that one or none: stand-ins are no substitute
	}
	if _, err := compilerFor(ctx, jdks, ""); err != nil {
		facts.NoApps = err.Error()
	} else if !haveMaven() {
		facts.NoMaven = "no Maven is on the PATH and the jars are not built yet (`loomlab build` fetches Maven and builds them)"
	}
	return facts
}

// compilerFor is the JDK that builds the apps for a run on the one that spec asks for.
func compilerFor(ctx context.Context, jdks []java.JDK, spec string) (java.JDK, error) {
	jdk, err := java.SelectJDK(ctx, jdks, spec)
	if err != nil {
		return java.JDK{}, err
	}
	return java.CompilerFor(jdks, jdk)
}

// compilerOr does it also for a JDK that is not here but on another machine, where
// the apps will run: then the newest one here builds them.
func compilerOr(ctx context.Context, jdks []java.JDK, spec string) (java.JDK, error) {
	jdk, err := compilerFor(ctx, jdks, spec)
	if err != nil {
		if newest, none := compilerFor(ctx, jdks, ""); none == nil {
			return newest, nil
		}
	}
	return jdk, err
}

func haveMaven() bool {
	_, err := exec.LookPath("mvn")
	return err == nil
}

// prepare gets what the plan runs beside what is there: PostgreSQL, the apps, and
// connections to other machines, which are the caller's to close.
func prepare(ctx context.Context, p *plan.Plan, jdks []java.JDK, progress io.Writer, stopped *signals) (hosts *lab.Hosts, err error) {
	err = preparePostgres(ctx, p, jdks, progress)
	if err == nil {
		err = prepareApps(ctx, p, jdks, progress)
	}
	if err == nil {
		hosts, err = lab.Connect(ctx, p, func(line string) { fmt.Fprintln(progress, line) })
	}
	if err == nil {
		for _, line := range p.Exposure() {
			fmt.Fprintf(progress, "note: %s\n", line)
		}
		return hosts, nil
	}
	if status := stopped.status(); status != 0 {
		return nil, &statusError{code: status}
	}
	return nil, usagef("%w", err)
}

// prepareApps builds the jars that the plan's apps need, or finds them built.
func prepareApps(ctx context.Context, p *plan.Plan, jdks []java.JDK, progress io.Writer) error {
	builds, err := appBuilds(ctx, p, jdks)
	if err != nil {
		return err
	}
	for _, b := range builds {
		b.options.Log = func(line string) { fmt.Fprintln(progress, line) }
		began := time.Now()
		apps, err := java.BuildApps(ctx, b.options)
		if err != nil {
			return err
		}
		if took := time.Since(began); took > time.Second {
			fmt.Fprintf(progress, "built in %.0f s\n", took.Seconds())
		}
		for _, sut := range b.suts {
			sut.Apps = apps.Dir
		}
	}
	return nil
}

// appBuild is one call of Maven, for all SUTs whose apps it can make.
type appBuild struct {
	options java.BuildOptions
	suts    []*plan.SUT
}

// appBuilds are the builds that the plan needs: one for each Boot version and JDK.
func appBuilds(ctx context.Context, p *plan.Plan, jdks []java.JDK) ([]*appBuild, error) {
	var builds []*appBuild
	for i := range p.SUTs {
		sut := &p.SUTs[i]
		if !sut.NeedsApps() {
			continue
		}
		compiler, err := compilerOr(ctx, jdks, sut.SUT.JDK)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sut.Name, err)
		}
		at := slices.IndexFunc(builds, func(b *appBuild) bool {
			return b.options.App == java.ContestantOf(sut.SUT) && b.options.Boot == sut.Boot && b.options.JDK.Home == compiler.Home
		})
		if at < 0 {
			at = len(builds)
			builds = append(builds, &appBuild{options: java.BuildOptions{Apps: []string{}, App: java.ContestantOf(sut.SUT), Boot: sut.Boot, JDK: compiler}})
		}
		b := builds[at]
		b.suts = append(b.suts, sut)
		for _, name := range java.AppsOf(sut.SUT) {
			if !slices.Contains(b.options.Apps, name) {
				b.options.Apps = append(b.options.Apps, name)
			}
		}
	}
	return builds, nil
}

// checkOut fails when the run directory could not be made, before minutes are
// spent on building jars.
func checkOut(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return usagef("--out %s: %w", folder, err)
	}
	probe, err := os.CreateTemp(folder, ".loomlab-*")
	if err != nil {
		return usagef("--out %s: cannot write there: %w", folder, err)
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// machine describes where the run takes place.
func machine() record.Machine {
	m, _ := probes.ReadMachine() // an unknown fact is empty in the record
	return record.Machine(m)
}
