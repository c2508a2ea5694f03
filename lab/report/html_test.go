package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/record"
	"loomlab/loadgen"
	"loomlab/probes"
)

// node is an element of a page.
type node struct {
	name       string
	attributes map[string]string
	text       string // of it and all below
	path       []string
}

var scripts = regexp.MustCompile(`(?s)<(script|style)([^>]*)>(.*?)</(script|style)>`)

// nodes reads a page's elements. Scripts and styles are cut out before: they are
// no markup.
func nodes(t *testing.T, page string) []*node {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(scripts.ReplaceAllString(page, "")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var list, open []*node
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attributes: map[string]string{}}
			for _, o := range open {
				n.path = append(n.path, o.name)
			}
			for _, a := range token.Attr {
				n.attributes[a.Name.Local] = a.Value
			}
			list, open = append(list, n), append(open, n)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1].name != token.Name.Local {
				t.Fatalf("</%s> closes something else", token.Name.Local)
			}
			open = open[:len(open)-1]
		case xml.CharData:
			for _, o := range open {
				o.text += string(token)
			}
		}
	}
	return list
}

// withSeries is the saved run with a series beside it, as a run directory.
func withSeries(t *testing.T) *record.Saved {
	t.Helper()
	saved := openSaved(t)
	dir, err := record.Create(t.TempDir(), "article", noon)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, s := range []string{"platform", "virtual", "webflux"} {
		for _, p := range series(s, 1, []int{100, 1000, 3000}, 8) {
			if err := dir.AppendPoint(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	saved.Path = dir.Path()
	return saved
}

// series is what a run writes for one process: start, then on each rung a warm-up
// and two windows, every part so many seconds long.
func series(sut string, fork int, rungs []int, length int) []record.Point {
	var points []record.Point
	at, cpu, gc := 1000.0, 0.0, 0.0
	second := func(connections, round int, phase string) {
		at++
		cpu += 0.7
		gc += 4
		where := record.Point{SUT: sut, Fork: fork, Connections: connections, Round: round, Phase: phase}
		for _, tier := range []string{record.TierSUT, record.TierLoad, record.TierDownstream} {
			p := where
			p.Tier = tier
			p.Sample = &probes.Sample{At: at, CPUS: ptr(cpu), RSSBytes: ptr(int64(300+connections/10) << 20), Threads: ptr(int64(20)), Processes: 1}
			if tier == record.TierSUT {
				p.Sample.JVM = &probes.JVM{ThreadsLive: ptr(int64(18)), HeapCommittedBytes: ptr(int64(256 << 20)), GC: []probes.GC{{Name: "G1 young", MS: gc}}}
			}
			points = append(points, p)
		}
		if connections > 0 {
			p := where
			p.Tier, p.At = record.TierLoad, at+0.4
			p.Load = &loadgen.Sample{Phase: phase, Seconds: 1, OK: int64(connections * 9), LatencyMS: &record.Latency{P50: 101, P99: 130}}
			points = append(points, p)
		}
	}
	second(0, 0, "start")
	for _, rung := range rungs {
		for range length {
			second(rung, 1, "warmup")
		}
		for round := 1; round <= 2; round++ {
			for range length {
				second(rung, round, "window")
			}
			second(rung, round, "drain")
		}
	}
	return points
}

func TestPageStructure(t *testing.T) {
	page := string(render(t, "html", withSeries(t), TextOptions{}))
	checkPage(t, page)
	for _, id := range []string{"finding", "table", "ladder", "latency", "time", "why", "claims", "conditions", "again"} {
		if !strings.Contains(page, `<section id="`+id+`"`) {
			t.Errorf("no section %s", id)
		}
	}
	for _, text := range []string{
		"At 3000 connections webflux answers 8257 requests/s", "17 of 18 cells recorded", "published", "×0.9", "200 worker threads are the limit",
		"platform threads are capped near 200 / 100 ms", "loomlab report 20260102T120000Z-article", "AMD EPYC 7B13", "the SUT was killed by signal 9",
	} {
		if !strings.Contains(html.UnescapeString(page), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// checkPage holds what any page of ours promises to those who do not see it, or
// see it on paper.
func checkPage(t *testing.T, page string) {
	t.Helper()
	all := nodes(t, page)
	ids := map[string]bool{}
	level, firsts, captions, tables := 0, 0, 0, 0
	for _, n := range all {
		if id := n.attributes["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %s occurs twice", id)
			}
			ids[id] = true
		}
		for _, name := range []string{"src", "srcset", "action", "data", "poster"} {
			if _, ok := n.attributes[name]; ok {
				t.Errorf("<%s %s> would load something", n.name, name)
			}
		}
		switch n.name {
		case "link", "iframe", "img", "object", "embed", "base":
			t.Errorf("<%s> on the page", n.name)
		case "h1", "h2", "h3", "h4":
			now := int(n.name[1] - '0')
			if now > level+1 {
				t.Errorf("h%d after h%d: %s", now, level, n.text)
			}
			if level = now; now == 1 {
				firsts++
			}
			if strings.TrimSpace(n.text) == "" {
				t.Errorf("an empty %s", n.name)
			}
		case "table":
			tables++
		case "caption":
			captions++
		case "th":
			if n.attributes["scope"] == "" {
				t.Errorf("a head without scope: %s", n.text)
			}
		case "button":
			if n.attributes["type"] != "button" {
				t.Errorf("a button without type: %s", n.text)
			}
		case "svg":
			if n.attributes["aria-hidden"] != "true" && n.attributes["role"] != "img" {
				t.Error("an svg that a screen reader would spell")
			}
		}
	}
	if firsts != 1 || tables != captions || tables == 0 {
		t.Errorf("%d h1, %d tables with %d captions", firsts, tables, captions)
	}
	for _, n := range all {
		href, ok := n.attributes["href"]
		if ok && (!strings.HasPrefix(href, "#") || !ids[href[1:]]) {
			t.Errorf("<%s href=%q> leads nowhere", n.name, href)
		}
		if label := n.attributes["aria-labelledby"]; label != "" {
			for _, id := range strings.Fields(label) {
				if !ids[id] {
					t.Errorf("labelled by %s, which is not there", id)
				}
			}
		}
	}
	for _, bad := range []string{"NaN", "Infinity", "+Inf", "\x1b", "ZgotmplZ", "<no value>"} {
		if strings.Contains(scripts.ReplaceAllString(page, ""), bad) {
			t.Errorf("%q on the page", bad)
		}
	}
}

// hostileText is what a SUT may say to break out of a page.
const hostileText = "</script><img src=x onerror=alert(1)>\"'&<!-- {{.}} \u2028\x1b[2J`${1}`"

func TestPageEscapesWhatCameFromOutside(t *testing.T) {
	saved := openSaved(t)
	run := &saved.Run
	for i := range saved.Cells {
		c := &saved.Cells[i]
		c.SUT += hostileText
		c.Reason += hostileText
		if c.Verdict != nil {
			c.Verdict.Text, c.Verdict.Evidence, c.Verdict.Kind = c.SUT+" at 1: "+hostileText, hostileText, hostileText
		}
		c.Doubts = append(c.Doubts, record.Doubt{Kind: hostileText, Evidence: hostileText, Threshold: hostileText, Remedy: hostileText})
		c.Exceptions = map[string]int64{hostileText: 3}
		c.Ceilings = append(c.Ceilings, record.Ceiling{Kind: "workers", PerS: 2000, Arithmetic: hostileText})
		c.Unavailable = map[string]string{"sut.gc": hostileText}
	}
	for i := range run.Starts {
		s := &run.Starts[i]
		s.SUT += hostileText
		s.Argv = []string{"java", hostileText}
		s.Env = map[string]string{hostileText: hostileText}
		s.FirstRequest.Body = hostileText
		s.JVM.Info = map[string]string{hostileText: hostileText}
	}
	for i := range run.Experiment.SUTs {
		run.Experiment.SUTs[i].Name += hostileText
	}
	run.Experiment.Title, run.ID, run.Note, run.Machine.CPU = hostileText, hostileText, hostileText, hostileText
	run.Machine.Env = map[string]string{hostileText: hostileText}
	run.Args = []string{"loomlab", hostileText}
	run.Claims = append(run.Claims, record.ClaimResult{Text: hostileText, Expr: hostileText, Outcome: hostileText, Reason: hostileText, Arithmetic: hostileText,
		Figures: []record.ClaimFigure{{Figure: hostileText, Missing: hostileText, Doubts: []string{hostileText}}}})
	run.Limits = map[string]map[string]string{run.Experiment.SUTs[0].Name: {hostileText: hostileText}}
	run.Doubts = []record.Doubt{{Kind: hostileText, Evidence: hostileText}}

	page := string(render(t, "html", saved, TextOptions{}))
	for _, raw := range []string{"<img", "<!-- {{", "\u2028", "\x1b"} {
		if before, after, found := strings.Cut(page, raw); found {
			t.Errorf("%q stands raw in the page: …%s%s…", raw, before[max(0, len(before)-80):], after[:min(len(after), 40)])
		}
	}
	if n := strings.Count(page, "</script>"); n != 3 {
		t.Errorf("%d ends of scripts, want 3", n)
	}
	checkPage(t, page)
	if !strings.Contains(html.UnescapeString(page), `platform</script><img src=x onerror=alert(1)>"'&<!-- {{.}}`) {
		t.Error("the name cannot be read on the page")
	}
	var block charts
	if err := json.Unmarshal([]byte(dataBlock(t, page)), &block); err != nil {
		t.Fatalf("data block: %v", err)
	}
	if len(block.Ladder.Series) != 3 || !strings.HasPrefix(block.Ladder.Series[0].Name, "platform</script>") {
		t.Errorf("names in the data block: %+v", block.Ladder.Series)
	}
	picture := render(t, "svg", saved, TextOptions{})
	checkSVG(t, picture)
	comparison, err := Compare(Side{Saved: saved, SUT: run.Experiment.SUTs[0].Name, Name: hostileText}, Side{Saved: saved, SUT: run.Experiment.SUTs[1].Name, Name: "b" + hostileText}, ConditionNames())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteComparison(&out, "html", comparison, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "<img") {
		t.Error("a raw name in the page of a comparison")
	}
	checkPage(t, out.String())
}

func dataBlock(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	block, _, end := strings.Cut(rest, "</script>")
	if !ok || !end {
		t.Fatal("no data block")
	}
	return block
}

func TestPageRunsOnlyItsOwnScripts(t *testing.T) {
	page := string(render(t, "html", openSaved(t), TextOptions{}))
	policy := ""
	for _, n := range nodes(t, page) {
		if n.attributes["http-equiv"] == "Content-Security-Policy" {
			policy = n.attributes["content"]
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "http") {
		t.Fatalf("policy %q", policy)
	}
	found := 0
	for _, m := range scripts.FindAllStringSubmatch(page, -1) {
		if m[1] != "script" || strings.Contains(m[2], "application/json") {
			continue
		}
		if found++; !strings.Contains(policy, "'"+integrity(m[3])+"'") {
			t.Errorf("the policy stops the script that begins %.40q", m[3])
		}
	}
	if found != 2 {
		t.Errorf("%d scripts, want 2", found)
	}
}

// The one file that is not ours is what its authors published.
func TestUPlotIsUntouched(t *testing.T) {
	sums, err := os.ReadFile("assets/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		body, err := os.ReadFile(filepath.Join("assets", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(body)); got != want {
			t.Errorf("%s has the checksum %s, want %s", name, got, want)
		}
		files++
	}
	licence, err := os.ReadFile("assets/uPlot.LICENSE")
	if err != nil || !strings.Contains(string(licence), "The MIT License") || files < 3 {
		t.Errorf("licence %.40q, %v; %d checksums", licence, err, files)
	}
}

func TestPageStaysSmall(t *testing.T) {
	saved := openSaved(t)
	few := saved.Cells
	saved.Cells, saved.Run.Experiment.SUTs, saved.Run.Starts = nil, nil, nil
	saved.Run.Experiment.Load.Connections = nil
	dir, err := record.Create(t.TempDir(), "large", noon)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	const suts, rungs, forks = 12, 8, 4
	for rung := range rungs {
		saved.Run.Experiment.Load.Connections = append(saved.Run.Experiment.Load.Connections, 50<<rung)
	}
	for i := range suts {
		name := fmt.Sprintf("a rather long name of a SUT, number %d", i)
		saved.Run.Experiment.SUTs = append(saved.Run.Experiment.SUTs, record.SUT{Name: name})
		for fork := 1; fork <= forks; fork++ {
			for rung := range rungs {
				c := few[rung%4]
				c.SUT, c.Fork, c.Connections = name, fork, 50<<rung
				saved.Cells = append(saved.Cells, c)
			}
			for _, p := range series(name, fork, saved.Run.Experiment.Load.Connections, 12) {
				if err := dir.AppendPoint(p); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	saved.Path = dir.Path()
	page := render(t, "html", saved, TextOptions{})
	if len(page) > 2<<20 {
		t.Errorf("%d bytes, want at most 2 MB", len(page))
	}
	checkPage(t, string(page))
	if !strings.Contains(string(page), "are left out to keep this page small") {
		t.Error("nobody says that processes are left out")
	}
}

func TestRenderersOfPagesSurviveNothing(t *testing.T) {
	for name, saved := range map[string]*record.Saved{
		"empty":       {},
		"no cells":    {Run: record.Run{Schema: 1, ID: "x", Status: "failed", Starts: []record.Start{{SUT: "a", Error: "exit status 1\nboom"}}}},
		"failed cell": {Cells: []record.Cell{{SUT: "a", Connections: 5, Round: 1, Status: "failed", Reason: "died"}}},
		"no figures":  {Cells: []record.Cell{{SUT: "a", Connections: 5, Round: 1, Status: "ok", Load: &record.LoadResult{}}}},
		"open loop":   {Cells: []record.Cell{{SUT: "a", Rate: 500, Round: 1, Status: "ok", Load: &record.LoadResult{ThroughputPerS: ptr(499.0)}}}},
	} {
		page := string(render(t, "html", saved, TextOptions{}))
		if name == "empty" {
			nodes(t, page)
		}
		if !strings.Contains(page, `<h1 id="headline">`) {
			t.Errorf("%s: no headline", name)
		}
		checkSVG(t, render(t, "svg", saved, TextOptions{}))
	}
}

// checkSVG holds that a picture is XML that loads and runs nothing.
func checkSVG(t *testing.T, picture []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(picture))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("svg: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			if slices.Contains([]string{"script", "foreignObject", "image", "use", "a"}, start.Name.Local) {
				t.Errorf("<%s> in the picture", start.Name.Local)
			}
			for _, a := range start.Attr {
				if strings.Contains(a.Value, "NaN") || strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("%s=%q in the picture", a.Name.Local, a.Value)
				}
			}
		}
	}
	if bytes.Contains(picture, []byte("@import")) || bytes.Contains(picture, []byte("url(")) {
		t.Error("the picture loads something")
	}
}

func TestSVGShowsTheLadder(t *testing.T) {
	picture := render(t, "svg", openSaved(t), TextOptions{})
	checkSVG(t, picture)
	golden(t, "ladder.svg", picture)
	for _, text := range []string{"Spring MVC, virtual threads", "webflux", "prefers-color-scheme:dark", "hollow: published", ">3000<"} {
		if !bytes.Contains(picture, []byte(text)) {
			t.Errorf("the picture lacks %q", text)
		}
	}
}

// A browser reads the script; without one, that brackets and quotes close is what
// can be said, and node says the rest where it is installed.
func TestScriptIsWhole(t *testing.T) {
	body, err := os.ReadFile("assets/charts.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := balanced(string(body)); err != nil {
		t.Error(err)
	}
	if balanced("f({ a: [1, 2 }") == nil || balanced(`"a`) == nil {
		t.Error("what is not whole passes")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("SKIPPED: no node to check the syntax of charts.js with")
		return
	}
	if out, err := exec.Command(node, "--check", "assets/charts.js").CombinedOutput(); err != nil {
		t.Errorf("node --check: %v\n%s", err, out)
	}
}

// balanced checks brackets outside of comments and strings.
func balanced(script string) error {
	var open []rune
	pairs := map[rune]rune{')': '(', ']': '[', '}': '{'}
	line := 1
	quote := rune(0)
	previous := rune(0)
	comment := ""
	for _, r := range script {
		if r == '\n' {
			line++
		}
		switch {
		case comment == "//":
			if r == '\n' {
				comment = ""
			}
		case comment == "/*":
			if previous == '*' && r == '/' {
				comment = ""
				r = 0
			}
		case quote != 0:
			if previous == '\\' {
				r = 0
			} else if r == quote {
				quote = 0
			}
		case previous == '/' && (r == '/' || r == '*'):
			comment = "/" + string(r)
		case r == '"' || r == '\'' || r == '`':
			quote = r
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case pairs[r] != 0:
			if len(open) == 0 || open[len(open)-1] != pairs[r] {
				return fmt.Errorf("line %d: %c closes nothing", line, r)
			}
			open = open[:len(open)-1]
		}
		previous = r
	}
	if len(open) > 0 || quote != 0 {
		return fmt.Errorf("the script ends inside of %q%s", string(open), string(quote))
	}
	return nil
}
