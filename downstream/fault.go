package downstream

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Fault is one way to hurt a client, and when.
type Fault struct {
	kind   faultKind
	status int           // of faultStatus
	pace   time.Duration // of faultTrickle, per byte
	delay  time.Duration // in place of the nominal one; negative: the nominal one
	p      float64
	// from and until bound the time since the server's start; until 0 is without
	// end. once: the first request from then on, no other.
	from, until time.Duration
	once        bool
	text        string
}

type faultKind uint8

const (
	faultStatus faultKind = iota
	faultResetBefore
	faultResetDuring
	faultResetAfter
	faultTruncate
	faultNever
	faultTrickle
	faultMalformed
)

var faultKinds = map[string]faultKind{
	"status": faultStatus, "reset-before": faultResetBefore, "reset-during": faultResetDuring, "reset-after": faultResetAfter,
	"truncate": faultTruncate, "never": faultNever, "trickle": faultTrickle, "malformed": faultMalformed,
}

// FaultGrammar explains [ParseFault] to users.
const FaultGrammar = `KIND[:DELAY][@WHEN]. KIND: status=503, reset-before, reset-during, reset-after (RST instead of, inside or after the answer), ` +
	`truncate (half the body, then FIN), never (no answer), trickle[=10ms] (a byte each), malformed. ` +
	`DELAY replaces the delay. WHEN: a probability, t=5s..7s (time since start), t=5s (the first request from then on), or both: 0.1,t=5s..7s; default: always`

// ParseFault reads one fault (see [FaultGrammar]).
func ParseFault(text string) (Fault, error) {
	f := Fault{delay: -1, p: 1, pace: 10 * time.Millisecond}
	what, when, timed := strings.Cut(text, "@")
	what, delay, delayed := strings.Cut(what, ":")
	err := f.parseKind(what)
	if err == nil && delayed {
		f.delay, err = time.ParseDuration(delay)
		if err != nil || f.delay < 0 || f.delay > maxDelay {
			err = fmt.Errorf("%q: write a delay up to %v, such as 20ms", delay, maxDelay)
		}
	}
	if err == nil && timed {
		err = f.parseWhen(when)
	}
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", text, err)
	}
	f.text = what
	return f, nil
}

func (f *Fault) parseKind(what string) (err error) {
	name, arg, hasArg := strings.Cut(what, "=")
	kind, known := faultKinds[name]
	if !known {
		return fmt.Errorf("unknown kind %q; %s", name, FaultGrammar)
	}
	f.kind = kind
	switch {
	case kind == faultStatus:
		f.status, err = strconv.Atoi(arg)
		if err != nil || f.status < 200 || f.status > 599 {
			return fmt.Errorf("write status=200 to status=599")
		}
	case kind == faultTrickle && hasArg:
		f.pace, err = positive(arg)
	case hasArg:
		return fmt.Errorf("%s takes no value", name)
	}
	return err
}

func (f *Fault) parseWhen(when string) (err error) {
	for part := range strings.SplitSeq(when, ",") {
		span, isTime := strings.CutPrefix(part, "t=")
		if !isTime {
			if f.p, err = probability(part); err != nil {
				return err
			}
			continue
		}
		from, until, isSpan := strings.Cut(span, "..")
		if f.from, err = time.ParseDuration(from); err != nil || f.from < 0 {
			return fmt.Errorf("%q: write t=5s or t=5s..7s", part)
		}
		f.once = !isSpan
		if isSpan {
			if f.until, err = time.ParseDuration(until); err != nil || f.until <= f.from {
				return fmt.Errorf("%q: write t=5s..7s, the later time last", part)
			}
		}
	}
	return nil
}

// String is the fault's kind as the user wrote it, such as "status=503": its
// name in [Stats.Faults].
func (f Fault) String() string { return f.text }

// dice decides for one loop which request meets which fault.
type dice struct {
	faults []Fault
	done   []atomic.Bool // by fault, of all loops: "once" has been
	rnd    *rand.Rand
}

// draw returns the index of the fault that this request meets, or -1. The first
// one that applies wins. since is the time since the server's start.
func (d *dice) draw(since time.Duration) int {
	for i := range d.faults {
		f := &d.faults[i]
		if since < f.from || f.until > 0 && since >= f.until {
			continue
		}
		if f.p < 1 && d.rnd.Float64() >= f.p {
			continue
		}
		if f.once && d.done[i].Swap(true) {
			continue
		}
		return i
	}
	return -1
}
