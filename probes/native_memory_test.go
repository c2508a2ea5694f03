package probes

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// Answers of jcmd, of each JDK that was at hand: testdata/nmt/README says how they were made.
func TestParseNativeMemoryOfEachJDK(t *testing.T) {
	for _, jdk := range []string{"17", "25"} {
		text, err := os.ReadFile("../testdata/nmt/jdk" + jdk + "-summary.txt")
		if err != nil {
			t.Fatal(err)
		}
		n, err := ParseNativeMemory(strings.NewReader(string(text)))
		if err != nil {
			t.Fatalf("JDK %s: %v", jdk, err)
		}
		var sum int64
		for _, c := range n.Categories {
			sum += c.CommittedBytes
			if c.CommittedBytes > c.ReservedBytes {
				t.Errorf("JDK %s: %s commits more than it reserves: %+v", jdk, c.Name, c)
			}
		}
		// Each category is rounded to its kB.
		if diff := sum - n.Total.CommittedBytes; diff > int64(len(n.Categories))<<10 || diff < -int64(len(n.Categories))<<10 {
			t.Errorf("JDK %s: the categories add up to %d, the total is %d", jdk, sum, n.Total.CommittedBytes)
		}
		if heap := n.Committed("Java Heap"); heap != 32<<20 {
			t.Errorf("JDK %s: heap %d of -Xms32m", jdk, heap)
		}
		if n.Stacks == nil || *n.Stacks <= 0 || *n.Stacks > n.Committed("Thread", "Thread Stack") {
			t.Errorf("JDK %s: stacks %v", jdk, n.Stacks)
		}
		for _, name := range []string{"Class", "Code", "GC", "Other", "Internal"} {
			if n.Committed(name) == 0 {
				t.Errorf("JDK %s: no %s among %+v", jdk, name, n.Categories)
			}
		}
		// Allocate holds 8 MB in direct buffers in these.
		if direct := n.Committed("Other"); direct < 8<<20 || direct > 9<<20 {
			t.Errorf("JDK %s: direct buffers %d", jdk, direct)
		}
	}
}

func TestParseNativeMemoryScales(t *testing.T) {
	n, err := ParseNativeMemory(strings.NewReader("7:\n\nTotal: reserved=3GB, committed=2MB\n-   Java Heap (reserved=1048576, committed=4096)\n- Code (reserved=9MB, committed=8MB)\n"))
	if err != nil || n.Total.ReservedBytes != 3<<30 || n.Committed("Java Heap") != 4096 || n.Committed("Code", "Java Heap") != 8<<20+4096 || n.Stacks != nil {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestParseNativeMemoryRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`,
		"7:\nNative memory tracking is not enabled\n":                                                "Native memory tracking is not enabled",
		"7:\njava.lang.IllegalArgumentException: Unknown diagnostic command\n":                       "Unknown diagnostic command",
		"Total: reserved=9GB, committed=99999999999999999999KB\n- X (reserved=1KB, committed=1KB)\n": "a size of 99999999999999999999KB",
	} {
		if n, err := ParseNativeMemory(strings.NewReader(text)); !errors.Is(err, ErrNativeMemory) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, n, err)
		}
	}
}

func TestParseHeapRange(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   HeapRange
	}{
		"G1": {"7:\n garbage-first heap   total reserved 65536K, committed 32768K, used 9300K [0x00000000fc000000, 0x0000000100000000)\n  region size 1024K, 8 young\n",
			HeapRange{0xfc000000, 0x100000000}},
		"Serial": {" def new generation   total 9792K, used 8704K [0x00000000fc000000, 0x00000000fcaa0000, 0x00000000fd550000)\n  eden space 8704K, 100% used [0x00000000fc000000, 0x00000000fc880000, 0x00000000fc880000)\n" +
			" tenured generation   total 21888K, used 0K [0x00000000fd550000, 0x00000000feab0000, 0x0000000100000000)\n", HeapRange{0xfc000000, 0x100000000}},
		"Shenandoah": {"Shenandoah Heap\nReserved region:\n - [0x00000000fc000000, 0x0000000100000000) \n", HeapRange{0xfc000000, 0x100000000}},
	} {
		if got, ok := ParseHeapRange(tt.answer); !ok || got != tt.want {
			t.Errorf("%s: %x, %v", name, got, ok)
		}
	}
	for _, answer := range []string{"", " ZHeap           used 10M, capacity 32M, max capacity 64M\n", "[0x20, 0x10)", "[0xzz, 0x10)"} {
		if got, ok := ParseHeapRange(answer); ok {
			t.Errorf("%q: %x", answer, got)
		}
	}
}

func TestParseSmaps(t *testing.T) {
	list, err := parseSmaps([]byte(`fc000000-fe000000 rw-p 00000000 00:00 0
Size:              32768 kB
Rss:               12288 kB
Anonymous:         12288 kB
VmFlags: rd wr mr mw me ac sd
7f0000000000-7f0000021000 r-xp 00000000 08:01 131 /usr/lib/jvm/a b/libjvm.so
Rss:                 100 kB
Anonymous:             8 kB
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
`))
	want := []Mapping{
		{From: 0xfc000000, To: 0xfe000000, RSSBytes: 12288 << 10, AnonymousBytes: 12288 << 10},
		{From: 0x7f0000000000, To: 0x7f0000021000, Name: "/usr/lib/jvm/a b/libjvm.so", RSSBytes: 100 << 10, AnonymousBytes: 8 << 10},
		{From: 0x7ffc00000000, To: 0x7ffc00021000, Name: "[stack]"},
	}
	if err != nil || len(list) != len(want) {
		t.Fatalf("%+v, %v", list, err)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, list[i], want[i])
		}
	}
	for _, bad := range []string{"Rss: 1 kB\n", "zz-10 rw-p 0 0 0\n", "20-10 rw-p 0 0 0\n", "10-20 rw-p 0 0 0\nRss: many kB\n"} {
		if list, err := parseSmaps([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, list)
		}
	}
}

// What /proc says of this very process adds up to what smaps_rollup says of it.
func TestMappingsOfThisProcess(t *testing.T) {
	fs := NewFS("/")
	list, err := fs.Mappings(os.Getpid())
	if errors.Is(err, ErrNeedsLinux) {
		t.Skip("SKIPPED: only Linux has smaps")
	}
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, m := range list {
		sum += m.RSSBytes
	}
	exact, err := fs.exactResidentBytes(os.Getpid())
	if err != nil || sum < exact/2 || sum > 2*exact {
		t.Errorf("mappings %d, smaps_rollup %d, %v", sum, exact, err)
	}
}
