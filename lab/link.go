package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"loomlab/clock"
)

// link carries requests, their answers and events between the orchestrator and
// its probe on another machine, as lines of JSON over any pair of pipes. Either
// end may ask and tell.
type link struct {
	out     io.Writer
	writing sync.Mutex

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan message
	broken  error // why there is nobody to ask any more

	heard atomic.Int64 // when the other end was last heard, on this machine's clock
}

// message is one line. A request has an id and an op, its answer the same id and
// no op, an event an op and no id.
type message struct {
	ID    int64           `json:"id,omitempty"`
	Op    string          `json:"op,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
	Error string          `json:"error,omitempty"` // why a request failed
}

// answerer does what a request asks, or takes note of an event.
type answerer func(op string, body json.RawMessage) (any, error)

func newLink(out io.Writer) *link {
	l := &link{out: out, waiting: map[int64]chan message{}}
	l.hear()
	return l
}

func (l *link) hear() { l.heard.Store(int64(clock.Now())) }

// silence is how long the other end has said nothing.
func (l *link) silence() time.Duration { return clock.Now().Sub(clock.Time(l.heard.Load())) }

// read takes lines until in ends. Requests are answered side by side, events in
// their order. Lines that are no JSON come from a shell that greets, and do not matter.
func (l *link) read(in io.Reader, serve answerer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			l.take(line, serve)
		}
		if err != nil {
			return err
		}
	}
}

// take handles one line.
func (l *link) take(line []byte, serve answerer) {
	var m message
	if json.Unmarshal(line, &m) != nil || m.ID == 0 && m.Op == "" {
		return
	}
	l.hear()
	switch {
	case m.Op == "":
		l.mu.Lock()
		answer := l.waiting[m.ID]
		delete(l.waiting, m.ID)
		l.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	case m.ID == 0:
		_, _ = serve(m.Op, m.Body) // nobody waits for the outcome of an event
	default:
		go l.answer(m, serve)
	}
}

func (l *link) answer(m message, serve answerer) {
	result, err := serve(m.Op, m.Body)
	answer := message{ID: m.ID}
	if err == nil {
		answer.Body, err = json.Marshal(result)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	_ = l.write(answer) // the reader finds out that the other end is gone
}

// write sends one line.
func (l *link) write(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return err
}

// tell sends an event.
func (l *link) tell(op string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return l.write(message{Op: op, Body: data})
}

// ask sends a request and decodes its answer into result, which may be nil.
func (l *link) ask(ctx context.Context, op string, body, result any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	l.mu.Lock()
	if l.broken != nil {
		defer l.mu.Unlock()
		return l.broken
	}
	l.last++
	m := message{ID: l.last, Op: op, Body: data}
	l.waiting[m.ID] = answer
	l.mu.Unlock()
	if err := l.write(m); err != nil {
		return fmt.Errorf("cannot ask for %s: %w", op, err)
	}
	select {
	case got, ok := <-answer:
		switch {
		case !ok:
			return l.why()
		case got.Error != "":
			return errors.New(got.Error)
		case result == nil:
			return nil
		}
		return json.Unmarshal(got.Body, result)
	case <-ctx.Done():
		l.mu.Lock()
		delete(l.waiting, m.ID) // an answer that comes after all has nobody to go to
		l.mu.Unlock()
		return context.Cause(ctx)
	}
}

// breakOff fails all who wait, and those who ask later.
func (l *link) breakOff(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return
	}
	l.broken = why
	for id, answer := range l.waiting {
		delete(l.waiting, id)
		close(answer)
	}
}

func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}
