package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
	"loomlab/probes"
)

// TestUnfit: a rung that does not fit is named with its arithmetic and the
// nearest one that does; SUTs with limits of their own take less.
func TestUnfit(t *testing.T) {
	facts := jdkMachine
	facts.FDLimit = 20000
	p, err := New(article(t), Options{Connections: []int{100, 9500, 10000}}, facts)
	if err != nil {
		t.Fatal(err)
	}
	check := func(sut string, connections int, want string) {
		t.Helper()
		if got := p.Unfit(CellKey{SUT: sut, Fork: 1, Connections: connections, Round: 1}); got != want {
			t.Errorf("%s at %d: %q, want %q", sut, connections, got, want)
		}
	}
	check("webflux", 9500, "")
	check("webflux", 10000, "10000 connections need 20256 descriptors in the SUT, which may open 20000; 9800 would fit")
	check("platform", 10000, "") // 200 workers call the downstream 200 at a time
	check("virtual", 10000, "")  // Tomcat serves 8192 of them
	check("webflux", 0, "")      // an open loop
	if u := p.UnfitRungs(); len(u) != 1 || u[0].SUT != "webflux" || !strings.Contains(u[0].Remedy, "--nofile=20256`") {
		t.Errorf("unfit = %v", u)
	}
	if p.NothingFits() || p.highestFit("webflux") != 9500 || !p.Fits(10000) {
		t.Errorf("nothing fits %v, highest %d, 10000 fits %v", p.NothingFits(), p.highestFit("webflux"), p.Fits(10000))
	}
}

func TestLacks(t *testing.T) {
	n := Needs{LoadFDs: 3064, SUTFDs: 6256, LocalPorts: 9000, MemoryBytes: 2 << 30, LoadBytes: 48 << 20, SUTBytes: 2000 << 20}
	if got := n.lacks(3000, Facts{}); got != nil {
		t.Errorf("what is not known constrains: %q", got)
	}
	got := n.lacks(3000, Facts{FDLimit: 3064, LocalPorts: 51, MemoryBytes: 1 << 30})
	want := []string{
		"3000 connections need 6256 descriptors in the SUT, which may open 3064",
		"3000 connections need 9000 local ports to one destination (6000 of them in TIME_WAIT from the rounds before), and the ephemeral range holds 51",
		"3000 connections need about 2048 MiB of memory (load 48 MiB, SUT 2000 MiB), and the machine has 1024 MiB",
	}
	if len(got) != len(want) {
		t.Fatalf("lacks = %q", got)
	}
	for i, l := range got {
		if l.Reason != want[i] || l.Remedy == "" {
			t.Errorf("lack %d: %q: %q", i, l.Reason, l.Remedy)
		}
	}
}

func TestTimeWait(t *testing.T) {
	p := &Plan{}
	p.Experiment.Load = record.Load{Rounds: 9, Duration: record.Duration(10 * time.Second)}
	for reuse, want := range map[string]int{"": 0, "1": 0, "2": 0, "0": 5000} { // 12 s a round: five of them in a minute
		p.Facts.Capacity.TimeWaitReuse = reuse
		if got := p.timeWait(&SUT{}, 1000); got != want {
			t.Errorf("tcp_tw_reuse %q: %d, want %d", reuse, got, want)
		}
	}
}

func TestTwoDigits(t *testing.T) {
	for n, want := range map[int]int{0: 0, 7: 7, 99: 99, 100: 100, 101: 100, 9872: 9800, 10000: 10000, 19999: 19000, 123456: 120000} {
		if got := twoDigits(n); got != want {
			t.Errorf("twoDigits(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	facts := jdkMachine
	facts.FDLimit, facts.LocalPorts, facts.Cores, facts.MemoryBytes = 4096, 28232, 1, 2<<30
	facts.Capacity = probes.Capacity{AvailableBytes: 1 << 30, SoMaxConn: 16, SYNBacklog: 16, TimeWaitReuse: "0", TimeWait: 12}
	facts.BusyCPUs, facts.DiskFree = 0.7, 1<<20
	p, err := New(article(t), Options{}, facts)
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, c := range p.Preflight() {
		status[c.What] = c.Status
		if (c.Status == CheckOK) != (c.Remedy == "") || c.Text == "" {
			t.Errorf("%+v", c)
		}
	}
	for what, want := range map[string]string{"descriptors": CheckLacking, "local ports": CheckOK, "accept queue": CheckNote, "memory": CheckNote,
		"cores": CheckNote, "other load": CheckNote, "disk": CheckLacking, "JDK": CheckOK, "jars": CheckOK} {
		if status[what] != want {
			t.Errorf("%s: %q, want %q", what, status[what], want)
		}
	}
	var rungs []int
	for _, r := range p.Rungs() {
		rungs = append(rungs, r.Connections)
	}
	if !slices.Equal(rungs, []int{100, 1000, 3000}) {
		t.Errorf("rungs %v", rungs)
	}
	if p, err = New(article(t), Options{}, Facts{NoApps: "no JDK"}); err != nil || p.Preflight()[0].Status != CheckLacking {
		t.Errorf("without a JDK: %v, %v", p.Preflight(), err)
	}
}
