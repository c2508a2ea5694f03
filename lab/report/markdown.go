package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Markdown writes the table as GitHub renders it: a table per rung, footnotes at
// the end. Whatever came from outside is escaped.
func Markdown(w io.Writer, t *Table) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "## %s\n\n", markdown(t.Title))
	for _, line := range slices.Concat(t.About, t.Versions) {
		fmt.Fprintf(out, "- %s\n", markdown(line))
	}
	for _, block := range append([]Block{t.Starts, t.Limits}, t.Rungs...) {
		if len(block.Rows) > 0 && len(t.Columns) > 0 {
			markdownBlock(out, t, block)
		}
	}
	if t.Calibration != nil {
		for _, block := range t.Calibration.Rungs {
			markdownBlock(out, t.Calibration, block)
		}
	}
	if len(t.Legend) > 0 {
		fmt.Fprintln(out)
	}
	for _, line := range t.Legend {
		fmt.Fprintf(out, "- %s\n", markdown(line))
	}
	if len(t.Notes) > 0 {
		fmt.Fprintln(out)
	}
	for i, note := range t.Notes {
		fmt.Fprintf(out, "- <sup>%d</sup> %s\n", i+1, markdown(note.String()))
	}
	markdownClaims(out, t.Claims)
	return out.Flush()
}

// markdownClaims writes a list of the claims.
func markdownClaims(out io.Writer, c *Claims) {
	if c == nil {
		return
	}
	fmt.Fprintf(out, "\n**%s**\n\n", markdown(c.Summary))
	for _, item := range c.Items {
		fmt.Fprintf(out, "- %s %s: %s", item.Mark(), markdown(orElse(item.Outcome, record.Undecided)), markdown(item.Text))
		for _, line := range []string{item.Expr, item.Arithmetic, item.Reason, inWords("doubts: ", item.Doubts)} {
			if line != "" && line != item.Text {
				fmt.Fprintf(out, "<br>%s", markdown(line))
			}
		}
		fmt.Fprintln(out)
	}
}

func markdownBlock(out io.Writer, t *Table, b Block) {
	fmt.Fprintf(out, "\n| %s |", markdown(b.Title))
	for _, name := range t.Columns {
		fmt.Fprintf(out, " %s |", markdown(escape(name)))
	}
	fmt.Fprintf(out, "\n|:--|%s\n", strings.Repeat("--:|", len(t.Columns)))
	for _, row := range b.Rows {
		if row.Hidden {
			continue
		}
		fmt.Fprintf(out, "| %s |", markdown(row.Label()))
		for _, c := range row.Cells {
			fmt.Fprintf(out, " %s |", markdownCell(c, row))
		}
		fmt.Fprintln(out)
	}
	lines := slices.Concat(b.Verdicts, b.Inside)
	if len(lines) > 0 {
		fmt.Fprintln(out)
	}
	for _, line := range lines {
		fmt.Fprintf(out, "> %s\n>\n", markdown(line))
	}
}

func markdownCell(c Cell, row Row) string {
	if c.Text != "" {
		return markdown(c.Text)
	}
	text := strings.Join(c.tokens(row.Metric), " / ") + markdownMarks(c.Notes)
	if c.hasPublished() {
		text += fmt.Sprintf(" (pub. %s)", markdown(strings.Join(append([]string{strings.Join(c.publishedTokens(row.Metric), " / ")}, c.ratioTokens()...), " "))) + markdownMarks(c.PublishedNotes)
	}
	return text
}

func markdownMarks(numbers []int) string {
	if len(numbers) == 0 {
		return ""
	}
	return "<sup>" + strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]") + "</sup>"
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "#", `\#`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
)

// markdown escapes what GitHub would take for markup.
func markdown(s string) string { return markdownEscapes.Replace(s) }
