package probes

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func procFile(t testing.TB, name string) []byte {
	t.Helper()
	return readFixture(t, filepath.Join("../testdata/proc", name))
}

func TestParseStat(t *testing.T) {
	got, err := parseStat(procFile(t, "stat-brackets"), 100)
	want := procStat{ID: ID{4242, 65168}, Comm: "my (odd) name) S", State: 'S', PPID: 17, Own: 13 * time.Second, Waited: 5250 * time.Millisecond, Threads: 213, RSSPages: 389}
	if err != nil || got != want {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	z, err := parseStat(procFile(t, "stat-zombie"), 100)
	if err != nil || !z.zombie() || z.Own != 3100*time.Millisecond || z.PPID != 4242 {
		t.Errorf("zombie: %+v, %v", z, err)
	}
	whole := string(procFile(t, "stat-brackets"))
	for _, torn := range []string{"", "\n", "1", "1 (x", "(x) S 1", "x (x) S 1 2 3", whole[:60], "1 () SS 1", strings.Replace(whole, "1234", "-", 1)} {
		if s, err := parseStat([]byte(torn), 100); !errors.Is(err, errParse) {
			t.Errorf("%q: %+v, %v", torn, s, err)
		}
	}
}

func TestParseStatus(t *testing.T) {
	s, err := parseStatus(procFile(t, "status-container"))
	if err != nil || s.UID != 1000 || s.EUID != 1001 || s.PeakRSS != 210000<<10 || !slices.Equal(s.NSPIDs, []int{9000, 12, 1}) {
		t.Errorf("container: %+v, %v", s, err)
	}
	k, err := parseStatus(procFile(t, "status-kernel-thread"))
	if err != nil || k.PeakRSS != 0 || k.UID != 0 {
		t.Errorf("kernel thread: %+v, %v", k, err)
	}
	for _, bad := range []string{"", "Uid:\t1\n", "Uid:\tx\ty\n", "Uid:\t1\t1\nVmHWM:\t12 MB\n", "Uid:\t1\t1\nNSpid:\t1 x\n"} {
		if s, err := parseStatus([]byte(bad)); !errors.Is(err, errParse) {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
	}
}

func TestParseMemory(t *testing.T) {
	if pages, err := parseStatm(procFile(t, "statm")); err != nil || pages != 389 {
		t.Errorf("statm: %d, %v", pages, err)
	}
	if rss, err := parseSmapsRollup(procFile(t, "smaps_rollup")); err != nil || rss != 449536<<10 {
		t.Errorf("smaps_rollup: %d, %v", rss, err)
	}
	for _, bad := range []string{"", "1", "1 x"} {
		if _, err := parseStatm([]byte(bad)); !errors.Is(err, errParse) {
			t.Errorf("statm %q: %v", bad, err)
		}
		if _, err := parseSmapsRollup([]byte("Rss: " + bad)); !errors.Is(err, errParse) {
			t.Errorf("smaps_rollup %q: %v", bad, err)
		}
	}
}

func TestParseSchedstatAndLimits(t *testing.T) {
	run, delay, err := parseSchedstat(procFile(t, "schedstat"))
	if err != nil || run != 3.155270189 || delay != 7.890123456 {
		t.Errorf("schedstat: %v, %v, %v", run, delay, err)
	}
	if _, _, err := parseSchedstat([]byte("12")); !errors.Is(err, errParse) {
		t.Errorf("half a schedstat: %v", err)
	}
	if n, err := parseFDLimit(procFile(t, "limits")); err != nil || n != 20000 {
		t.Errorf("limits: %d, %v", n, err)
	}
	if n, err := parseFDLimit([]byte("Max open files  unlimited  unlimited  files")); err != nil || n != 1<<63-1 {
		t.Errorf("unlimited: %d, %v", n, err)
	}
	if _, err := parseFDLimit([]byte("Max cpu time  1  2  seconds\n")); !errors.Is(err, errParse) {
		t.Errorf("no line: %v", err)
	}
}

func TestParseListeners(t *testing.T) {
	l := listeners{}
	for _, name := range []string{"net-tcp", "net-tcp6"} {
		if err := l.parse(procFile(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	if len(l) != 2 || l[77001] != 8080 || l[77010] != 9090 {
		t.Errorf("listening: %v", l)
	}
	if err := l.parse([]byte("header\n 0: 0100007F:1F90 00000000:0000 0A\n")); !errors.Is(err, errParse) {
		t.Errorf("torn line: %v", err)
	}
}

func TestGroupName(t *testing.T) {
	for name, want := range map[string]string{
		"http-nio-8080-e": "http-nio", "http-ni..exec-7": "http-ni", "reactor-http-ep": "reactor-http-ep",
		"GC Thread#3": "GC Thread", "C2 CompilerThre": "C2 CompilerThre", "C1 Comp..hread0": "C1 Comp", "G1 Conc#0": "G1 Conc",
		"ForkJoinPool-1-": "ForkJoinPool", "java": "java", "42": "42", "": "", "VM Thread": "VM Thread",
	} {
		if got := GroupName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
