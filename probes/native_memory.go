package probes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// ErrNativeMemory is wrapped by every error of [ParseNativeMemory].
var ErrNativeMemory = errors.New("native memory tracking")

// NativeMemory is what a JVM says of its own memory with -XX:NativeMemoryTracking.
type NativeMemory struct {
	Total      NativeCategory
	Categories []NativeCategory // as the JVM lists them; those under 1 kB are left out by it
	Stacks     *int64           // committed to stacks of threads: the pages in memory, since JDK 11; null where it does not say
}

// NativeCategory is one purpose of memory, such as "Java Heap" or "Thread".
// Reserved is address space; committed is what may be used of it, touched or not.
type NativeCategory struct {
	Name           string
	ReservedBytes  int64
	CommittedBytes int64
}

// Committed is the committed size of the named categories together.
func (n NativeMemory) Committed(names ...string) int64 {
	var sum int64
	for _, c := range n.Categories {
		for _, name := range names {
			if c.Name == name {
				sum += c.CommittedBytes
			}
		}
	}
	return sum
}

var (
	nativeCategory = regexp.MustCompile(`^(?:-\s+(.+?) \(|(Total): )reserved=(\d+)([KMG]?B?), committed=(\d+)([KMG]?B?)`)
	nativeStacks   = regexp.MustCompile(`^\s*\(stack: reserved=\d+[KMG]?B?, committed=(\d+)([KMG]?B?)`)
)

// ParseNativeMemory parses the answer to the diagnostic command `VM.native_memory
// summary`, in any of its scales.
func ParseNativeMemory(r io.Reader) (NativeMemory, error) {
	var n NativeMemory
	lines := bufio.NewScanner(r)
	first := ""
	for lines.Scan() {
		line := lines.Text()
		if text := strings.TrimSpace(line); first == "" && text != "" && !strings.HasSuffix(text, ":") {
			first = text // after the number of the process
		}
		if m := nativeStacks.FindStringSubmatch(line); m != nil {
			bytes, err := nativeSize(m[1], m[2])
			if err != nil {
				return n, err
			}
			n.Stacks = &bytes
			continue
		}
		m := nativeCategory.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		c := NativeCategory{Name: m[1] + m[2]}
		var err, err2 error
		c.ReservedBytes, err = nativeSize(m[3], m[4])
		c.CommittedBytes, err2 = nativeSize(m[5], m[6])
		if err := errors.Join(err, err2); err != nil {
			return n, err
		}
		if m[2] != "" {
			n.Total = c
		} else {
			n.Categories = append(n.Categories, c)
		}
	}
	if err := lines.Err(); err != nil {
		return n, fmt.Errorf("%w: %w", ErrNativeMemory, err)
	}
	if n.Total.CommittedBytes == 0 || len(n.Categories) == 0 {
		if len(first) > 200 {
			first = first[:200]
		}
		return n, fmt.Errorf("%w: no summary in the answer %q", ErrNativeMemory, first)
	}
	return n, nil
}

func nativeSize(digits, unit string) (int64, error) {
	shift := map[string]uint{"": 0, "B": 0, "KB": 10, "MB": 20, "GB": 30}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v > 1<<50>>shift[unit] {
		return 0, fmt.Errorf("%w: a size of %s%s", ErrNativeMemory, digits, unit)
	}
	return v << shift[unit], nil
}

// HeapRange is where a heap lies in the address space of its process.
type HeapRange struct{ From, To uint64 }

var heapAddresses = regexp.MustCompile(`\[0x([0-9a-fA-F]{1,16})((?:, ?0x[0-9a-fA-F]{1,16})+)\)`)

// ParseHeapRange finds the addresses in the answer to the diagnostic command
// GC.heap_info: from the lowest to the highest that any generation names. False
// where it names none, as ZGC, whose heap is a mapping with a name of its own.
func ParseHeapRange(answer string) (HeapRange, bool) {
	r := HeapRange{From: 1<<64 - 1}
	for _, m := range heapAddresses.FindAllStringSubmatch(answer, -1) {
		from, err := strconv.ParseUint(m[1], 16, 64)
		last := m[2][strings.LastIndex(m[2], "0x")+2:]
		to, err2 := strconv.ParseUint(last, 16, 64)
		if err == nil && err2 == nil && from < to {
			r.From, r.To = min(r.From, from), max(r.To, to)
		}
	}
	return r, r.From < r.To
}
