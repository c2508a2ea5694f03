package probes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"loomlab/clock"
)

// MachineSample is the state of the whole machine at one moment. Counters are
// cumulative since boot; what could not be read is null, and Unavailable says why.
type MachineSample struct {
	At              float64           `json:"at"`            // seconds on the host's monotonic clock
	BusyS           *float64          `json:"busy_s"`        // CPU time of all processes and of the kernel, interrupts included, stolen time not
	IRQS            *float64          `json:"irq_s"`         // of busy_s, what interrupts took, those of the network too
	StealS          *float64          `json:"steal_s"`       // time a virtual CPU wanted to run and the host ran something else
	Switches        *int64            `json:"switches"`      // context switches
	Running         *int64            `json:"procs_running"` // runnable threads at this moment, this reader included
	ListenOverflows *int64            `json:"listen_overflows"`
	ListenDrops     *int64            `json:"listen_drops"` // overflows included
	RetransSegs     *int64            `json:"retrans_segs"`
	DelayedACKs     *int64            `json:"delayed_acks"`      // acknowledgements that came only when a timer (40 ms) ran out
	TimeWait        *int64            `json:"time_wait"`         // sockets in TIME_WAIT at this moment
	ThrottledS      *float64          `json:"throttled_s"`       // cgroup CPU quota: time taken away from this process's group
	ThrottledN      *int64            `json:"throttled_periods"` // quota periods in which that happened
	Unavailable     map[string]string `json:"unavailable,omitempty"`
}

// MachineWindow is the machine over a window: differences of counters, largest of gauges.
type MachineWindow struct {
	Seconds         float64           `json:"seconds"` // between the first and the last sample
	BusyS           *float64          `json:"busy_s"`
	IRQS            *float64          `json:"irq_s"`
	StrangersS      *float64          `json:"strangers_s"` // busy_s minus irq_s and what the run's own tiers used
	StealS          *float64          `json:"steal_s"`
	Switches        *int64            `json:"switches"`
	MaxRunning      *int64            `json:"procs_running_max"`
	ListenOverflows *int64            `json:"listen_overflows"`
	ListenDrops     *int64            `json:"listen_drops"`
	RetransSegs     *int64            `json:"retrans_segs"`
	DelayedACKs     *int64            `json:"delayed_acks"`
	MaxTimeWait     *int64            `json:"time_wait_max"`
	ThrottledS      *float64          `json:"throttled_s"`
	ThrottledN      *int64            `json:"throttled_periods"`
	Unavailable     map[string]string `json:"unavailable,omitempty"`
}

// SampleMachine reads the machine's counters. It never fails: what cannot be read is null.
func (fs FS) SampleMachine() MachineSample {
	s := MachineSample{At: clock.Now().Seconds(), Unavailable: map[string]string{}}
	if fs.elsewhere() {
		for _, field := range []string{"busy_s", "irq_s", "steal_s", "switches", "procs_running", "listen_overflows", "listen_drops",
			"retrans_segs", "delayed_acks", "time_wait", "throttled_s", "throttled_periods"} {
			s.Unavailable[field] = ErrNeedsLinux.Error()
		}
		return s
	}
	fs.load(&s)
	fs.network(&s)
	if err := fs.throttling(&s); err != nil {
		s.Unavailable["throttled_s"], s.Unavailable["throttled_periods"] = err.Error(), err.Error()
	}
	return s
}

func (fs FS) load(s *MachineSample) {
	data, err := fs.read(fs.path("proc", "stat"), nil)
	if err == nil {
		err = s.parseProcStat(data, fs.ticks)
	}
	if err != nil {
		for _, field := range []string{"busy_s", "irq_s", "steal_s", "switches", "procs_running"} {
			s.Unavailable[field] = err.Error()
		}
	}
}

// parseProcStat parses /proc/stat. Guest time is part of user time already.
func (s *MachineSample) parseProcStat(data []byte, ticks float64) error {
	const user, nice, system, irq, softirq, steal = 0, 1, 2, 5, 6, 7
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "cpu":
			var n [steal + 1]float64
			for i := range min(len(n), len(fields)-1) {
				v, err := strconv.ParseUint(fields[1+i], 10, 64)
				if err != nil {
					return fmt.Errorf("%w: /proc/stat: %w", errParse, err)
				}
				n[i] = float64(v) / ticks
			}
			busy := n[user] + n[nice] + n[system] + n[irq] + n[softirq]
			interrupts := n[irq] + n[softirq]
			s.BusyS, s.IRQS, s.StealS = &busy, &interrupts, &n[steal]
		case "ctxt", "procs_running":
			v, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return fmt.Errorf("%w: /proc/stat: %w", errParse, err)
			}
			if fields[0] == "ctxt" {
				s.Switches = &v
			} else {
				s.Running = &v
			}
		}
	}
	if s.BusyS == nil {
		return fmt.Errorf("%w: /proc/stat has no cpu line", errParse)
	}
	return nil
}

