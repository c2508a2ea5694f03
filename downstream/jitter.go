package downstream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Jitter is how delays vary. The zero value does not vary them.
type Jitter struct {
	uniform   time.Duration // ± up to this
	normal    time.Duration // standard deviation
	mu, sigma float64       // of ln(seconds); sigma 0: no lognormal
	spike     time.Duration
	spikeP    float64
	stall     time.Duration // nothing is answered for so long ...
	every     time.Duration // ... once in so long
	text      string
}

// JitterGrammar explains [ParseJitter] to users.
const JitterGrammar = `shapes, joined by "+": uniform:20ms (delay ± up to 20ms), normal:10ms (standard deviation), ` +
	`lognormal:p50=80ms,p99=400ms (in place of the delay), spike:200ms@0.01 (so much more with that probability), ` +
	`stall:1s/10s (every 10s nothing is answered for 1s)`

// ParseJitter reads shapes joined by "+" (see [JitterGrammar]); "" is none.
func ParseJitter(text string) (Jitter, error) {
	j := Jitter{text: text}
	if text == "" {
		return j, nil
	}
	for part := range strings.SplitSeq(text, "+") {
		if err := j.parseShape(part); err != nil {
			return Jitter{}, fmt.Errorf("jitter %q: %w", part, err)
		}
	}
	return j, nil
}

func (j *Jitter) parseShape(part string) (err error) {
	shape, arg, _ := strings.Cut(strings.TrimSpace(part), ":")
	switch shape {
	case "uniform":
		j.uniform, err = positive(arg)
	case "normal":
		j.normal, err = positive(arg)
	case "lognormal":
		err = j.parseLognormal(arg)
	case "spike":
		d, p, found := strings.Cut(arg, "@")
		if !found {
			return fmt.Errorf("write spike:DURATION@PROBABILITY")
		}
		if j.spike, err = positive(d); err == nil {
			j.spikeP, err = probability(p)
		}
	case "stall":
		d, every, found := strings.Cut(arg, "/")
		if !found {
			return fmt.Errorf("write stall:DURATION/EVERY")
		}
		if j.stall, err = positive(d); err == nil {
			j.every, err = positive(every)
		}
		if err == nil && j.stall >= j.every {
			return fmt.Errorf("a stall of %v every %v never ends", j.stall, j.every)
		}
	default:
		return fmt.Errorf("unknown shape %q; %s", shape, JitterGrammar)
	}
	return err
}

// z99 is the 99 % quantile of the standard normal distribution.
const z99 = 2.3263478740408408

func (j *Jitter) parseLognormal(arg string) error {
	var p50, p99 time.Duration
	for part := range strings.SplitSeq(arg, ",") {
		name, value, _ := strings.Cut(part, "=")
		d, err := positive(value)
		switch {
		case err != nil:
			return err
		case name == "p50":
			p50 = d
		case name == "p99":
			p99 = d
		default:
			return fmt.Errorf("%q: write lognormal:p50=DURATION,p99=DURATION", name)
		}
	}
	if p50 == 0 || p99 <= p50 {
		return fmt.Errorf("needs p50 and a p99 above it")
	}
	j.mu = math.Log(p50.Seconds())
	j.sigma = (math.Log(p99.Seconds()) - j.mu) / z99
	return nil
}

// String is the text that the jitter was parsed from.
func (j Jitter) String() string { return j.text }

// varies says whether two delays can differ.
func (j *Jitter) varies() bool { return j.uniform > 0 || j.normal > 0 || j.sigma > 0 || j.spike > 0 }

// delay draws a delay around the nominal one.
func (j *Jitter) delay(nominal time.Duration, rnd *rand.Rand) time.Duration {
	if !j.varies() {
		return nominal
	}
	d := float64(nominal)
	if j.sigma > 0 {
		d = math.Exp(j.mu+j.sigma*rnd.NormFloat64()) * 1e9
	}
	if j.uniform > 0 {
		d += (2*rnd.Float64() - 1) * float64(j.uniform)
	}
	if j.normal > 0 {
		d += rnd.NormFloat64() * float64(j.normal)
	}
	if j.spike > 0 && rnd.Float64() < j.spikeP {
		d += float64(j.spike)
	}
	return time.Duration(min(max(d, 0), float64(maxDelay)))
}

// hold moves what would be answered during a stall to its end. Both times count
// from the start of the server; the first stall begins after one period.
func (j *Jitter) hold(due time.Duration) time.Duration {
	if j.stall == 0 || due < j.every {
		return due
	}
	if into := due % j.every; into < j.stall {
		return due - into + j.stall
	}
	return due
}

func positive(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxDelay {
		return 0, fmt.Errorf("%q: write a duration up to %v, such as 20ms", text, maxDelay)
	}
	return d, nil
}

func probability(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("%q: write a probability from 0 to 1", text)
	}
	return p, nil
}
