package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Formats are the names that [Write] takes, the first being the default.
var Formats = []string{"table", "markdown", "csv", "json", "bench", "html", "svg", "hlog"}

// CheckFormat says what is wrong with the name of a format.
func CheckFormat(format string) error {
	if slices.Contains(Formats, format) {
		return nil
	}
	return fmt.Errorf("unknown format %q; there are %s", format, strings.Join(Formats, ", "))
}

// Write renders a run in a format; the options concern "table" only.
func Write(w io.Writer, format string, saved *record.Saved, o TextOptions) error {
	if err := CheckFormat(format); err != nil {
		return err
	}
	switch format {
	case "json":
		return saved.WriteJSON(w)
	case "bench":
		return Bench(w, saved)
	case "html":
		return HTML(w, saved)
	case "svg":
		return SVG(w, saved)
	case "hlog":
		return saved.WriteHlog(w)
	case "markdown":
		return Markdown(w, Build(saved))
	case "csv":
		return CSV(w, Build(saved))
	default:
		return Text(w, Build(saved), o)
	}
}
