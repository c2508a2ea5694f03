package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// flameCharts are the flame graphs of a page, which share their frames.
type flameCharts struct {
	Frames []string      `json:"frames"`
	Kinds  []int         `json:"kinds"` // whose code a frame is: index into flameKinds
	Graphs []*flameGraph `json:"graphs"`

	index map[string]int
}

// flameGraph is a flame graph of a flight recording as the page draws it: callers
// above, what they call beneath. Frames that only pass on to one other share a box.
type flameGraph struct {
	Label   string  `json:"label"` // CPU or allocation
	Title   string  `json:"title"`
	Samples int64   `json:"samples"` // 0: shares are an estimate
	Boxes   [][]int `json:"boxes"`   // depth, left edge and width in flameUnits, then the frames, outermost first
}

// flameGraphs is how many a page holds at most.
const flameGraphs = 16

// frame is the index of a frame.
func (c *flameCharts) frame(name string) int {
	at, known := c.index[name]
	if !known {
		if c.index == nil {
			c.index = map[string]int{}
		}
		at = len(c.Frames)
		c.index[name] = at
		c.Frames = append(c.Frames, name)
		c.Kinds = append(c.Kinds, flameKind(name))
	}
	return at
}

const (
	flameUnits = 100_000 // the width of the whole graph
	flameBoxes = 600     // of one graph at most: the widest
	flameBytes = 8 << 20 // of a file
)

// flameKinds tell by their packages whose code it is; what is in none is the app's own.
var flameKinds = []struct {
	name     string
	prefixes []string
}{
	{"JDK", []string{"java.", "javax.", "jdk.", "sun.", "com.sun."}},
	{"Spring", []string{"org.springframework."}},
	{"Tomcat", []string{"org.apache."}},
	{"Netty and Reactor", []string{"io.netty.", "reactor."}},
}

const flameOther = "other"

func flameKind(frame string) int {
	frame = strings.TrimPrefix(frame, "new ")
	if _, in, ok := strings.Cut(frame, ", in "); ok { // an allocation, in a method
		frame = in
	}
	for i, kind := range flameKinds {
		if slices.ContainsFunc(kind.prefixes, func(p string) bool { return strings.HasPrefix(frame, p) }) {
			return i
		}
	}
	return len(flameKinds)
}

// flameFrame is a box of a graph: names of frames, left edge and width by weight.
type flameFrame struct {
	names    []string
	x, w     float64
	children []*flameFrame
}

// readFlame reads the stacks that a recording left in the run directory; an error
// where there are none, or none that can be read.
func readFlame(saved *record.Saved, name string) (*flameFrame, error) {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return nil, fmt.Errorf("%q is no file of the run directory", name)
	}
	file, err := os.Open(filepath.Join(saved.Path, name))
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	stacks, err := record.ReadStacks(io.LimitReader(file, flameBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return newFlameFrame(stacks, 0), nil
}

// newFlameFrame lays stacks out from x on, a child as wide as its weight.
func newFlameFrame(s *record.Stacks, x float64) *flameFrame {
	f := &flameFrame{names: []string{escape(s.Name)}, x: x, w: float64(s.Weight)}
	for _, child := range s.Children {
		f.children = append(f.children, newFlameFrame(child, x))
		x += float64(child.Weight)
	}
	return f
}

// fold joins a frame with the only one it calls, as long as that takes all of it.
func (f *flameFrame) fold() {
	for len(f.children) == 1 && f.children[0].w >= 0.999*f.w {
		f.names = append(f.names, f.children[0].names...)
		f.children = f.children[0].children
	}
	for _, child := range f.children {
		child.fold()
	}
}

// add folds and thins a graph to what a page shows.
func (c *flameCharts) add(label, title string, samples int64, root *flameFrame) {
	for _, child := range root.children { // the root, "all", stays
		child.fold()
	}
	var widths []float64
	var each func(f *flameFrame, depth int, visit func(*flameFrame, int) bool)
	each = func(f *flameFrame, depth int, visit func(*flameFrame, int) bool) {
		if visit(f, depth) {
			for _, child := range f.children {
				each(child, depth+1, visit)
			}
		}
	}
	each(root, 0, func(f *flameFrame, _ int) bool { widths = append(widths, f.w); return true })
	slices.Sort(widths)
	least := widths[max(0, len(widths)-flameBoxes)]
	g := &flameGraph{Label: label, Title: title, Samples: samples, Boxes: [][]int{}}
	each(root, 0, func(f *flameFrame, depth int) bool {
		if f.w < least || len(g.Boxes) == flameBoxes {
			return false
		}
		units := func(v float64) int { return int(v/root.w*flameUnits + 0.5) }
		box := []int{depth, units(f.x - root.x), units(f.w)}
		for _, name := range f.names {
			box = append(box, c.frame(name))
		}
		g.Boxes = append(g.Boxes, box)
		return true
	})
	c.Graphs = append(c.Graphs, g)
}
