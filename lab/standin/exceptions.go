package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"syscall"
)

// Exceptions counts failures as /lab/exceptions reports them: a JSON object
// from "Kind <- root cause: message" to how often it happened. The kind is what
// the application saw, the root cause is what the system said; messages carry
// no addresses, so that the same failure is one line.
type Exceptions struct {
	mu     sync.Mutex
	counts map[string]int64
}

// maxExceptionKinds bounds the memory that distinct messages can take.
const maxExceptionKinds = 200

// Record counts err as an exception of the kind.
func (e *Exceptions) Record(kind string, err error) {
	key := kind + " <- " + describe(root(err))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts == nil {
		e.counts = map[string]int64{}
	}
	if _, known := e.counts[key]; !known && len(e.counts) >= maxExceptionKinds {
		key = "other <- other: more than the kinds listed"
	}
	e.counts[key]++
}

// Counts is a copy of the counts so far.
func (e *Exceptions) Counts() map[string]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.counts)
}

// JSON is the body of /lab/exceptions, its keys in order.
func (e *Exceptions) JSON() []byte {
	counts := e.Counts()
	if counts == nil {
		counts = map[string]int64{}
	}
	b, err := json.Marshal(counts)
	if err != nil {
		return []byte("{}") // strings and integers always marshal
	}
	return b
}

// root is the innermost error of a chain.
func root(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

func describe(err error) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	if _, ok := err.(syscall.Errno); ok {
		kind = "syscall.Errno"
	}
	return kind + ": " + err.Error()
}
