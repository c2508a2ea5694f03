package loadgen

import (
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The geometry of every histogram here, in microseconds: 1 µs to 1 h with 3
// significant digits, as HdrHistogram lays it out (2048 sub-buckets, so that
// each further bucket has 1024 of its own).
const (
	lowestUS   = 1
	highestUS  = int64(time.Hour / time.Microsecond)
	digits     = 3
	halfBits   = 10
	bucketsLen = (22 + 1) << halfBits // 2048 << 21 µs is above 1 h
)

// histogram counts durations for one loop. It is the recording half of an
// HdrHistogram, cheap enough for every answer: one index, three sums, no
// allocation, no lock. Minimum, maximum and mean are exact.
type histogram struct {
	counts   []int64 // allocated with the first value
	n        int64
	min, max time.Duration
	sum      float64 // ns
	squares  float64 // ns²
}

// bucket is the index of v µs in counts.
func bucket(v int64) int {
	shift := bits.Len64(uint64(v)|(2<<halfBits-1)) - (halfBits + 1)
	return shift<<halfBits + int(v>>shift)
}

// bucketOf is the bucket of d, at the edge of the range when it is beyond.
func bucketOf(d time.Duration) int {
	us := (int64(d) + 500) / 1000
	return bucket(min(max(us, lowestUS), highestUS))
}

// bucketValue is the lowest value of a bucket, in µs.
func bucketValue(i int) int64 {
	shift := i>>halfBits - 1
	if shift <= 0 {
		return int64(i)
	}
	return int64(i-shift<<halfBits) << shift
}

// record adds d. Beyond the range it counts at its edge; max stays exact.
func (h *histogram) record(d time.Duration) {
	if h.counts == nil {
		h.counts = make([]int64, bucketsLen)
	}
	h.counts[bucketOf(d)]++
	if h.n == 0 || d < h.min {
		h.min = d
	}
	if d > h.max {
		h.max = d
	}
	h.n++
	f := float64(d)
	h.sum += f
	h.squares += f * f
}

// merge adds what other has counted.
func (h *histogram) merge(other *histogram) {
	if other.n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make([]int64, bucketsLen)
	}
	first, last := other.span()
	for i, c := range other.counts[first:last] {
		h.counts[first+i] += c
	}
	if h.n == 0 || other.min < h.min {
		h.min = other.min
	}
	h.max = max(h.max, other.max)
	h.n += other.n
	h.sum += other.sum
	h.squares += other.squares
}

// span is the part of counts that is in use, so that what happens every second
// does not touch the whole of it.
func (h *histogram) span() (first, last int) { return bucketOf(h.min), bucketOf(h.max) + 1 }

// clear forgets everything but keeps the memory.
func (h *histogram) clear() {
	if h.n > 0 {
		first, last := h.span()
		clear(h.counts[first:last])
	}
	*h = histogram{counts: h.counts}
}

// percentile is the nearest rank: the smallest value that at least p % of all
// are not above, to the histogram's 3 digits and within the exact extremes.
func (h *histogram) percentile(p float64) time.Duration {
	rank := max(int64(math.Ceil(p/100*float64(h.n)-1e-9)), 1)
	if rank >= h.n {
		return h.max
	}
	for i, c := range h.counts {
		if rank -= c; rank <= 0 {
			// The middle of the bucket, whose edges are half a µs around a value.
			value := (bucketValue(i) + bucketValue(i+1) - 1) * int64(time.Microsecond) / 2
			return min(max(time.Duration(value), h.min), h.max)
		}
	}
	return h.max
}

// summary is nil without values.
func (h *histogram) summary() *Latency {
	if h.n == 0 {
		return nil
	}
	n := float64(h.n)
	mean := h.sum / n
	variance := max(h.squares/n-mean*mean, 0)
	return &Latency{
		Min: ms(h.min), Mean: mean / 1e6, Stddev: math.Sqrt(variance) / 1e6,
		P50: ms(h.percentile(50)), P75: ms(h.percentile(75)), P90: ms(h.percentile(90)),
		P95: ms(h.percentile(95)), P99: ms(h.percentile(99)), P999: ms(h.percentile(99.9)),
		Max: ms(h.max),
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// hdr converts to the format that the field's tools read.
func (h *histogram) hdr() *hdrhistogram.Histogram {
	out := hdrhistogram.New(lowestUS, highestUS, digits)
	for i, c := range h.counts {
		if c > 0 {
			// In range by construction: record clamps.
			_ = out.RecordValues(min(bucketValue(i), highestUS), c)
		}
	}
	return out
}

// encode is the hdr histogram as HdrHistogram V2, compressed, base64.
func (h *histogram) encode() (string, error) {
	b, err := h.hdr().Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(b), err
}
