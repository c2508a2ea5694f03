package jvm

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Geometry of a flame graph, in the SVG's units.
const (
	flameWidth  = 1200.0
	flameRow    = 17.0
	flameHead   = 34.0
	flameLetter = 6.6  // width of a character of 11 px
	flameLeast  = 0.25 // narrower boxes are left out: nobody can see or point at them
)

// flameBox is a node with its place.
type flameBox struct {
	node  *record.Stacks
	x, w  float64
	depth int
}

// flameBoxes lays the tree out: a child as wide as its share.
func flameBoxes(root *record.Stacks) (boxes []flameBox, depth int) {
	if root.Weight == 0 {
		return nil, 0
	}
	perWeight := flameWidth / float64(root.Weight)
	var lay func(n *record.Stacks, x float64, at int)
	lay = func(n *record.Stacks, x float64, at int) {
		w := float64(n.Weight) * perWeight
		if w < flameLeast {
			return
		}
		boxes = append(boxes, flameBox{n, x, w, at})
		depth = max(depth, at+1)
		for _, child := range n.Children {
			lay(child, x, at+1)
			x += float64(child.Weight) * perWeight
		}
	}
	lay(root, 0, 0)
	return boxes, depth
}

// drawFlames draws the graph: callers below, what they call above, each box as wide
// as its share. Pointing at a box shows its name and share; it needs no script, so
// that it can stand in any page. unit writes a weight in words.
func drawFlames(w io.Writer, root *record.Stacks, title string, unit func(int64) string) error {
	boxes, depth := flameBoxes(root)
	out := bufio.NewWriter(w)
	height := flameHead + float64(depth)*flameRow + 4
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="100%%" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">`+"\n", flameWidth, height)
	fmt.Fprintf(out, "<title>%s</title>\n", escapeSVG(title))
	fmt.Fprintf(out, `<style>g rect{stroke:#fff;stroke-width:.5}g:hover rect{stroke:#000;stroke-width:1}text{fill:#1c1917;pointer-events:none}</style>`+"\n")
	fmt.Fprintf(out, `<rect width="%.0f" height="%.0f" fill="#fffdf8"/>`+"\n", flameWidth, height)
	fmt.Fprintf(out, `<text x="4" y="20" font-size="14">%s</text>`+"\n", escapeSVG(title))
	for _, b := range boxes {
		y := height - 4 - float64(b.depth+1)*flameRow
		share := 100 * float64(b.node.Weight) / float64(root.Weight)
		fmt.Fprintf(out, `<g><title>%s: %s, %.1f %%</title><rect x="%.2f" y="%.1f" width="%.2f" height="%.0f" rx="1" fill="%s"/>`,
			escapeSVG(b.node.Name), escapeSVG(unit(b.node.Weight)), share, b.x, y, b.w, flameRow-1, flameColor(b.node.Name))
		if text := fitting(shortMethod(b.node.Name), int((b.w-6)/flameLetter)); text != "" {
			fmt.Fprintf(out, `<text x="%.2f" y="%.1f">%s</text>`, b.x+3, y+12, escapeSVG(text))
		}
		fmt.Fprint(out, "</g>\n")
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// escapeSVG makes a name harmless in XML, which cannot hold control characters at all.
func escapeSVG(s string) string {
	return html.EscapeString(phrase.Printable(strings.ToValidUTF8(s, "\uFFFD")))
}

// shortMethod leaves the package out, which the box's title has.
func shortMethod(name string) string {
	rest, prefix := name, ""
	if class, ok := strings.CutPrefix(name, "new "); ok {
		rest, prefix = class, "new "
	}
	method := strings.LastIndexByte(rest, '.')
	if prefix != "" {
		return prefix + rest[method+1:]
	}
	if method < 0 {
		return rest
	}
	return rest[strings.LastIndexByte(rest[:method], '.')+1:]
}

// fitting cuts s to n characters, "" where not even a few fit.
func fitting(s string, n int) string {
	letters := []rune(s)
	switch {
	case n < 3:
		return ""
	case len(letters) <= n:
		return s
	}
	return string(letters[:n-1]) + "…"
}

// flameColor gives packages of one origin one hue: the JDK blue-green, Spring and
// the like by a hash, warm, so that a library shows as a patch.
func flameColor(name string) string {
	name = strings.TrimPrefix(name, "new ")
	pkg := name
	if parts := strings.SplitN(name, ".", 3); len(parts) == 3 {
		pkg = parts[0] + "." + parts[1]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(pkg)) // a hash never fails
	shade := h.Sum32()
	if strings.HasPrefix(name, "java.") || strings.HasPrefix(name, "jdk.") || strings.HasPrefix(name, "sun.") {
		return fmt.Sprintf("hsl(%d 45%% %d%%)", 165+shade%40, 72+shade/40%10)
	}
	return fmt.Sprintf("hsl(%d 75%% %d%%)", 8+shade%48, 68+shade/48%10)
}
