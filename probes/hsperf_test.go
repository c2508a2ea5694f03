package probes

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const hsperfDir = "../testdata/hsperf"

var writeHsperf = flag.Bool("write-hsperf", false, "make testdata/hsperf again with the JDKs found here")

func hsperfFixtures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(hsperfDir, "*.hsperf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return files
}

func readFixture(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Every collector of both JDKs, with collections and without, against what is expected of it.
func TestHsperfFixtures(t *testing.T) {
	var got strings.Builder
	for _, path := range hsperfFixtures(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".hsperf")
		c, err := ParseHsperf(readFixture(t, path))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		j := c.jvm()
		fmt.Fprintf(&got, "%s %s\n", name, asJSON(j))
		// jdk17-g1-none: JDK, collector, whether there were collections
		part := strings.Split(name, "-")
		if !strings.HasPrefix(j.Version, strings.TrimPrefix(part[0], "jdk")) || !strings.EqualFold(j.Collector, part[1]) {
			t.Errorf("%s: JDK %s, collector %s", name, j.Version, j.Collector)
		}
		if !slices.Contains(j.Flags, "-Xmx64m") {
			t.Errorf("%s: flags %q", name, j.Flags)
		}
		count, ms := collected(&j)
		if collected := part[2] == "gc"; collected != (count > 0) || collected != (ms > 0) || len(j.GC) == 0 {
			t.Errorf("%s: collections %+v", name, j.GC)
		}
		if want := part[2] == "gc" && j.Collector != shenandoah; want != (j.HeapAfterGCBytes != nil) {
			t.Errorf("%s: heap after GC %v", name, j.HeapAfterGCBytes)
		}
		if j.HeapCommittedBytes == nil || *j.HeapCommittedBytes < 32<<20 || *j.HeapCommittedBytes > 66<<20 {
			t.Errorf("%s: committed heap %v of -Xms32m -Xmx64m", name, j.HeapCommittedBytes)
		}
		// Allocate keeps 8 MB alive.
		if h := j.HeapAfterGCBytes; h != nil && (*h < 1<<20 || *h > *j.HeapCommittedBytes) {
			t.Errorf("%s: heap after GC %d, committed %d", name, *h, *j.HeapCommittedBytes)
		}
		if j.JITSeconds == nil || *j.JITSeconds <= 0 || *j.JITSeconds > 60 || j.ThreadsLive == nil || j.ClassesLoaded == nil ||
			*j.ClassesLoaded < 400 || (part[2] == "gc") != (j.MetaspaceUsedBytes != nil) || j.SafepointSeconds == nil || j.JITCompiles == nil {
			t.Errorf("%s: %s", name, asJSON(j))
		}
	}
	golden := filepath.Join(hsperfDir, "expected.txt")
	if *writeHsperf {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(readFixture(t, golden)); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// No file of the project may name a folder or a command of whoever made it.
func TestHsperfFixturesAreScrubbed(t *testing.T) {
	for _, path := range hsperfFixtures(t) {
		c, err := ParseHsperf(readFixture(t, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range scrubbed {
			if text := c.Strings[name]; strings.Trim(text, "x") != "" {
				t.Errorf("%s: %s is %q", filepath.Base(path), name, text)
			}
		}
	}
}

// madeUpHsperf is a file of a prologue, a long and a text, with one thing changed.
func madeUpHsperf(order binary.ByteOrder, change func([]byte)) []byte {
	b := make([]byte, 32+40+48)
	binary.BigEndian.PutUint32(b, hsperfMagic)
	if order == binary.LittleEndian {
		b[4] = 1
	}
	b[5], b[7] = 2, 1
	order.PutUint32(b[8:], uint32(len(b))) // used
	order.PutUint32(b[24:], 32)            // first entry
	order.PutUint32(b[28:], 2)             // entries
	e := b[32:]
	order.PutUint32(e, 40)
	order.PutUint32(e[4:], 20)
	e[12] = 'J'
	order.PutUint32(e[16:], 32)
	copy(e[20:], "a.long\x00")
	order.PutUint64(e[32:], 1<<40+7)
	e = b[72:]
	order.PutUint32(e, 48)
	order.PutUint32(e[4:], 20)
	order.PutUint32(e[8:], 8)
	e[12] = 'B'
	order.PutUint32(e[16:], 32)
	copy(e[20:], "a.text\x00")
	copy(e[32:], "G1\x00rest")
	if change != nil {
		change(b)
	}
	return b
}

func TestHsperfForeignAndDamaged(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		c, err := ParseHsperf(madeUpHsperf(order, nil))
		if err != nil || c.Longs["a.long"] != 1<<40+7 || c.Strings["a.text"] != "G1" {
			t.Errorf("%v: %v, %v", order, c, err)
		}
	}
	le := binary.LittleEndian
	for name, change := range map[string]func([]byte){
		"magic":                  func(b []byte) { b[0] = 0 },
		"byte order":             func(b []byte) { b[4] = 9 },
		"version 1":              func(b []byte) { b[5] = 1 },
		"not accessible yet":     func(b []byte) { b[7] = 0 },
		"used beyond the file":   func(b []byte) { le.PutUint32(b[8:], 1<<20) },
		"used negative":          func(b []byte) { le.PutUint32(b[8:], 1<<31) },
		"used cuts an entry":     func(b []byte) { le.PutUint32(b[8:], 80) },
		"entries in prologue":    func(b []byte) { le.PutUint32(b[24:], 0) },
		"entries beyond":         func(b []byte) { le.PutUint32(b[24:], 1<<30) },
		"more entries than said": func(b []byte) { le.PutUint32(b[28:], 1<<30) },
		"negative count":         func(b []byte) { le.PutUint32(b[28:], 1<<31) },
		"entry being written":    func(b []byte) { le.PutUint32(b[72:], 0) },
		"entry too long":         func(b []byte) { le.PutUint32(b[72:], 1<<20) },
		"name beyond":            func(b []byte) { le.PutUint32(b[76:], 4000) },
		"name in the head":       func(b []byte) { le.PutUint32(b[76:], 3) },
		"vector beyond":          func(b []byte) { le.PutUint32(b[80:], 1<<30) },
		"vector negative":        func(b []byte) { le.PutUint32(b[80:], 1<<31) },
		"value beyond":           func(b []byte) { le.PutUint32(b[88:], 4000) },
		"name without end": func(b []byte) {
			for i := 92; i < len(b); i++ {
				b[i] = 'x'
			}
		},
	} {
		if c, err := ParseHsperf(madeUpHsperf(le, change)); !errors.Is(err, ErrHsperf) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	whole := madeUpHsperf(le, nil)
	for n := range whole {
		if _, err := ParseHsperf(whole[:n]); err == nil {
			t.Errorf("the first %d bytes parse", n)
		}
	}
	// What was read before the damage is kept.
	if c, _ := ParseHsperf(madeUpHsperf(le, func(b []byte) { le.PutUint32(b[72:], 0) })); c.Longs["a.long"] == 0 {
		t.Errorf("lost the entry before the damage: %v", c)
	}
}

func TestTicksAreNotNanoseconds(t *testing.T) {
	c := Counters{
		Longs: map[string]int64{
			"sun.os.hrt.frequency": 1000, "sun.gc.collector.5.invocations": 2, "sun.gc.collector.5.time": 500,
			"sun.gc.collector.5.lastEntryTime": 100, "sun.gc.collector.5.lastExitTime": 130, "java.ci.totalTime": 2500,
		},
		Strings: map[string]string{"sun.gc.collector.5.name": "ZGC minor collection pauses"},
	}
	j := c.jvm()
	if want := (GC{Name: "ZGC minor collection pauses", Count: 2, MS: 500, LastMS: 30}); len(j.GC) != 1 || j.GC[0] != want {
		t.Errorf("gc: %+v", j.GC)
	}
	if j.JITSeconds == nil || *j.JITSeconds != 2.5 {
		t.Errorf("jit_s: %v", j.JITSeconds)
	}
	delete(c.Longs, "sun.os.hrt.frequency")
	if j := c.jvm(); j.GC != nil || j.JITSeconds != nil {
		t.Errorf("times without a frequency: %s", asJSON(j))
	}
	if j := (Counters{}).jvm(); asJSON(j) != asJSON(JVM{}) {
		t.Errorf("figures out of nothing: %s", asJSON(j))
	}
}

func FuzzHsperf(f *testing.F) {
	// Small seeds: the fuzzer spends its time on the fields and not on shrinking 10 kB.
	f.Add(madeUpHsperf(binary.LittleEndian, nil))
	f.Add(madeUpHsperf(binary.BigEndian, func(b []byte) { b[32+12] = 'B' }))
	f.Add([]byte{0xca, 0xfe, 0xc0, 0xc0, 0, 2, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseHsperf(data)
		if err != nil && !errors.Is(err, ErrHsperf) {
			t.Errorf("another error: %v", err)
		}
		if 20*(len(c.Longs)+len(c.Strings)) > len(data) {
			t.Errorf("%d entries out of %d bytes", len(c.Longs)+len(c.Strings), len(data))
		}
		j := c.jvm()
		_ = asJSON(j) // a NaN would say so
	})
}

func BenchmarkParseHsperf(b *testing.B) {
	data := readFixture(b, hsperfFixtures(b)[0])
	b.ReportAllocs()
	for b.Loop() {
		c, err := ParseHsperf(data)
		if err != nil {
			b.Fatal(err)
		}
		_ = c.jvm()
	}
}

// scrubbed are the entries that name folders or commands of the machine that made a file.
var scrubbed = []string{
	"java.property.java.home", "java.property.java.class.path", "java.property.java.library.path",
	"java.property.java.endorsed.dirs", "java.property.java.ext.dirs",
	"sun.property.sun.boot.library.path", "sun.property.sun.boot.class.path", "sun.rt.javaCommand",
}

// TestWriteHsperf makes the fixtures again: go test ./probes -run Hsperf -write-hsperf.
func TestWriteHsperf(t *testing.T) {
	if !*writeHsperf {
		t.Skip("only with -write-hsperf")
	}
	source, err := filepath.Abs(filepath.Join(hsperfDir, "Allocate.java"))
	if err != nil {
		t.Fatal(err)
	}
	jdks := installedJDKs(t)
	dir := t.TempDir()
	if out, err := exec.Command(filepath.Join(jdks["17"], "bin/javac"), "--release", "17", "-d", dir, source).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	for _, jdk := range []string{"17", "25"} {
		for flag, collector := range map[string]string{"G1": "g1", "Parallel": "parallel", "Serial": "serial", "Z": "zgc", "Shenandoah": "shenandoah"} {
			for collections, kind := range map[string]string{"0": "none", "4": "gc"} {
				c := exec.Command(filepath.Join(jdks[jdk], "bin/java"), "-Xms32m", "-Xmx64m", "-XX:+Use"+flag+"GC",
					"-XX:+PerfDataSaveToFile", "-XX:PerfDataSaveFile=out.hsperf", "-cp", ".", "Allocate", collections)
				c.Dir = dir
				c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.Contains(v, "OPTIONS=") })
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", c.Args, err, out)
				}
				data := readFixture(t, filepath.Join(dir, "out.hsperf"))
				if err := walkHsperf(data, scrub); err != nil {
					t.Fatal(err)
				}
				data = data[:binary.NativeEndian.Uint32(data[8:])]
				to := filepath.Join(hsperfDir, fmt.Sprintf("jdk%s-%s-%s.hsperf", jdk, collector, kind))
				if err := os.WriteFile(to, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// scrub overwrites what a file says of its maker's folders with as many letters.
func scrub(e hsperfItem) {
	if !slices.Contains(scrubbed, e.name) {
		return
	}
	for i, b := range e.value {
		if b != 0 {
			e.value[i] = 'x'
		}
	}
}

// installedJDKs returns JDK homes by feature version.
func installedJDKs(t testing.TB) map[string]string {
	t.Helper()
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	if home := os.Getenv("JAVA_HOME"); home != "" {
		homes = append(homes, home)
	}
	found := map[string]string{}
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if err != nil {
			continue
		}
		_, version, _ := strings.Cut(string(release), `JAVA_VERSION="`)
		if at := strings.IndexAny(version, `."`); at > 0 {
			found[version[:at]] = home
		}
	}
	return found
}
