package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// SVG writes the ladder of a run as a picture for a README or a slide: throughput
// against connections with the ceilings drawn. It has no script and no font of its
// own, and follows the reader's light or dark scheme where the viewer tells it.
func SVG(w io.Writer, saved *record.Saved) error {
	t := Build(saved)
	_, err := io.WriteString(w, newLadderSVG(saved, t, newLadder(saved, t)).String())
	return err
}

// Sizes of the picture, in its own units.
const (
	svgWidth, svgHeight = 960.0, 560.0
	plotLeft, plotRight = 78.0, 742.0
	plotTop, plotBottom = 118.0, 466.0
	svgLabelGap         = 19.0 // between two names at the right
	// Characters that fit, where no font can be asked: of the title, of a line of the
	// headline, of a name at the right, of the last line.
	svgTitleLength, svgLineLength, svgNameLength, svgFootLength = 74, 104, 22, 130
)

// ladderSVG is the picture in the making.
type ladderSVG struct {
	strings.Builder
	chart       ladderChart
	bottom, top float64 // of the scale of throughput
	steps       []float64
}

func newLadderSVG(saved *record.Saved, t *Table, chart ladderChart) *ladderSVG {
	s := &ladderSVG{chart: chart}
	s.scale()
	f := newFinding(saved, t)
	s.head(t.Title, f.Headline)
	s.frame()
	if len(chart.X) == 0 {
		s.text(plotLeft+12, plotTop+30, "start", "soft", "No closed-loop rung was measured.")
	} else {
		s.ceilings()
		s.published()
		s.measured()
		s.names()
	}
	s.foot(saved)
	s.WriteString("</svg>\n")
	return s
}

// scale lays the axis of throughput out.
func (s *ladderSVG) scale() {
	if !s.chart.Log {
		s.steps = scaleSteps(s.chart.Most)
		s.top = max(s.steps[len(s.steps)-1], 1.04*s.chart.Most)
		return
	}
	lowest := s.chart.Most
	for _, series := range s.chart.Series {
		for _, v := range slices.Concat(series.Low, series.Published) {
			if v > 0 {
				lowest = min(lowest, v)
			}
		}
	}
	s.bottom, s.top = lowest/1.4, 1.4*s.chart.Most
	for unit := math.Pow(10, math.Floor(math.Log10(s.bottom))); unit <= s.top; unit *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			if v := factor * unit; v >= s.bottom && v <= s.top {
				s.steps = append(s.steps, v)
			}
		}
	}
}

// scaleSteps are the marks of an axis from 0: 1, 2 or 5 times a power of ten apart.
func scaleSteps(most float64) []float64 {
	if most <= 0 {
		most = 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(most/5)))
	step := unit
	for _, factor := range []float64{2, 5, 10} {
		if most/step > 6 {
			step = factor * unit
		}
	}
	steps := []float64{}
	for v := 0.0; v <= most*1.0001; v += step {
		steps = append(steps, v)
	}
	return steps
}

