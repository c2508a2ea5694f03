package claim

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"loomlab/lab/phrase"
)

// A claim is evaluated by interval arithmetic: each figure is the span from its
// lowest to its highest round (from 6 forks: the interval of its median), the
// operators work on spans, and a comparison is decided only where the spans do
// not overlap, so where it comes out the same whichever values one picks. And, or
// and not are Kleene's: what is open stays open unless the other side decides.
//
// The alternative, to evaluate the expression for every combination of rounds,
// grows with the product of their numbers, and says nothing about values between
// the rounds. Spans can only err towards "open": a figure that stands in an
// expression twice is taken to be two.

// span is all values from low to high.
type span struct{ low, high float64 }

func point(v float64) span { return span{v, v} }

func hull(values ...float64) span {
	s := span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if math.IsNaN(v) { // ∞ − ∞, 0 ÷ 0: it may be anything
			return span{math.Inf(-1), math.Inf(1)}
		}
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
	return s
}

// overZero tells whether 0 is among the values.
func (s span) overZero() bool { return s.low <= 0 && s.high >= 0 }

func (s span) String() string {
	if s.low == s.high {
		return phrase.Number(s.low)
	}
	return phrase.Number(s.low) + " … " + phrase.Number(s.high)
}

// truth is Kleene's: no, yes, or open.
type truth int

const (
	open truth = iota
	no
	yes
)

func truthOf(surely, surelyNot bool) truth {
	switch {
	case surely:
		return yes
	case surelyNot:
		return no
	}
	return open
}

func (t truth) not() truth { return truthOf(t == no, t == yes) }

// evaluation is a claim with the spans of its figures, by their text; a figure
// that is not there has no value.
type evaluation struct {
	expr  *Expr
	spans map[string]span
}

// truth decides a part of the expression that is true or false.
func (e evaluation) truth(n ast.Node) truth {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return e.truth(n.Node).not()
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and":
			a, b := e.truth(n.Left), e.truth(n.Right)
			return truthOf(a == yes && b == yes, a == no || b == no)
		case "||", "or":
			a, b := e.truth(n.Left), e.truth(n.Right)
			return truthOf(a == yes || b == yes, a == no && b == no)
		}
		a, ok := e.span(n.Left)
		b, okToo := e.span(n.Right)
		if !ok || !okToo {
			return open
		}
		return compare(n.Operator, a, b)
	}
	return open
}

// compare decides a comparison of spans.
func compare(operator string, a, b span) truth {
	switch operator {
	case "<":
		return truthOf(a.high < b.low, a.low >= b.high)
	case "<=":
		return truthOf(a.high <= b.low, a.low > b.high)
	case ">":
		return truthOf(a.low > b.high, a.high <= b.low)
	case ">=":
		return truthOf(a.low >= b.high, a.high < b.low)
	}
	equal := truthOf(a.low == a.high && b.low == b.high && a.low == b.low, a.high < b.low || a.low > b.high)
	if operator == "!=" {
		return equal.not()
	}
	return equal
}

// span computes a part of the expression that is a number; false where a figure
// of it has no value.
func (e evaluation) span(n ast.Node) (span, bool) {
	switch n := n.(type) {
	case *ast.CallNode:
		s, ok := e.spans[callText(n)]
		return s, ok
	case *ast.UnaryNode:
		s, ok := e.span(n.Node)
		if n.Operator == "-" {
			s = span{-s.high, -s.low}
		}
		return s, ok
	case *ast.BinaryNode:
		a, ok := e.span(n.Left)
		b, okToo := e.span(n.Right)
		if !ok || !okToo {
			return span{}, false
		}
		return arithmetic(n.Operator, a, b), true
	case *ast.BuiltinNode:
		return e.builtin(n)
	}
	v, ok := literal(n)
	return point(v), ok
}

func arithmetic(operator string, a, b span) span {
	switch operator {
	case "+":
		return hull(a.low+b.low, a.high+b.high)
	case "-":
		return hull(a.low-b.high, a.high-b.low)
	case "*":
		return hull(a.low*b.low, a.low*b.high, a.high*b.low, a.high*b.high)
	}
	if b.overZero() {
		return hull(math.NaN())
	}
	return hull(a.low/b.low, a.low/b.high, a.high/b.low, a.high/b.high)
}

func (e evaluation) builtin(n *ast.BuiltinNode) (span, bool) {
	result, ok := e.span(n.Arguments[0])
	if n.Name == "abs" {
		if result.overZero() {
			return span{0, max(-result.low, result.high)}, ok
		}
		return hull(math.Abs(result.low), math.Abs(result.high)), ok
	}
	for _, argument := range n.Arguments[1:] {
		s, okToo := e.span(argument)
		ok = ok && okToo
		if n.Name == "min" {
			result = span{min(result.low, s.low), min(result.high, s.high)}
		} else {
			result = span{max(result.low, s.low), max(result.high, s.high)}
		}
	}
	return result, ok
}

// text writes the expression with what was measured in place of the figures, and
// for each side of a comparison that is computed what comes out.
func (e evaluation) text(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallNode:
		if s, ok := e.spans[callText(n)]; ok {
			return s.String()
		}
		return "n/a"
	case *ast.UnaryNode:
		operator := n.Operator
		if operator == "not" {
			operator = "!"
		}
		return operator + e.inner(n.Node)
	case *ast.BuiltinNode:
		arguments := make([]string, len(n.Arguments))
		for i, argument := range n.Arguments {
			arguments[i] = e.text(argument)
		}
		return n.Name + "(" + strings.Join(arguments, ", ") + ")"
	case *ast.BinaryNode:
		switch n.Operator {
		case "+", "-", "*", "/", "&&", "and", "||", "or":
			return e.inner(n.Left) + " " + n.Operator + " " + e.inner(n.Right)
		}
		return e.side(n.Left) + " " + n.Operator + " " + e.side(n.Right)
	}
	if v, ok := literal(n); ok {
		return phrase.Number(v)
	}
	return ""
}

// inner is an operand, in brackets where it would be misread without.
func (e evaluation) inner(n ast.Node) string {
	text := e.text(n)
	if inner, binary := n.(*ast.BinaryNode); binary && (claimOperators[inner.Operator].gives == aNumber || inner.Operator == "||" || inner.Operator == "or") {
		return "(" + text + ")"
	}
	if _, call := n.(*ast.CallNode); call && strings.Contains(text, "…") {
		return "(" + text + ")"
	}
	return text
}

// side is one side of a comparison with its result, where it has to be computed.
func (e evaluation) side(n ast.Node) string {
	text := e.text(n)
	if s, ok := e.span(n); ok && s.String() != text {
		return text + " = " + s.String()
	}
	return text
}

// withMoreCPUs is the evaluation in which the figures called bound may be better than
// they are, by however much: throughput higher, latency lower.
func (e evaluation) withMoreCPUs(bound []string) evaluation {
	wider := evaluation{expr: e.expr, spans: maps.Clone(e.spans)}
	for _, call := range e.expr.Figures {
		s, known := wider.spans[call.String()]
		if !known || !slices.Contains(bound, call.String()) {
			continue
		}
		switch call.of.Metric.Better {
		case "higher":
			s.high = math.Inf(1)
		case "lower":
			s.low = min(s.low, 0)
		default:
			s = span{math.Inf(-1), math.Inf(1)}
		}
		wider.spans[call.String()] = s
	}
	return wider
}
