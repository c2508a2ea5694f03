package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"loomlab/lab/record"
)

// The page is made of a template, a style sheet, the script that draws, and
// uPlot, the one file here that is not ours (see assets/README). Nothing is
// loaded from anywhere when it is opened.
//
//go:embed assets/*.tmpl assets/*.css assets/*.js
var assets embed.FS

// pageAssets are the files of every page. They are ours or checked by a test, so
// they go in as they are; everything else is escaped by where it stands.
type pageAssets struct {
	CSS    template.CSS
	UPlot  template.JS
	Script template.JS
	// Policy lets the browser run these two scripts and nothing else: not even a
	// mistake in escaping could run what a SUT said.
	Policy string
}

var loadAssets = sync.OnceValues(func() (pageAssets, error) {
	read := func(name string) string {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // embedded above
		}
		return string(body)
	}
	uplot, script := read("uPlot.iife.min.js"), read("charts.js")
	for name, text := range map[string]string{"uPlot": uplot, "charts.js": script} {
		if lower := strings.ToLower(text); strings.Contains(lower, "</script") || strings.Contains(lower, "<!--") {
			return pageAssets{}, fmt.Errorf("%s would end the script that it stands in", name)
		}
	}
	return pageAssets{
		CSS:   template.CSS(read("uPlot.min.css") + read("page.css")), // #nosec G203 -- files of this program
		UPlot: template.JS(uplot), Script: template.JS(script),        // #nosec G203 -- files of this program, looked through above
		Policy: fmt.Sprintf("default-src 'none'; script-src '%s' '%s'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'", integrity(uplot), integrity(script)),
	}, nil
})

func integrity(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("pages").Funcs(template.FuncMap{
		"style": func(i int) int { return i % chartStyles },
		"list":  func(values ...any) []any { return values },
	}).ParseFS(assets, "assets/*.tmpl")
})

// chartStyles is how many colours, markers and dashes there are; more SUTs begin anew.
const chartStyles = 8

// HTML writes a run as one page that holds all it needs: it opens from a file,
// loads nothing, and stays below 2 MB.
func HTML(w io.Writer, saved *record.Saved) error {
	p := newPage(saved)
	return writePage(w, "report.tmpl", &p.pageFrame, &p)
}

// writePage fills a template in memory first: half a page helps nobody.
func writePage(w io.Writer, name string, frame *pageFrame, page any) error {
	all, err := templates()
	if err != nil {
		return err
	}
	if frame.Assets, err = loadAssets(); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := all.ExecuteTemplate(&out, name, page); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}