const svgStyle = `<style>
.ls{font:13.5px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
.ls .paper{fill:#fff;stroke:#dcdcd5}.ls .ink{fill:#1a1f26}.ls .soft{fill:#545d69}.ls .title{font-size:21px;font-weight:650}.ls .say{font-size:14.5px}
.ls .small{font-size:12px}.ls .grid{stroke:#e6e6e0}.ls .axis{stroke:#b9b9b1}.ls .limit{fill:none;stroke:#545d69;stroke-dasharray:3 4;stroke-width:1.3}
.ls .it{font-style:italic;font-size:12.5px}.ls .line{fill:none;stroke-width:2.4;stroke-linejoin:round}.ls .whisker{stroke-width:1.5;fill:none}
.ls .lead{stroke-width:1;fill:none;opacity:.5}.ls .hollow{fill:#fff;stroke-width:1.5}.ls .name{font-weight:650}
.ls .c0{stroke:#0b62a8}.ls .c1{stroke:#c2480a}.ls .c2{stroke:#00775a}.ls .c3{stroke:#8a3a96}.ls .c4{stroke:#6d6000}.ls .c5{stroke:#454b55}.ls .c6{stroke:#b1124f}.ls .c7{stroke:#007a96}
.ls .f0{fill:#0b62a8}.ls .f1{fill:#c2480a}.ls .f2{fill:#00775a}.ls .f3{fill:#8a3a96}.ls .f4{fill:#6d6000}.ls .f5{fill:#454b55}.ls .f6{fill:#b1124f}.ls .f7{fill:#007a96}
@media (prefers-color-scheme:dark){
.ls .paper{fill:#161b22;stroke:#303842}.ls .ink{fill:#e4e8ed}.ls .soft{fill:#a3adb9}.ls .grid{stroke:#2a323c}.ls .axis{stroke:#56606c}.ls .limit{stroke:#a3adb9}.ls .hollow{fill:#161b22}
.ls .c0{stroke:#67b3f3}.ls .c1{stroke:#ff9a57}.ls .c2{stroke:#46cfa0}.ls .c3{stroke:#d99df0}.ls .c4{stroke:#d9c64d}.ls .c5{stroke:#c2c9d3}.ls .c6{stroke:#ff86ab}.ls .c7{stroke:#57d0e6}
.ls .f0{fill:#67b3f3}.ls .f1{fill:#ff9a57}.ls .f2{fill:#46cfa0}.ls .f3{fill:#d99df0}.ls .f4{fill:#d9c64d}.ls .f5{fill:#c2c9d3}.ls .f6{fill:#ff86ab}.ls .f7{fill:#57d0e6}
}
</style>
`

func (s *ladderSVG) head(title, headline string) {
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" class="ls" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-labelledby="ls-title ls-desc">`+"\n",
		svgWidth, svgHeight, svgWidth, svgHeight)
	fmt.Fprintf(s, "<title id=\"ls-title\">%s</title>\n<desc id=\"ls-desc\">Throughput against connections. %s</desc>\n", html.EscapeString(title), html.EscapeString(headline))
	s.WriteString(svgStyle)
	fmt.Fprintf(s, `<rect class="paper" x="0.5" y="0.5" width="%g" height="%g" rx="8"/>`+"\n", svgWidth-1, svgHeight-1)
	s.text(28, 38, "start", "ink title", shorten(title, svgTitleLength))
	for i, line := range Wrap(headline, svgLineLength, "") {
		if i < 2 {
			s.text(28, 62+20*float64(i), "start", "soft say", line)
		}
	}
}

func (s *ladderSVG) text(x, y float64, anchor, class, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(text))
}

// x places a number of connections.
func (s *ladderSVG) x(connections float64) float64 {
	first, last := float64(s.chart.X[0]), float64(s.chart.X[len(s.chart.X)-1])
	const inset = 34
	if s.chart.Log {
		return plotLeft + inset + math.Log(connections/first)/math.Log(last/first)*(plotRight-plotLeft-2*inset)
	}
	return plotLeft + connections/last*(plotRight-plotLeft-inset)
}

// y places a throughput.
func (s *ladderSVG) y(perS float64) float64 {
	share := perS / s.top
	if s.chart.Log {
		share = math.Log(max(perS, s.bottom)/s.bottom) / math.Log(s.top/s.bottom)
	}
	return plotBottom - share*(plotBottom-plotTop)
}

func (s *ladderSVG) frame() {
	s.text(28, plotTop-14, "start", "soft small", "requests/s")
	for _, v := range s.steps {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		fmt.Fprintf(s, `<path class="%s" d="M%g %.1fH%g"/>`+"\n", class, plotLeft, s.y(v), plotRight)
		s.text(plotLeft-10, s.y(v)+4.5, "end", "soft", grouped(v))
	}
	last := math.Inf(-1)
	for _, rung := range s.chart.X {
		if x := s.x(float64(rung)); x-last > 44 {
			fmt.Fprintf(s, `<path class="axis" d="M%.1f %gv5"/>`+"\n", x, plotBottom)
			s.text(x, plotBottom+21, "middle", "soft", grouped(float64(rung)))
			last = x
		}
	}
	s.text((plotLeft+plotRight)/2, plotBottom+42, "middle", "soft small", "connections")
}

