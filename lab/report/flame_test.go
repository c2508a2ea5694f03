package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loomlab/lab/record"
)

// flameStacks are stacks as a recording leaves them.
const flameStacks = `java.lang.Thread.run;org.apache.tomcat.Poller.run;app.Left.<init> 3
java.lang.Thread.run;org.apache.tomcat.Poller.run;app.Right: of.colons 5
reactor.Loop.run 2
`

func TestFlameGraph(t *testing.T) {
	stacks, err := record.ReadStacks(strings.NewReader(flameStacks))
	if err != nil {
		t.Fatal(err)
	}
	root := newFlameFrame(stacks, 0)
	var c flameCharts
	c.add("CPU", "title", 10, root)
	var got []string
	for _, box := range c.Graphs[0].Boxes {
		var frames []string
		for _, f := range box[3:] {
			frames = append(frames, c.Frames[f])
		}
		got = append(got, strings.Join([]string{strings.Repeat(">", box[0]), plain(float64(box[1])), plain(float64(box[2])), strings.Join(frames, " → ")}, " "))
	}
	want := []string{
		" 0 100000 all",
		"> 0 80000 java.lang.Thread.run → org.apache.tomcat.Poller.run", // one only passes on to the other
		">> 0 30000 app.Left.<init>",
		">> 30000 50000 app.Right: of.colons",
		"> 80000 20000 reactor.Loop.run",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for frame, kind := range map[string]string{"new java.util.ArrayList": "JDK", "byte[], in io.netty.Buf.get": "Netty and Reactor", "org.springframework.X.y": "Spring", "app.Main.main": flameOther} {
		got := flameOther
		if k := flameKind(frame); k < len(flameKinds) {
			got = flameKinds[k].name
		}
		if got != kind {
			t.Errorf("%s is of %s, want %s", frame, got, kind)
		}
	}
}

// The widest boxes are kept; a box that is left out takes what it calls with it.
func TestFlameGraphIsThinned(t *testing.T) {
	root := &flameFrame{names: []string{"all"}, w: 10_000}
	for i := range 2 * flameBoxes {
		root.children = append(root.children, &flameFrame{names: []string{"f"}, x: float64(i), w: 1 + float64(i%7), children: []*flameFrame{{names: []string{"g"}, x: float64(i), w: 0.5}}})
	}
	var c flameCharts
	c.add("CPU", "title", 0, root)
	if n := len(c.Graphs[0].Boxes); n < flameBoxes/4 || n > flameBoxes {
		t.Errorf("%d boxes", n)
	}
	for _, box := range c.Graphs[0].Boxes {
		if c.Frames[box[3]] == "g" {
			t.Fatal("kept a narrow box")
		}
	}
}

func TestFlameGraphThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	saved := &record.Saved{Path: dir}
	for name, body := range map[string]string{
		"torn.folded": flameStacks[:len(flameStacks)-3], "empty.folded": "", "graph.svg": `<svg><g><title>a</title></g></svg>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		if root, err := readFlame(saved, name); err == nil {
			t.Errorf("%s: read %+v", name, root)
		}
	}
	for _, name := range []string{"missing.folded", "../x.folded", "/etc/passwd", "sub/x.folded"} {
		if _, err := readFlame(saved, name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}
