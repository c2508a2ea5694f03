package main

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"loomlab/lab/record"
	"loomlab/lab/report"
)

// pageFile is the page of a run, in its directory.
const pageFile = "report.html"

// writeRunPage leaves the run as a page to look at beside its record, and says
// where. A page that cannot be written takes nothing from the run.
func writeRunPage(c *cli.Context, saved *record.Saved, dir string) {
	file := filepath.Join(dir, pageFile)
	var body bytes.Buffer
	err := report.Write(&body, "html", saved, report.TextOptions{})
	if err == nil {
		err = replaceFile(file, body.Bytes())
	}
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "loomlab: the run is kept, but not its page: %v\n", err)
		return
	}
	out := c.App.Writer
	if c.Bool("json") { // its stdout is one document
		out = c.App.ErrWriter
	}
	fmt.Fprintf(out, "to look at: %s\n", filepath.ToSlash(file))
}
