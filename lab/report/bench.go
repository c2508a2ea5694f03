package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// benchUnits are the metrics that benchstat compares, in the ecosystem's own
// units: benchstat turns ns into seconds and scales bytes.
var benchUnits = []struct {
	metric, unit string
	scale        float64
}{
	{record.Throughput, "req/s", 1},
	{"p50_ms", "p50-ns", 1e6},
	{record.P99, "p99-ns", 1e6},
	{"errors", "errors", 1},
	{"sut_cpu_us", "sut-cpu-ns/op", 1e3},
	{"downstream_cpu_us", "downstream-cpu-ns/op", 1e3},
	{"load_cpu_us", "load-cpu-ns/op", 1e3},
	{"rss_mb", "RSS-bytes", 1 << 20},
	{record.HeapAfterGC, "heap-after-gc-bytes", 1 << 20},
	{"gc_ms", "gc-pause-ns", 1e6},
	{"platform_threads_peak", "platform-threads", 1},
}

// Bench writes Go benchmark lines for benchstat: one per SUT, rung and fork with
// its rounds pooled, because forks are the independent repeats. The iteration
// count is the number of ok answers. What is not available is left out. The
// format is https://golang.org/design/14313-benchmark-format.
func Bench(w io.Writer, saved *record.Saved) error {
	out := bufio.NewWriter(w)
	run := &saved.Run
	for _, config := range [][2]string{
		{"experiment", run.Experiment.Name}, {"run", run.ID}, {"loomlab", run.Version},
		{"goos", run.Machine.OS}, {"goarch", run.Machine.Arch}, {"cpu", run.Machine.CPU},
	} {
		if value := strings.TrimSpace(escape(config[1])); value != "" {
			fmt.Fprintf(out, "%s: %s\n", config[0], value)
		}
	}
	for _, u := range benchUnits {
		if m, _ := record.MetricNamed(u.metric); m.Better != "" {
			fmt.Fprintf(out, "Unit %s better=%s\n", u.unit, m.Better)
		}
	}
	fmt.Fprintln(out)
	b := &builder{saved: saved, exp: &run.Experiment}
	names := benchNames(b.columns())
	for _, rung := range b.rungs() {
		for _, sut := range b.columns() {
			for _, fork := range forksOf(saved.At(sut, rung)) {
				benchLine(out, names[sut], record.Pool(fork))
			}
		}
	}
	return out.Flush()
}

// forksOf splits cells by fork, in order.
func forksOf(cells []*record.Cell) [][]*record.Cell {
	var forks [][]*record.Cell
	for i, c := range cells {
		if i == 0 || cells[i-1].Fork != c.Fork {
			forks = append(forks, nil)
		}
		forks[len(forks)-1] = append(forks[len(forks)-1], c)
	}
	return forks
}

// benchLine writes a pooled fork; nothing when nothing was measured.
func benchLine(w io.Writer, sut string, c *record.Cell) {
	if c == nil || c.Load.Requests.OK <= 0 {
		return
	}
	fmt.Fprintf(w, "BenchmarkLoomlab/sut=%s/mode=%s/conns=%d", sut, benchWord(orElse(c.Load.Mode, "closed")), c.Connections)
	if c.Rate != 0 {
		fmt.Fprintf(w, "/rate=%s", plain(c.Rate))
	}
	fmt.Fprintf(w, " %d", c.Load.Requests.OK)
	for _, u := range benchUnits {
		m, _ := record.MetricNamed(u.metric)
		if v := m.Of(c); v != nil {
			fmt.Fprintf(w, " %s %s", plain(*v*u.scale), u.unit)
		}
	}
	fmt.Fprintln(w)
}

// benchNames makes names of SUTs that benchmark lines can hold. Two SUTs never
// get the same one: benchstat would take them for repeats of one thing.
func benchNames(suts []string) map[string]string {
	names := map[string]string{}
	var taken []string
	for _, sut := range suts {
		name := benchWord(sut)
		for n := 2; slices.Contains(taken, name); n++ {
			name = fmt.Sprintf("%s.%d", benchWord(sut), n)
		}
		taken = append(taken, name)
		names[sut] = name
	}
	return names
}

func benchWord(s string) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '=', r == '-':
			return r
		}
		return '_'
	}, s)
	return orElse(word, "unnamed")
}
