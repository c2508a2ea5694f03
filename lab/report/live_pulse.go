package report

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// pulse is what the tiers do just now: the last points of their series. It has a
// lock of its own, held for moments only, since those who feed it are measuring
// and a terminal may be slow.
type pulse struct {
	mu         sync.Mutex
	process    string // SUT and fork that the points are of
	throughput []float64
	p99        []float64
	bad        int64 // errors and non-2xx of the last second
	tiers      map[string]*tierPulse
	flight     *int64
	newest     float64 // clock of the newest sample of any tier
}

// tierPulse is one tier as it was sampled last.
type tierPulse struct {
	cpu     counter
	cores   float64 // NaN: not known yet
	rss     int64
	threads int64
	alive   bool
	at      float64 // when
}

// tierGone is after how many seconds without a sample a tier is no longer there,
// such as the load engine between two cells.
const tierGone = 3

// pulseSeconds is how far back the sparklines reach.
const pulseSeconds = 40

func (p *pulse) add(point *record.Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if process := fmt.Sprint(point.SUT, " ", point.Fork); process != p.process {
		p.process, p.tiers, p.throughput, p.p99, p.flight, p.bad = process, map[string]*tierPulse{}, nil, nil, nil, 0
	}
	if l := point.Load; l != nil && l.Seconds > 0 {
		p.throughput = keepLast(p.throughput, float64(l.OK)/l.Seconds)
		p99 := math.NaN()
		if l.LatencyMS != nil {
			p99 = l.LatencyMS.P99
		}
		p.p99 = keepLast(p.p99, p99)
		p.bad = l.Non2xx + l.Errors
	}
	if point.InFlight != nil {
		p.flight = point.InFlight
	}
	s := point.Sample
	if s == nil {
		return
	}
	t := p.tiers[point.Tier]
	if t == nil {
		t = &tierPulse{cores: math.NaN()}
		p.tiers[point.Tier] = t
	}
	t.alive, t.at = s.Processes > 0, s.At
	p.newest = max(p.newest, s.At)
	if s.CPUS != nil {
		if rate := t.cpu.rate(s.At, *s.CPUS); !math.IsNaN(rate) {
			t.cores = rate
		}
	}
	if !t.alive {
		t.cores = math.NaN()
	}
	if s.RSSBytes != nil {
		t.rss = *s.RSSBytes
	}
	if s.Threads != nil {
		t.threads = *s.Threads
	}
}

func keepLast(list []float64, v float64) []float64 {
	if list = append(list, v); len(list) > pulseSeconds {
		list = list[1:]
	}
	return list
}

// lines are the tiers, the CPU split between them, and the last seconds of load;
// none before anything was sampled.
func (p *pulse) lines(columns int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	tiers := p.health(true)
	if width(tiers)+2 > columns {
		tiers = p.health(false)
	}
	if tiers != "" {
		lines = append(lines, "  "+tiers)
	}
	if cpu := p.cpu(columns); cpu != "" {
		lines = append(lines, "  "+cpu)
	}
	if n := len(p.throughput); n > 0 {
		room := min(pulseSeconds, max(8, (columns-44)/2))
		line := fmt.Sprintf("  %s %s/s", sparkline(p.throughput, room), fixed(p.throughput[n-1], 0))
		if last := p.p99[n-1]; !math.IsNaN(last) {
			m, _ := record.MetricNamed(record.P99)
			line += fmt.Sprintf("   p99 %s %s ms", sparkline(p.p99, room), number(last, m))
		}
		if p.bad > 0 {
			line += fmt.Sprintf("   %d failed", p.bad)
		}
		lines = append(lines, line)
	}
	return lines
}

// tierWords are the tiers in the order of a request.
var tierWords = []struct{ tier, word string }{{record.TierLoad, "load"}, {record.TierSUT, "SUT"}, {record.TierDownstream, "downstream"}}

// tier is nil for one that is not sampled now.
func (p *pulse) tier(name string) *tierPulse {
	if t := p.tiers[name]; t != nil && p.newest-t.at <= tierGone {
		return t
	}
	return nil
}

// health is which tiers live and what they hold; with details also how many threads
// and requests.
func (p *pulse) health(details bool) string {
	var parts []string
	for _, w := range tierWords {
		t := p.tier(w.tier)
		if t == nil {
			continue
		}
		mark := "●"
		if !t.alive {
			mark = "○"
		}
		text := fmt.Sprintf("%s %s %d MB", mark, w.word, t.rss>>20)
		switch {
		case !t.alive:
			text = mark + " " + w.word + " ended"
		case !details:
		case w.tier == record.TierSUT:
			text += ", " + phrase.Count(int(t.threads), "thread")
		case w.tier == record.TierDownstream && p.flight != nil:
			text += fmt.Sprintf(", %d in flight", *p.flight)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "   ")
}

// Each tier's share of the CPU bar, told apart by shade, never by colour alone.
var cpuShades = []string{"░", "█", "▒"}

const cpuBar = 20

// cpu is the split between the tiers: a bar in which each takes its share of what
// all use, and the cores of each.
func (p *pulse) cpu(columns int) string {
	sum := 0.0
	var parts []string
	for i, w := range tierWords {
		if t := p.tier(w.tier); t != nil && !math.IsNaN(t.cores) {
			sum += t.cores
			parts = append(parts, fmt.Sprintf("%s %s %s", cpuShades[i], w.word, fixed(t.cores, 2)))
		}
	}
	if sum <= 0 {
		return ""
	}
	var bar strings.Builder
	filled, before := 0, 0.0
	for i, w := range tierWords {
		if t := p.tier(w.tier); t != nil && !math.IsNaN(t.cores) {
			before += t.cores
			upTo := int(math.Round(before / sum * cpuBar))
			bar.WriteString(strings.Repeat(cpuShades[i], upTo-filled))
			filled = upTo
		}
	}
	text := strings.Join(parts, "  ") + " cores"
	if columns < cpuBar+width(text)+4 {
		return "CPU " + text
	}
	return bar.String() + " " + text
}

var sparks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the newest n figures from 0 to their highest; a gap is a blank.
func sparkline(list []float64, n int) string {
	if len(list) > n {
		list = list[len(list)-n:]
	}
	most := values(list).most()
	var out strings.Builder
	for _, v := range list {
		switch {
		case math.IsNaN(v):
			out.WriteByte(' ')
		case most == 0:
			out.WriteRune(sparks[0])
		default:
			out.WriteRune(sparks[min(len(sparks)-1, int(v/most*float64(len(sparks))))])
		}
	}
	return out.String()
}