// ceilings are drawn between the rungs too: on a logarithmic axis they bend.
func (s *ladderSVG) ceilings() {
	for _, c := range s.chart.Ceilings {
		class, name := "limit", "soft it"
		if c.Color >= 0 {
			class, name = fmt.Sprintf("limit c%d", c.Color%chartStyles), fmt.Sprintf("it f%d", c.Color%chartStyles)
		}
		points := s.ceilingPoints(c)
		if len(points) == 0 {
			continue
		}
		fmt.Fprintf(s, `<path class="%s" d="M%s"/>`+"\n", class, strings.Join(points, "L"))
		s.ceilingName(c, name)
	}
}

// ceilingPoints end where the line leaves the plot.
func (s *ladderSVG) ceilingPoints(c ladderCeiling) []string {
	var points []string
	if !s.chart.Log && len(c.Y) > 0 && !math.IsNaN(c.Y[0]) && c.rises() {
		points = append(points, fmt.Sprintf("%.1f %.1f", s.x(0), s.y(0))) // it begins at nothing
	}
	lastX, lastY := 0.0, 0.0
	add := func(x, y float64) bool {
		inside := y <= s.top
		if !inside && y > lastY { // up to where it leaves
			x, y = lastX+(x-lastX)*(s.top-lastY)/(y-lastY), s.top
		}
		points = append(points, fmt.Sprintf("%.1f %.1f", s.x(x), s.y(y)))
		lastX, lastY = x, y
		return inside
	}
	const between = 24
	for i := 0; i+1 < len(c.Y); i++ {
		x0, x1, y0, y1 := float64(s.chart.X[i]), float64(s.chart.X[i+1]), c.Y[i], c.Y[i+1]
		if math.IsNaN(y0) || math.IsNaN(y1) {
			continue
		}
		for k := range between + 1 {
			x := x0 * math.Pow(x1/x0, float64(k)/between)
			if !add(x, y0+(y1-y0)*(x-x0)/(x1-x0)) {
				return points
			}
		}
	}
	return points
}

func (s *ladderSVG) ceilingName(c ladderCeiling, class string) {
	last := c.last()
	if last < 0 {
		return
	}
	x := float64(s.chart.X[last])
	if !c.rises() { // it lies flat: named at its right end
		s.text(s.x(x)-10, s.y(c.Y[last])-8, "end", class, c.Label)
		return
	}
	// It rises: named to the left of where it leaves the plot.
	for i := 0; i+1 < len(c.Y); i++ {
		if c.Y[i] <= 0.9*s.top && c.Y[i+1] > 0.9*s.top {
			x0, x1 := float64(s.chart.X[i]), float64(s.chart.X[i+1])
			x = x0 + (x1-x0)*(0.9*s.top-c.Y[i])/(c.Y[i+1]-c.Y[i])
			break
		}
	}
	s.text(s.x(x)-12, max(plotTop+10, s.y(0.9*s.top)), "end", class, c.Label)
}

var svgDashes = []string{"", "8 4", "2 3", "10 3 2 3", "14 4", "4 2 1 2", "1 3", "6 2 2 2 2 2"}

// svgMarks are the shapes of the SUTs, around the point itself.
var svgMarks = []string{
	"m-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0-9.2 0z", "m-4.2-4.2h8.4v8.4h-8.4z", "m0-5.4l5.2 9.2h-10.4z", "m0-5.6l5.6 5.6l-5.6 5.6l-5.6-5.6z",
	"m0 5.4l-5.2-9.2h10.4z", "m-1.8-5h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z", "m0-5.4l5.2 3.7l-2 6.2h-6.4l-2-6.2z", "m-5.2-2.3h10.4v4.6h-10.4z",
}

func (s *ladderSVG) mark(x, y float64, style int, class string) {
	fmt.Fprintf(s, `<path class="%s" d="M%.1f %.1f%s"/>`+"\n", class, x, y, svgMarks[style%chartStyles])
}

// published are hollow marks.
func (s *ladderSVG) published() {
	for _, series := range s.chart.Series {
		for i, y := range series.Published {
			if !math.IsNaN(y) {
				s.mark(s.x(float64(s.chart.X[i])), s.y(y), series.Color, fmt.Sprintf("hollow c%d", series.Color%chartStyles))
			}
		}
	}
}

