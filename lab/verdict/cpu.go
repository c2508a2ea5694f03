package verdict

import (
	"fmt"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
	"loomlab/probes"
)

// The rules about CPUs and what eats them.

// Shares of the time in garbage collection from which on memory is the matter.
const (
	gcMuch     = 0.10
	gcThrashes = 0.25
)

// thrashing: the JVM hardly does anything but collect garbage. Whatever else is
// to be seen, from full accept queues to errors, comes of that.
func thrashing(f *figures) *record.Verdict { return f.collects(gcThrashes) }

// collecting: the JVM stops for garbage collection so long that memory is the limit.
func collecting(f *figures) *record.Verdict { return f.collects(gcMuch) }

// collects says so from a share of the time on.
func (f *figures) collects(least float64) *record.Verdict {
	sut := f.cell.Probes[record.TierSUT]
	if sut == nil || sut.GC == nil {
		return nil
	}
	share := sut.GC.MS / 1e3 / f.seconds
	if share < least || f.share() >= nearlyAll {
		return nil
	}
	text := fmt.Sprintf("memory is the limit: %d collections stopped the SUT for %s of %s s, %s of the time.",
		sut.GC.Count, phrase.Millis(sut.GC.MS/1e3), phrase.Number3(f.seconds), phrase.Percent(share))
	if sut.HeapCommittedBytes != nil {
		text += fmt.Sprintf(" The heap is %d MB", *sut.HeapCommittedBytes>>20)
		if sut.HeapAfterGCBytes != nil {
			text += fmt.Sprintf(", and %d MB of it live after a collection", *sut.HeapAfterGCBytes>>20)
		}
		text += "."
	}
	return &record.Verdict{Kind: record.VerdictMemory, Sure: share >= gcThrashes, Text: text, Evidence: f.utilisation()}
}

// engineLoops is how many CPUs the engine can use at most.
func (f *figures) engineLoops() float64 {
	e := f.cell.Load.Engine
	loops := f.load.cpus
	if e != nil && e.Loops > 0 && float64(e.Loops) < loops {
		loops = float64(e.Loops)
	}
	return loops
}

// engineBusy: the load engine itself has no CPU left.
func engineBusy(f *figures) *record.Verdict {
	loops := f.engineLoops()
	always := f.load.cores >= 0.5*loops && f.load.demand() >= cpuSure*loops && f.share() < mostly
	if !f.load.known || loops == 0 || f.load.cores < cpuFull*loops && !always {
		return nil
	}
	e := f.cell.Load.Engine
	text := fmt.Sprintf("the load engine is the limit: it uses %s of the %s that its loops can use", phrase.Number3(f.load.cores), phrase.Cores(loops))
	if f.load.cores < cpuFull*loops {
		text += fmt.Sprintf(", and waits for one %s of the time", phrase.Percent(f.load.wait))
	}
	text += "."
	if e != nil && e.CPUUSPerRequest != nil && *e.CPUUSPerRequest > 0 {
		text += fmt.Sprintf(" At %s µs a request, %s ÷ %s s = %s/s.", phrase.Number3(*e.CPUUSPerRequest), phrase.Number(loops),
			phrase.Number3(*e.CPUUSPerRequest/1e6), phrase.Number3(loops*1e6 / *e.CPUUSPerRequest))
	}
	return &record.Verdict{Kind: record.VerdictLoadEngine, Sure: f.load.cores >= cpuSure*loops && !f.sutFull(), Text: text, Evidence: f.utilisation()}
}

// starved is the share of the time that an instrument waits for a CPU, from
// which on it and not the SUT is measured.
const starved = 0.20

// engineStarved: the load engine waits for a CPU that the SUT does not use.
func engineStarved(f *figures) *record.Verdict {
	e, loops := f.cell.Load.Engine, f.engineLoops()
	if !f.load.known || loops == 0 || e == nil || e.LagP99MS == nil || f.load.wait < starved*loops || f.sutTakesCPU() {
		return nil
	}
	lag := *e.LagP99MS / 1e3
	if lag < 0.005 || lag < 0.5*f.own() {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictLoadEngine, Sure: f.load.wait >= 2*starved*loops && f.sutIdle() && lag >= f.own(),
		Text: fmt.Sprintf("the load engine is the limit: it waited %s s for a CPU in %s s, and handled one answer in a hundred more than %s late. Somebody else has its CPU; the SUT uses %s of %s.",
			phrase.Number3(f.load.wait*f.seconds), phrase.Number3(f.seconds), phrase.Millis(lag), phrase.Number3(f.sut.cores), phrase.Number(f.sut.cpus)),
		Evidence: f.utilisation()}
}

