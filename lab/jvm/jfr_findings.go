package jvm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"loomlab/lab/record"
)

// Bounds of what a recording leaves in the record.
const (
	hotMethods   = 15
	pinnedStacks = 5
	pinnedFrames = 12
	socketPeers  = 8
)

// findings gathers what a recording shows of one window.
type findings struct {
	from, to  time.Time // of the window
	cpu       *record.Stacks
	allocated *record.Stacks
	hot       map[string]int64 // method → samples
	places    map[string]int64 // "class, in method" → bytes
	samples   int64
	bytes     int64
	pinned    record.PinnedThreads
	stacks    map[string]*record.PinnedStack
	gc        record.RecordedPauses
	peers     map[string]*record.SocketWait
	threads   *record.RecordedThreads
	truncated int64
}

func newFindings(from, to time.Time) *findings {
	return &findings{from: from, to: to, cpu: &record.Stacks{Name: "all"}, allocated: &record.Stacks{Name: "all"}, hot: map[string]int64{}, places: map[string]int64{},
		stacks: map[string]*record.PinnedStack{}, peers: map[string]*record.SocketWait{}}
}

// add takes one event, if it began inside the window.
func (f *findings) add(e jfrEvent) {
	if at := e.Values.started(); at.Before(f.from) || at.After(f.to) {
		return
	}
	v := e.Values
	if v.StackTrace != nil && v.StackTrace.Truncated {
		f.truncated++
	}
	switch e.Type {
	case "jdk.ExecutionSample":
		f.samples++
		if names := v.frames(); len(names) > 0 {
			f.hot[names[0]]++
			f.cpu.Add(names, 1)
		}
	case "jdk.ObjectAllocationSample":
		f.allocation(v)
	case "jdk.VirtualThreadPinned":
		f.pin(v)
	case "jdk.GCPhasePause":
		f.gc.Count++
		f.gc.TotalMS += v.ms()
		f.gc.LongestMS = max(f.gc.LongestMS, v.ms())
	case "jdk.SocketRead", "jdk.SocketWrite":
		f.socket(v)
	case "jdk.JavaThreadStatistics":
		if f.threads == nil {
			f.threads = &record.RecordedThreads{}
		}
		f.threads.Active, f.threads.Peak = max(f.threads.Active, v.ActiveCount), max(f.threads.Peak, v.PeakCount)
	}
}

// frames are the names of the stack's methods, innermost first.
func (v jfrValues) frames() []string {
	if v.StackTrace == nil {
		return nil
	}
	names := make([]string, len(v.StackTrace.Frames))
	for i, frame := range v.StackTrace.Frames {
		names[i] = frame.String()
	}
	return names
}

func (f *findings) allocation(v jfrValues) {
	weight := max(1, v.Weight)
	f.bytes += weight
	class := "unknown class"
	if v.ObjectClass != nil {
		class = v.ObjectClass.name()
	}
	names := v.frames()
	place := class
	if len(names) > 0 {
		place += ", in " + names[0]
	}
	f.places[place] += weight
	f.allocated.Add(append([]string{"new " + class}, names...), weight)
}

// pin groups pinned threads by where they were. The machinery of virtual threads
// at the top of every such stack says nothing and is left out.
func (f *findings) pin(v jfrValues) {
	ms := v.ms()
	f.pinned.Count++
	f.pinned.TotalMS += ms
	f.pinned.LongestMS = max(f.pinned.LongestMS, ms)
	var frames []string
	if v.StackTrace != nil {
		for _, frame := range v.StackTrace.Frames {
			name := frame.String()
			if len(frames) == 0 && parking(name) {
				continue
			}
			if frame.Line > 0 {
				name += fmt.Sprintf(":%d", frame.Line)
			}
			if frames = append(frames, name); len(frames) == pinnedFrames {
				break
			}
		}
	}
	key := strings.Join(frames, "\n")
	s := f.stacks[key]
	if s == nil {
		s = &record.PinnedStack{Frames: frames, Reason: v.PinnedReason}
		f.stacks[key] = s
	}
	s.Count++
	s.TotalMS += ms
}

func parking(method string) bool {
	for _, prefix := range []string{"java.lang.VirtualThread.", "java.lang.System$", "jdk.internal.vm.Continuation", "jdk.internal.misc.Unsafe.park", "jdk.internal.misc.VirtualThreads."} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

func (f *findings) socket(v jfrValues) {
	host := v.Host
	if host == "" {
		host = v.Address
	}
	peer := fmt.Sprintf("%s:%d", host, v.Port)
	w := f.peers[peer]
	if w == nil {
		if len(f.peers) >= 10*socketPeers { // the clients of a server are as many as its connections
			peer = "other peers"
			if w = f.peers[peer]; w == nil {
				w = &record.SocketWait{Peer: peer}
				f.peers[peer] = w
			}
		} else {
			w = &record.SocketWait{Peer: peer}
			f.peers[peer] = w
		}
	}
	w.Count++
	w.TotalMS += v.ms()
	w.LongestMS = max(w.LongestMS, v.ms())
}

// into writes what was found into the recording.
func (f *findings) into(r *record.Recording) {
	r.Samples = f.samples
	r.CPU, r.Allocation = hottest(f.hot, f.samples), hottest(f.places, f.bytes)
	r.GC, r.Threads = &f.gc, f.threads
	f.pinned.Stacks = []record.PinnedStack{}
	for _, key := range slices.Sorted(maps.Keys(f.stacks)) {
		f.pinned.Stacks = append(f.pinned.Stacks, *f.stacks[key])
	}
	slices.SortStableFunc(f.pinned.Stacks, func(a, b record.PinnedStack) int { return cmp.Compare(b.TotalMS, a.TotalMS) })
	f.pinned.Stacks = f.pinned.Stacks[:min(len(f.pinned.Stacks), pinnedStacks)]
	r.Pinned = &f.pinned
	r.Sockets = []record.SocketWait{}
	for _, key := range slices.Sorted(maps.Keys(f.peers)) {
		r.Sockets = append(r.Sockets, *f.peers[key])
	}
	slices.SortStableFunc(r.Sockets, func(a, b record.SocketWait) int { return cmp.Compare(b.TotalMS, a.TotalMS) })
	r.Sockets = r.Sockets[:min(len(r.Sockets), socketPeers)]
	if f.truncated > 0 {
		r.Unsure = append(r.Unsure, fmt.Sprintf("%d stacks are cut at 64 frames, so their outermost callers are missing", f.truncated))
	}
}

func hottest(weights map[string]int64, total int64) []record.HotMethod {
	list := []record.HotMethod{}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		list = append(list, record.HotMethod{Method: name, Weight: weights[name], Share: float64(weights[name]) / float64(max(1, total))})
	}
	slices.SortStableFunc(list, func(a, b record.HotMethod) int { return cmp.Compare(b.Weight, a.Weight) })
	return list[:min(len(list), hotMethods)]
}