func (fs FS) network(s *MachineSample) {
	for _, f := range []struct {
		file, group, name, field string
		to                       **int64
	}{
		{"netstat", "TcpExt:", "ListenOverflows", "listen_overflows", &s.ListenOverflows},
		{"netstat", "TcpExt:", "ListenDrops", "listen_drops", &s.ListenDrops},
		{"snmp", "Tcp:", "RetransSegs", "retrans_segs", &s.RetransSegs},
		{"netstat", "TcpExt:", "DelayedACKs", "delayed_acks", &s.DelayedACKs},
	} {
		data, err := fs.read(fs.netFile(f.file), nil)
		if err == nil {
			var n int64
			if n, err = parseNetCounter(data, f.group, f.name); err == nil {
				*f.to = &n
				continue
			}
		}
		s.Unavailable[f.field] = err.Error()
	}
	data, err := fs.read(fs.netFile("sockstat"), nil)
	if err == nil {
		var n int64
		if n, err = parseTimeWait(data); err == nil {
			s.TimeWait = &n
			return
		}
	}
	s.Unavailable["time_wait"] = err.Error()
}

// parseNetCounter parses /proc/net/netstat or snmp: per group a line of names, then a line of values.
func parseNetCounter(data []byte, group, name string) (int64, error) {
	var names []string
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != group {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, n := range names {
			if n == name && i < len(fields) {
				return strconv.ParseInt(fields[i], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("%w: no %s %s", errParse, group, name)
}

// parseTimeWait parses /proc/net/sockstat: "TCP: inuse 2 orphan 0 tw 9787 alloc 2 mem 31".
func parseTimeWait(data []byte) (int64, error) {
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if fields[i] == "tw" {
				return strconv.ParseInt(fields[i+1], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("%w: sockstat has no TIME_WAIT count", errParse)
}

// throttling reads cpu.stat of this process's control group, version 2 (µs) or 1
// (ns). The tiers are in the same group unless a launcher moves them.
func (fs FS) throttling(s *MachineSample) error {
	groups, err := fs.read(fs.path("proc", "self", "cgroup"), nil)
	if err != nil {
		return err
	}
	for _, dir := range groupDirs(groups, "cpu") {
		data, err := os.ReadFile(fs.path(dir, "cpu.stat"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if s.parseCPUStat(data) {
			return nil
		}
	}
	return errors.New("no control group with a CPU quota")
}

// groupDirs lists where the groups in /proc/<pid>/cgroup that a controller serves
// can be. Inside a container the group's own path is often not there, and the mount's root is the group.
func groupDirs(groups []byte, controller string) []string {
	var dirs []string
	for line := range bytes.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mounts := []string{"sys/fs/cgroup/" + parts[1]}
		switch {
		case parts[1] == "":
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case !strings.Contains(","+parts[1]+",", ","+controller+","):
			continue
		}
		for _, mount := range mounts {
			dirs = append(dirs, mount+parts[2], mount)
		}
	}
	return dirs
}

// parseCPUStat says whether the file has throttling figures: a group without the cpu controller has none.
func (s *MachineSample) parseCPUStat(data []byte) bool {
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) != 2 {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		switch seconds := float64(n); fields[0] {
		case "nr_throttled":
			s.ThrottledN = &n
		case "throttled_usec":
			seconds /= 1e6
			s.ThrottledS = &seconds
		case "throttled_time":
			seconds /= 1e9
			s.ThrottledS = &seconds
		}
	}
	return s.ThrottledN != nil && s.ThrottledS != nil
}

// NewMachineWindow reduces samples (ascending) to differences and largest
// values. own is the CPU time, in seconds, that the run's own processes used
// meanwhile, orchestrator included; what is left of the busy time is strangers'.
func NewMachineWindow(samples []MachineSample, own float64) MachineWindow {
	w := MachineWindow{Unavailable: map[string]string{}}
	if len(samples) < 2 {
		w.Unavailable["machine"] = "fewer than two samples"
		return w
	}
	a, b := samples[0], samples[len(samples)-1]
	w.Seconds = b.At - a.At
	for field, reason := range b.Unavailable {
		w.Unavailable[field] = reason
	}
	w.BusyS, w.IRQS = minus(b.BusyS, a.BusyS), minus(b.IRQS, a.IRQS)
	w.StealS, w.ThrottledS = minus(b.StealS, a.StealS), minus(b.ThrottledS, a.ThrottledS)
	w.Switches, w.ThrottledN = minus(b.Switches, a.Switches), minus(b.ThrottledN, a.ThrottledN)
	w.ListenOverflows, w.ListenDrops = minus(b.ListenOverflows, a.ListenOverflows), minus(b.ListenDrops, a.ListenDrops)
	w.RetransSegs, w.DelayedACKs = minus(b.RetransSegs, a.RetransSegs), minus(b.DelayedACKs, a.DelayedACKs)
	if w.BusyS != nil && w.IRQS != nil {
		// The tiers' own packets cause most interrupts. Some kernels count them with
		// the process as well and some do not: left out, no kernel makes strangers of
		// them. All is rounded to clock ticks, so a quiet machine can come out below 0.
		strangers := max(0, *w.BusyS-*w.IRQS-own)
		w.StrangersS = &strangers
	}
	for _, s := range samples {
		w.MaxRunning, w.MaxTimeWait = larger(w.MaxRunning, s.Running), larger(w.MaxTimeWait, s.TimeWait)
	}
	return w
}

// minus is null where either is missing or the counter went backwards, as some do when a CPU goes offline.
func minus[N int64 | float64](b, a *N) *N {
	if a == nil || b == nil || *b < *a {
		return nil
	}
	d := *b - *a
	return &d
}

func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