// downstreamStarved does the same for the downstream.
func downstreamStarved(f *figures) *record.Verdict {
	d := f.cell.Downstream
	if !f.down.known || d == nil || d.LatenessMS == nil || f.down.wait < starved || f.sutTakesCPU() {
		return nil
	}
	if late := d.LatenessMS.P99 / 1e3; late < 0.005 || late < 0.5*f.own() {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictDownstream,
		Text: fmt.Sprintf("the downstream is the limit: it waited %s s for a CPU in %s s, and answered %s late on average. Somebody else has its CPU; the SUT uses %s of %s.",
			phrase.Number3(f.down.wait*f.seconds), phrase.Number3(f.seconds), phrase.Millis(d.LatenessMS.Mean/1e3), phrase.Number3(f.sut.cores), phrase.Number(f.sut.cpus)),
		Evidence: f.gauge() + "; " + f.utilisation()}
}

// sutTakesCPU says that the SUT may be whom others wait for.
func (f *figures) sutTakesCPU() bool {
	return !f.sut.known || f.sut.cores >= 0.4*f.sut.cpus
}

// ownCPU: the SUT uses up the CPUs that it may use.
func ownCPU(f *figures) *record.Verdict {
	if !f.sutFull() || f.sut.cpus == float64(f.about.Cores) && f.others > 0.1*f.sut.cpus {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictCPU, Sure: f.sut.cores >= cpuSure*f.sut.cpus, Evidence: f.utilisation(),
		Text: fmt.Sprintf("the SUT's CPU is the limit: it uses %s of its %s.%s%s%s", phrase.Number3(f.sut.cores), phrase.Cores(f.sut.cpus), f.compiling(), f.costArithmetic(f.sut.cores), f.hog())}
}

// costArithmetic is what so many cores allow.
func (f *figures) costArithmetic(cores float64) string {
	p := f.cell.Probes[record.TierSUT]
	if p == nil || p.CPUUSPerRequest == nil || *p.CPUUSPerRequest <= 0 {
		return ""
	}
	cost := *p.CPUUSPerRequest / 1e6
	return fmt.Sprintf(" A request costs %s µs: %s ÷ %s s = %s/s.", phrase.Number3(cost*1e6), phrase.Number3(cores), phrase.Number3(cost), phrase.Number3(cores/cost))
}

// compiling names the JIT's part in the SUT's CPU.
func (f *figures) compiling() string {
	p := f.cell.Probes[record.TierSUT]
	if p == nil {
		return ""
	}
	cpu, ok := probes.CompilerCPU(p.Groups)
	if !ok || cpu < 0.05*f.sut.cores*f.seconds {
		return ""
	}
	return fmt.Sprintf(" The JIT compilers take %s of it.", phrase.Number3(cpu/f.seconds))
}

// hog is the thread group with most CPU, where the SUT names its threads.
func (f *figures) hog() string {
	p := f.cell.Probes[record.TierSUT]
	if p == nil || len(p.Groups) < 2 {
		return ""
	}
	var parts []string
	for _, g := range p.Groups[:2] {
		parts = append(parts, fmt.Sprintf("%s %s", g.Name, phrase.Number3(g.CPUS/f.seconds)))
	}
	return " Most of it: " + strings.Join(parts, ", ") + "."
}

