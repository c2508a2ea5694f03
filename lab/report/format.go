package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"loomlab/lab/record"
)

// number writes v with the digits that its metric deserves. It never depends on
// the locale and never writes an exponent.
func number(v float64, m record.Metric) string {
	size := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case m.Unit == "" || m.Unit == "req/s" && size >= 100:
		return fixed(v, 0)
	case m.Unit == "×" || m.Unit == "cores" || m.Unit == "s":
		return fixed(v, 2)
	case m.Unit == "ms" && size >= 10 && size < 1000:
		return fixed(v, 1) // a tenth over the downstream's delay is news
	case size >= 100:
		return fixed(v, 0)
	case size >= 10:
		return fixed(v, 1)
	default:
		return fixed(v, 2)
	}
}

func fixed(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// plain writes v with no more digits than it has.
func plain(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// onOneLine is a message of several lines, such as a cause with a child's last
// words, where there is room for one.
func onOneLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = escape(strings.TrimSpace(lines[i]))
	}
	return strings.Join(lines, " | ")
}

// onItsLines is the same where every line has its own.
func onItsLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

// escape makes s safe to show on one line of a terminal: control characters and
// those that turn the direction of writing appear as escapes, bytes that are no
// UTF-8 as \x...
func escape(s string) string {
	if strings.IndexFunc(s, hostile) < 0 && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case hostile(r):
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			out.WriteString(s[:size])
		}
		s = s[size:]
	}
	return out.String()
}

func hostile(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff', r == '\u200e', r == '\u200f':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// width is how many cells of a terminal s takes. The environment's locale does
// not change it.
func width(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }

// pad fills s up to n cells, on the right.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

// padLeft fills s up to n cells, on the left.
func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

// shorten cuts s to n cells, with an ellipsis, never through a wide character
// and never between a letter and its combining marks.
func shorten(s string, n int) string {
	if width(s) <= n {
		return s
	}
	cut := 0
	for i := range s {
		if width(s[:i]) > n-1 {
			break
		}
		cut = i
	}
	// A combining mark after the cut belongs to what stands before it.
	for cut < len(s) {
		r, size := utf8.DecodeRuneInString(s[cut:])
		if !unicode.Is(unicode.Mn, r) {
			break
		}
		cut += size
	}
	return s[:cut] + "…"
}

// Wrap breaks text at blanks into lines of at most n cells; the lines after the
// first begin with indent. A longer word stays whole. With n of 0 it is one line.
func Wrap(text string, n int, indent string) []string {
	if n <= 0 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "" && len(lines) == 0:
			line = word
		case strings.TrimSpace(line) == "":
			line = indent + word
		case width(line)+1+width(word) > n:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

var superscripts = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// marks are the raised numbers of footnotes: "¹˒²".
func marks(numbers []int) string {
	raised := make([]string, len(numbers))
	for i, n := range numbers {
		raised[i] = superscripts.Replace(strconv.Itoa(n))
	}
	return strings.Join(raised, "˒")
}

// tokens are the figures of a cell as they are shown side by side.
func (c Cell) tokens(m record.Metric) []string {
	if s := c.Summary; s != nil {
		low, high := s.Min, s.Max
		if s.Low != nil && s.High != nil {
			low, high = *s.Low, *s.High
		}
		return []string{number(s.Median, m), number(low, m) + "…" + number(high, m)}
	}
	list := make([]string, 0, len(c.Points))
	for _, p := range c.Points {
		list = append(list, p.token(m))
	}
	for _, t := range list {
		if t != list[0] || t != "n/a" {
			return list
		}
	}
	return list[:min(1, len(list))] // "n/a" once is enough
}

func (p Point) token(m record.Metric) string {
	switch {
	case p.Value != nil:
		return number(*p.Value, m)
	case p.Status == "ok":
		return "n/a"
	case p.Reason == notYet:
		return "·"
	default:
		return "–"
	}
}

// ratioTokens say how many times the published figure ours is, where both are there.
func (c Cell) ratioTokens() []string {
	if c.Ratio == nil {
		return nil
	}
	return []string{"×" + fixed(*c.Ratio, 2)}
}

// publishedTokens are the author's figures, or words.
func (c Cell) publishedTokens(m record.Metric) []string {
	if len(c.Published) == 0 && c.PublishedWords != "" {
		return []string{escape(c.PublishedWords)}
	}
	list := make([]string, len(c.Published))
	for i, v := range c.Published {
		list[i] = number(v, m)
	}
	return list
}
