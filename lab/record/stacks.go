package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Stacks is a tree of call stacks that begin alike, from the outermost caller on, with
// the weight (samples, bytes) that each branch was seen with. Its file has a line for
// each stack, "outermost;…;innermost weight": the collapsed stacks of Brendan Gregg's
// flamegraph.pl, which speedscope and others read too.
type Stacks struct {
	Name     string
	Weight   int64     // of all stacks that come through here
	Children []*Stacks // by name, so that two graphs can be compared by eye
}

// Add counts a stack, innermost frame first.
func (s *Stacks) Add(stack []string, weight int64) {
	s.Weight += weight
	for _, name := range slices.Backward(stack) {
		s = s.child(frameName(name))
		s.Weight += weight
	}
}

// frameName is a frame without what separates frames and lines.
func frameName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case r < ' ':
			return '\uFFFD'
		}
		return r
	}, name)
}

func (s *Stacks) child(name string) *Stacks {
	at, known := slices.BinarySearchFunc(s.Children, name, func(c *Stacks, name string) int { return cmp.Compare(c.Name, name) })
	if !known {
		s.Children = slices.Insert(s.Children, at, &Stacks{Name: name})
	}
	return s.Children[at]
}

// Write writes the stacks below s, which itself is no frame.
func (s *Stacks) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	var path []string
	var write func(*Stacks)
	write = func(s *Stacks) {
		own := s.Weight
		for _, child := range s.Children {
			own -= child.Weight
			path = append(path, child.Name)
			write(child)
			path = path[:len(path)-1]
		}
		if own > 0 && len(path) > 0 {
			fmt.Fprintf(out, "%s %d\n", strings.Join(path, ";"), own)
		}
	}
	write(s)
	return out.Flush()
}

// stackLine bounds a line of a file of stacks, in bytes.
const stackLine = 1 << 20

// ReadStacks reads what [Stacks.Write] wrote. The root is called "all".
func ReadStacks(r io.Reader) (*Stacks, error) {
	root := &Stacks{Name: "all"}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, stackLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		weight, err := strconv.ParseInt(line[at+1:], 10, 64)
		if at < 1 || err != nil || weight < 1 {
			return nil, fmt.Errorf("line %d is no stack with a weight", n)
		}
		frames := strings.Split(line[:at], ";")
		slices.Reverse(frames)
		root.Add(frames, weight)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if root.Weight == 0 {
		return nil, errors.New("it has no stacks")
	}
	return root, nil
}
