package report

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loomlab/lab/record"
)

// chrome is a headless Chromium, spoken to in its DevTools protocol over a pipe.
type chrome struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	answers *os.File
	id      int
	session string
	events  []chromeMessage
}

type chromeMessage struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// startChrome skips the test, loudly, where there is no Chromium.
func startChrome(t *testing.T) *chrome {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("SKIPPED: there is no Chromium on this machine, so nobody looks at the page (Debian: apt-get install chromium)")
	}
	toRead, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, toWrite} // its descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = toRead.Close()
	_ = toWrite.Close()
	c := &chrome{t: t, in: in, out: bufio.NewReaderSize(answers, 1<<20), answers: answers}
	t.Cleanup(func() {
		c.session = ""
		_ = c.send("Browser.close", nil)
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = in.Close()
		_ = answers.Close()
	})
	return c
}

func (c *chrome) send(method string, params any) error {
	c.id++
	message := map[string]any{"id": c.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if c.session != "" {
		message["sessionId"] = c.session
	}
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(body, 0))
	return err
}

// call sends a command and waits for its answer; events on the way are kept.
func (c *chrome) call(method string, params any, into any) {
	c.t.Helper()
	if err := c.send(method, params); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	_ = c.answers.SetReadDeadline(time.Now().Add(60 * time.Second))
	for {
		line, err := c.out.ReadBytes(0)
		if err != nil {
			c.t.Fatalf("%s: the browser does not answer: %v", method, err)
		}
		var m chromeMessage
		if err := json.Unmarshal(bytes.TrimRight(line, "\x00"), &m); err != nil {
			c.t.Fatal(err)
		}
		switch {
		case m.ID == 0:
			c.events = append(c.events, m)
		case m.ID == c.id && m.Error != nil:
			c.t.Fatalf("%s: %s", method, m.Error.Message)
		case m.ID == c.id:
			if into != nil {
				if err := json.Unmarshal(m.Result, into); err != nil {
					c.t.Fatal(err)
				}
			}
			return
		}
	}
}

// open shows a file in a tab of this size.
func (c *chrome) open(file string, width, height int, scheme string) {
	c.t.Helper()
	c.session = ""
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	c.session, c.events = session.SessionID, nil
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.call(domain+".enable", nil, nil)
	}
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	c.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	c.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	c.wait("document.readyState === 'complete' && document.querySelectorAll('.chart canvas').length === document.querySelectorAll('.chart').length")
}