func (s *ladderSVG) measured() {
	for _, series := range s.chart.Series {
		style := series.Color % chartStyles
		var points []string
		for i, y := range series.Y {
			if !math.IsNaN(y) {
				points = append(points, fmt.Sprintf("%.1f %.1f", s.x(float64(s.chart.X[i])), s.y(y)))
			}
		}
		if len(points) > 1 {
			fmt.Fprintf(s, `<path class="line c%d" stroke-dasharray="%s" d="M%s"/>`+"\n", style, svgDashes[style], strings.Join(points, "L"))
		}
		for i, y := range series.Y {
			if math.IsNaN(y) {
				continue
			}
			x := s.x(float64(s.chart.X[i]))
			if low, high := s.y(series.Low[i]), s.y(series.High[i]); low-high > 1 {
				fmt.Fprintf(s, `<path class="whisker c%d" d="M%.1f %.1fV%.1fM%.1f %.1fh10M%.1f %.1fh10"/>`+"\n", style, x, low, high, x-5, high, x-5, low)
			}
			s.mark(x, s.y(y), series.Color, fmt.Sprintf("f%d", style))
		}
	}
}

// names stand at the right, beside the last figure of each SUT, pushed apart
// where they would touch.
func (s *ladderSVG) names() {
	type label struct {
		text         string
		style        int
		x, at, place float64
	}
	var labels []label
	for _, series := range s.chart.Series {
		for i := len(series.Y) - 1; i >= 0; i-- {
			if !math.IsNaN(series.Y[i]) {
				y := s.y(series.Y[i])
				figure := "  " + grouped(series.Y[i]) // stands whole, however long the name
				labels = append(labels, label{shorten(series.Name, svgNameLength-width(figure)) + figure, series.Color, s.x(float64(s.chart.X[i])), y, y})
				break
			}
		}
	}
	slices.SortStableFunc(labels, func(a, b label) int { return int(math.Copysign(1, a.at-b.at)) })
	gap := min(svgLabelGap, (plotBottom-plotTop)/float64(max(1, len(labels)-1)))
	for i := 1; i < len(labels); i++ {
		labels[i].place = max(labels[i].place, labels[i-1].place+gap)
	}
	for i := len(labels) - 1; i >= 0; i-- {
		limit := plotBottom
		if i+1 < len(labels) {
			limit = labels[i+1].place - gap
		}
		labels[i].place = min(labels[i].place, limit)
	}
	for _, l := range labels {
		fmt.Fprintf(s, `<path class="lead c%d" d="M%.1f %.1fL%g %.1f"/>`+"\n", l.style%chartStyles, l.x+8, l.at, plotRight+4, l.place)
		s.mark(plotRight+14, l.place, l.style, fmt.Sprintf("f%d", l.style%chartStyles))
		s.text(plotRight+26, l.place+4.5, "start", fmt.Sprintf("name f%d", l.style%chartStyles), l.text)
	}
}

func (s *ladderSVG) foot(saved *record.Saved) {
	key := []string{"filled: measured, with interval or range"}
	if slices.ContainsFunc(s.chart.Series, func(l ladderSeries) bool { return l.Published.any() }) {
		key = append(key, "hollow: published")
	}
	if len(s.chart.Ceilings) > 0 {
		key = append(key, "dashed: ceilings by Little's law")
	}
	s.text(28, svgHeight-32, "start", "soft small", strings.Join(key, "   ·   "))
	run := &saved.Run
	var notes []string
	if run.Standins {
		notes = append(notes, "stand-ins")
	}
	if run.Experiment.Quick {
		notes = append(notes, "shortened by --quick")
	}
	if run.Status != "ok" {
		notes = append(notes, run.Status)
	}
	about := joined(coresText(run.Machine.Cores), run.Machine.CPU, orPrefix("JDK ", strings.TrimPrefix(jdks(run), "JDK ")), joined(notes...), orPrefix("loomlab ", run.ID))
	s.text(28, svgHeight-14, "start", "soft small", shorten(escape(about), svgFootLength))
}

// rises tells a ceiling that grows with the connections from one that lies flat.
func (c ladderCeiling) rises() bool {
	at, last := slices.IndexFunc(c.Y, func(y float64) bool { return !math.IsNaN(y) }), c.last()
	return at >= 0 && c.Y[last] > 1.2*c.Y[at]
}

// last is the highest rung that has the ceiling; below 0: none has.
func (c ladderCeiling) last() int {
	last := len(c.Y) - 1
	for last >= 0 && math.IsNaN(c.Y[last]) { // rungs that were not measured
		last--
	}
	return last
}