// hotThread: one thread of the SUT is always running while other CPUs idle.
func hotThread(f *figures) *record.Verdict {
	s := f.sut
	rest := s.cores - s.hottest
	runs := s.hottest >= 0.85 && rest <= 0.5*s.hottest
	// On a busy machine it also waits; several busy threads would share the work.
	wants := s.hottest >= 0.6 && s.hottest+s.wait >= cpuSure && rest <= 0.25*s.hottest
	if !s.known || s.cpus < 2 || !runs && !wants || f.share() >= mostly {
		return nil
	}
	v := &record.Verdict{Kind: record.VerdictHotThread, Sure: s.hottest >= cpuSure && !f.machineFull(), Evidence: f.utilisation()}
	v.Text = fmt.Sprintf("one thread of the SUT is the limit: it runs %s of the time (group %s), all others together %s cores.", phrase.Percent(s.hottest), s.group, phrase.Number3(max(0, s.cores-s.hottest)))
	if f.ok > 0 {
		v.Text += fmt.Sprintf(" %s of it a request: %s ÷ %s s = %s/s.", micros(s.hottest/f.ok), phrase.Number3(s.hottest), phrase.Number3(s.hottest/f.ok), phrase.Number(f.ok))
	}
	return v
}

// micros writes seconds as microseconds.
func micros(seconds float64) string { return phrase.Number3(seconds*1e6) + " µs" }

// machineCPU: all cores of the machine are busy, and the SUT would use more of
// them; the verdict says who has them.
func machineCPU(f *figures) *record.Verdict {
	if m := f.cell.Machine; !f.sut.known && m != nil && m.BusyS != nil && m.Seconds > 0 && f.about.Cores > 0 && *m.BusyS >= cpuFull*m.Seconds*float64(f.about.Cores) {
		return &record.Verdict{Kind: record.VerdictCPU, Evidence: fmt.Sprintf("machine %s of %d cores", phrase.Number3(*m.BusyS/m.Seconds), f.about.Cores),
			Text: fmt.Sprintf("the machine's CPUs are used up: %s of %d cores are busy; who has them is not known.", phrase.Number3(*m.BusyS/m.Seconds), f.about.Cores)}
	}
	if !f.sut.known || !f.machineFull() || f.sut.waits && f.sut.demand() < cpuFull*f.sut.cpus || f.sut.cores < 0.5*f.sut.cpus && !f.sut.waits {
		return nil
	}
	all := float64(f.about.Cores)
	whose, most := "the SUT", f.sut.cores
	for _, t := range []struct {
		tier, name string
		cores      float64
	}{{record.TierLoad, "the load engine", f.load.cores}, {record.TierDownstream, "the downstream", f.down.cores},
		{record.TierPostgres, "PostgreSQL", f.db.cores}, {"", "others, who are no tier,", f.others}} {
		if t.cores > most && !f.about.Away[t.tier] {
			whose, most = t.name, t.cores
		}
	}
	v := &record.Verdict{Kind: record.VerdictCPU, Evidence: f.utilisation(),
		Text: fmt.Sprintf("the machine's CPUs are the limit: %s of %s cores are busy, and %s use%s most, %s.%s", phrase.Number3(f.used()), phrase.Number(all), whose, plural(whose), phrase.Number3(most), f.compiling())}
	switch {
	case whose == "the load engine":
		v.Kind = record.VerdictLoadEngine
	case whose == "the SUT":
		v.Text += f.costArithmetic(f.sut.cores)
		v.Sure = f.others < 0.05*all && f.sut.cores >= 0.6*all && f.used() >= cpuSure*all && f.sut.wait > 0.1 && f.share() < 0.5
	}
	return v
}

// sutWaits: the SUT's threads run or wait for a CPU all the time. Who has it does
// not always show: a virtual machine's CPU may be taken away without a trace.
func sutWaits(f *figures) *record.Verdict {
	s := f.sut
	if !s.known || s.cpus == 0 || s.cores < 0.6*s.cpus || s.demand() < cpuSure*s.cpus || f.share() >= mostly {
		return nil
	}
	return &record.Verdict{Kind: record.VerdictCPU, Evidence: f.utilisation(),
		Text: fmt.Sprintf("the SUT's CPU is the limit: it uses %s of its %s while threads wait %s s for one in %s s.%s%s",
			phrase.Number3(s.cores), phrase.Cores(s.cpus), phrase.Number3(s.wait*f.seconds), phrase.Number3(f.seconds), f.compiling(), f.costArithmetic(s.cores))}
}

func plural(whose string) string {
	if strings.HasPrefix(whose, "others") {
		return ""
	}
	return "s"
}