// eval runs an expression and returns its value as JSON text.
func (c *chrome) eval(expression string) string {
	c.t.Helper()
	var answer struct {
		Result struct {
			Value       json.RawMessage
			Description string
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	c.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if e := answer.ExceptionDetails; e != nil {
		c.t.Fatalf("%.200s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return string(answer.Result.Value)
}

func (c *chrome) wait(condition string) {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); c.eval(condition) != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("never true: %s; the console: %s", condition, c.complaints())
		}
	}
}

// complaints are console errors, exceptions, and requests beyond the file itself.
func (c *chrome) complaints() string {
	var lines []string
	for _, e := range c.events {
		switch e.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
			lines = append(lines, string(e.Params))
		case "Network.requestWillBeSent":
			var request struct{ Request struct{ URL string } }
			_ = json.Unmarshal(e.Params, &request)
			if !strings.HasPrefix(request.Request.URL, "file://") {
				lines = append(lines, "requested "+request.Request.URL)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// pictureHeight is as much of a page as one picture shows.
const pictureHeight = 1500

// picture saves what is seen, when LOOMLAB_PICTURES names a folder to look at: the
// whole page in several pictures, or what stands in the window.
func (c *chrome) picture(name string, whole bool) {
	c.t.Helper()
	if os.Getenv("LOOMLAB_PICTURES") == "" {
		return
	}
	if !whole {
		c.save(name, "Page.captureScreenshot", nil)
		return
	}
	var size struct{ W, H float64 }
	if err := json.Unmarshal([]byte(c.eval("({W: innerWidth, H: document.documentElement.scrollHeight})")), &size); err != nil {
		c.t.Fatal(err)
	}
	for i := 0; float64(i)*pictureHeight < size.H; i++ {
		clip := map[string]any{"x": 0, "y": i * pictureHeight, "width": size.W, "height": min(pictureHeight, size.H-float64(i)*pictureHeight), "scale": 1}
		c.save(fmt.Sprintf("%s-%02d.png", name, i+1), "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "clip": clip})
	}
}

func (c *chrome) save(name, method string, params map[string]any) {
	c.t.Helper()
	var shot struct{ Data string }
	c.call(method, params, &shot)
	body, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Getenv("LOOMLAB_PICTURES"), name), body, 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// lookedAt is the run of the pictures: LOOMLAB_RUN, or the saved one.
func lookedAt(t *testing.T) *record.Saved {
	path := os.Getenv("LOOMLAB_RUN")
	if path == "" {
		return withSeries(t)
	}
	saved, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func writeTemp(t *testing.T, name string, body []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, body, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestInABrowser opens the pages in a Chromium. LOOMLAB_PICTURES, LOOMLAB_RUN and
// LOOMLAB_AXE add pictures, another run, and axe-core.
func TestInABrowser(t *testing.T) {
	c := startChrome(t)
	report := writeTemp(t, "report.html", render(t, "html", lookedAt(t), TextOptions{}))
	var out bytes.Buffer
	if err := WriteComparison(&out, "html", comparedSides(t), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	comparison := writeTemp(t, "compare.html", out.Bytes())
	for _, test := range []struct {
		name string
		run  func()
	}{
		{"page", func() { c.eachLook(report, "report") }},
		{"comparison", func() { c.eachLook(comparison, "compare") }},
		{"mouse and keys", func() { c.mouseAndKeys(report) }},
		{"flame graph", func() { c.flameGraph(insidePage(t)) }},
		{"paper", func() { c.paper(report, "report"); c.paper(comparison, "compare") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.t = t
			test.run()
			if text := c.complaints(); text != "" {
				t.Error(text)
			}
		})
	}
	c.t = t
}

// looks are the sizes and schemes of a page; all of them when somebody looks.
func looks() [][2]any {
	if os.Getenv("LOOMLAB_PICTURES") == "" {
		return [][2]any{{1600, "light"}, {360, "dark"}}
	}
	return [][2]any{{1600, "light"}, {1600, "dark"}, {360, "light"}, {360, "dark"}}
}

// eachLook holds that nothing is wider than the screen, that the scheme reaches the
// page, and that nothing complains.
func (c *chrome) eachLook(file, name string) {
	c.t.Helper()
	for _, look := range looks() {
		width, scheme := look[0].(int), look[1].(string)
		c.open(file, width, 900, scheme)
		c.checkWidth(width)
		c.checkScheme(scheme)
		c.checkAxe(fmt.Sprint(name, " ", width, " ", scheme))
		c.picture(fmt.Sprintf("%s-%d-%s", name, width, scheme), true)
	}
}

func (c *chrome) checkWidth(width int) {
	c.t.Helper()
	if wide := c.eval("document.documentElement.scrollWidth"); wide != fmt.Sprint(width) {
		c.t.Errorf("%d px: the page is %s px wide: %s", width, wide, c.eval(fmt.Sprintf(`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > %d + 1 && !(e.parentElement.closest('.scroll, .toc') && getComputedStyle(e.parentElement.closest('.scroll, .toc')).overflowX === 'auto')).slice(0, 6).map(e => e.outerHTML.slice(0, 120)).join(' | ')`, width)))
	}
}

// paperWidth is A4 less its margins, in px.
const paperWidth = 702

// paper shows the page as it is printed: white, whole, without what one clicks.
func (c *chrome) paper(file, name string) {
	c.t.Helper()
	c.open(file, paperWidth, 900, "dark")
	c.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	c.eval("dispatchEvent(new Event('beforeprint')), new Promise(done => setTimeout(done, 50))")
	c.checkScheme("light")
	c.checkWidth(paperWidth)
	if c.eval(`[...document.querySelectorAll('.keys, .toc, .theme')].some(e => e.offsetParent !== null)`) == "true" {
		c.t.Error("there is something to click on paper")
	}
	c.picture(name+"-paper", true)
	c.eval("dispatchEvent(new Event('afterprint'))")
}

// checkScheme sees that the scheme reaches the page.
func (c *chrome) checkScheme(scheme string) {
	c.t.Helper()
	dark := c.eval("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 128")
	if (dark == "true") != (scheme == "dark") {
		c.t.Errorf("the scheme %s does not reach the page", scheme)
	}
}

// checkAxe asks axe-core, where LOOMLAB_AXE names its script, for serious problems.
func (c *chrome) checkAxe(where string) {
	c.t.Helper()
	path := os.Getenv("LOOMLAB_AXE")
	if path == "" {
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.eval(string(script) + "; true")
	found := c.eval(`axe.run().then(r => r.violations.map(v => v.impact + " " + v.id + ": " + v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + " — " + n.failureSummary.slice(0, 300)).join(" | ")).join("\n"))`)
	var text string
	if err := json.Unmarshal([]byte(found), &text); err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "serious") || strings.HasPrefix(line, "critical") {
			c.t.Errorf("%s: %s", where, line)
		} else {
			c.t.Logf("%s: %s", where, line)
		}
	}
}

// mouseAndKeys holds that toggles, tooltips, arrow keys, the choice of a process and
// the theme do what they say.
func (c *chrome) mouseAndKeys(file string) {
	c.t.Helper()
	t := c.t
	c.open(file, 1200, 900, "light")
	pixels := `document.querySelector('#ladder-chart canvas').toDataURL().length + ':' + document.querySelector('#ladder-chart canvas').toDataURL().slice(-4000)`
	before := c.eval(pixels)

	// A toggle takes a line away and gives it back.
	c.eval(`document.querySelector('#ladder-keys button').click()`)
	if c.eval(`document.querySelector('#ladder-keys button').getAttribute('aria-pressed')`) != `"false"` || c.eval(pixels) == before {
		t.Error("the toggle of a SUT does nothing")
	}
	c.eval(`document.querySelector('#ladder-keys button').click()`)
	if c.eval(pixels) != before {
		t.Error("the line does not come back as it was")
	}

	// Pointing at a chart, and the arrow keys, say what is there.
	c.eval(`document.querySelector('#ladder-chart').scrollIntoView({behavior: 'instant', block: 'center'})`)
	time.Sleep(100 * time.Millisecond) // the scrolling's own event hides tooltips
	c.pointAt("#ladder-chart .u-over", 0.9)
	c.wait("!document.getElementById('tip').hidden")
	if tip := c.eval("document.getElementById('tip').textContent"); !strings.Contains(tip, "3000 connections") && !strings.Contains(tip, "webflux") {
		t.Errorf("the tooltip says %s", tip)
	}
	c.picture("tooltip.png", false)
	for _, chart := range []string{"ladder-chart", "latency-chart-0", "time-chart-0"} {
		c.eval(`document.getElementById('` + chart + `').scrollIntoView({behavior: 'instant', block: 'center'})`)
		time.Sleep(100 * time.Millisecond)
		c.eval(`document.getElementById('` + chart + `').focus({preventScroll: true})`)
		for _, key := range []string{"PageDown", "PageDown", "PageDown", "ArrowLeft"} { // into the load
			c.key(key)
		}
		if said := c.eval("document.getElementById('said').textContent"); len(said) < 12 || c.eval("document.getElementById('tip').hidden") != "false" {
			t.Errorf("%s: after the keys it says %s", chart, said)
		}
	}

	// Another process, its table, and the theme.
	was := c.eval(`document.querySelector('#time-chart-2 canvas').toDataURL()`)
	c.eval(`document.querySelectorAll('#time-keys button')[1].click()`)
	if c.eval(`document.querySelector('#time-chart-2 canvas').toDataURL()`) == was {
		t.Error("choosing another process draws the same")
	}
	c.eval(`document.querySelector('#time-data').open = true`)
	c.wait(`document.querySelectorAll('#time-data tbody tr').length > 5`)
	c.eval(`document.querySelector('#time-data').open = false`)
	for _, theme := range []string{"light", "dark", "auto"} {
		c.eval(`document.getElementById('theme').click()`)
		if got := c.eval(`document.querySelector('#theme span').textContent`); got != `"`+theme+`"` {
			t.Errorf("theme %s, want %s", got, theme)
		}
		if theme != "auto" {
			c.checkScheme(theme)
		}
	}
}

// insidePage is the page of a run that was looked into.
func insidePage(t *testing.T) string {
	saved := insideRun(t)
	saved.Path = t.TempDir()
	if err := os.WriteFile(filepath.Join(saved.Path, saved.Run.Recordings[0].CPUStacks), []byte(flameStacks), 0o644); err != nil {
		t.Fatal(err)
	}
	return writeTemp(t, "inside.html", render(t, "html", saved, TextOptions{}))
}

// flameGraph holds that a box can be looked at closer and left again, by mouse and
// by keys, and says what it is.
func (c *chrome) flameGraph(file string) {
	c.t.Helper()
	c.open(file, 1200, 900, "light")
	boxes := func(want string) {
		c.t.Helper()
		if got := c.eval(`[...document.querySelectorAll('.flame text')].map(e => e.textContent).join(' ')`); got != `"`+want+`"` {
			c.t.Errorf("boxes %s, want %s", got, want)
		}
	}
	const all = "all Poller.run +1 Left.<init> app.Right: Loop.run"
	boxes(all)
	c.eval(`document.querySelector('.flame').scrollIntoView({behavior: 'instant', block: 'center'})`)
	time.Sleep(100 * time.Millisecond)
	c.pointAt(".flame g[data-i='1'] rect", 0.5)
	c.wait("!document.getElementById('tip').hidden")
	if tip := c.eval("document.getElementById('tip').textContent"); tip != `"80 %, 987 of 1234 samplesjava.lang.Thread.runorg.apache.tomcat.Poller.run"` {
		c.t.Errorf("the tooltip says %s", tip)
	}
	c.eval(`document.querySelector(".flame g[data-i='2'] rect").dispatchEvent(new MouseEvent('click', {bubbles: true}))`)
	boxes("all Poller.run +1 Left.<init>")
	c.eval(`document.querySelector('.whole').click()`)
	boxes(all)
	c.eval(`document.querySelector('.flame').focus({preventScroll: true})`)
	for _, key := range []string{"ArrowDown", "ArrowRight"} {
		c.key(key)
	}
	if said := c.eval("document.getElementById('said').textContent"); said != `"reactor.Loop.run: 20 %, 247 of 1234 samples"` {
		c.t.Errorf("the keys say %s", said)
	}
	c.key("Enter")
	boxes("all Loop.run")
	c.key("Escape")
	c.key("Escape")
	boxes(all)
}

// pointAt moves the mouse over an element, a share of its width from the left.
func (c *chrome) pointAt(selector string, share float64) {
	c.t.Helper()
	var box struct{ X, Y float64 }
	at := c.eval(fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return { X: r.left + r.width * %g, Y: r.top + r.height / 2 }; })()`, selector, share))
	if err := json.Unmarshal([]byte(at), &box); err != nil {
		c.t.Fatal(err)
	}
	for i := range 2 {
		c.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": box.X - float64(1-i), "y": box.Y}, nil)
	}
}

func (c *chrome) key(name string) {
	c.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		c.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "code": name}, nil)
	}
}
