package claim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// Expr is a claim's expression: a comparison of figures and numbers, or
// several of them joined. Its grammar is expr-lang's, of which it takes what
// intervals can be put into (see claim_eval.go):
//
//	throughput('virtual', 1000)      a figure of a SUT on a rung (connections, or the rate offered)
//	ready_s('virtual')               a figure of its start
//	1.5  + - * /  abs min max        arithmetic
//	< <= > >= == !=                  comparisons
//	&& || !  (and, or, not)          what joins them
type Expr struct {
	root     ast.Node
	Figures  []FigureCall // each once, in the order in which they stand
	Mistakes []string     // what is no such expression
}

// FigureCall is a figure that an expression calls.
type FigureCall struct {
	name   string
	of     record.Figure
	SUT    string
	number float64 // of the rung, as it stands there
}

// AtStart tells whether the figure is of a SUT's start, which no rung belongs to.
func (f FigureCall) AtStart() bool { return f.of.AtStart.Name != "" }

// Rung is the step of the SUT's own ladder that the number means.
func (f FigureCall) Rung(e *record.Experiment) record.Rung {
	if l := e.LoadOf(f.SUT); len(l.Rate) > 0 {
		return record.Rung{Rate: f.number}
	}
	return record.Rung{Connections: int(f.number)}
}

func (f FigureCall) String() string {
	if f.AtStart() {
		return fmt.Sprintf("%s('%s')", f.name, f.SUT)
	}
	return fmt.Sprintf("%s('%s', %s)", f.name, f.SUT, strconv.FormatFloat(f.number, 'f', -1, 64))
}

// Parse reads an expression. The error is for what is none at all; mistakes
// of meaning are in the result, all at once.
func Parse(text string) (*Expr, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		what := err.Error()
		if e := (*file.Error)(nil); errors.As(err, &e) {
			what = fmt.Sprintf("%s at character %d", e.Message, e.Column+1)
		}
		return nil, fmt.Errorf("not an expression: %s", what)
	}
	c := &Expr{root: tree.Node}
	if kind := c.kind(tree.Node); kind == aNumber {
		c.mistake("a claim is true or false; this is a number. Compare it with another, such as %s > 0", tree.Node)
	}
	return c, nil
}

func (c *Expr) mistake(format string, a ...any) {
	c.Mistakes = append(c.Mistakes, fmt.Sprintf(format, a...))
}

// kind of a part of an expression.
type kind int

const (
	unknownKind kind = iota // after a mistake
	aNumber
	aTruth
)

func (k kind) String() string { return [...]string{"unknown", "a number", "true or false"}[k] }

// operand kinds and result of the operators that a claim may use.
var claimOperators = map[string]struct{ takes, gives kind }{
	"+": {aNumber, aNumber}, "-": {aNumber, aNumber}, "*": {aNumber, aNumber}, "/": {aNumber, aNumber},
	"<": {aNumber, aTruth}, "<=": {aNumber, aTruth}, ">": {aNumber, aTruth}, ">=": {aNumber, aTruth}, "==": {aNumber, aTruth}, "!=": {aNumber, aTruth},
	"&&": {aTruth, aTruth}, "and": {aTruth, aTruth}, "||": {aTruth, aTruth}, "or": {aTruth, aTruth},
}

// kind checks a part of the expression and collects its figures.
func (c *Expr) kind(n ast.Node) kind {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return aNumber
	case *ast.UnaryNode:
		takes := aNumber
		if n.Operator == "!" || n.Operator == "not" {
			takes = aTruth
		}
		c.want(n.Node, takes, n.Operator)
		return takes
	case *ast.BinaryNode:
		operator, known := claimOperators[n.Operator]
		if !known {
			c.mistake("%s is no operator of a claim; it has + - * / < <= > >= == != && || !", n.Operator)
			return unknownKind
		}
		c.want(n.Left, operator.takes, n.Operator)
		c.want(n.Right, operator.takes, n.Operator)
		return operator.gives
	case *ast.BuiltinNode:
		return c.builtin(n)
	case *ast.CallNode:
		c.call(n)
		return aNumber
	}
	c.mistake("%s is nothing that a claim is made of; it compares figures such as throughput('a', 100) with numbers and one another", n)
	return unknownKind
}

func (c *Expr) want(n ast.Node, takes kind, operator string) {
	if got := c.kind(n); got != takes && got != unknownKind {
		c.mistake("%s takes what is %s; %s is %s", operator, takes, n, got)
	}
}

func (c *Expr) builtin(n *ast.BuiltinNode) kind {
	switch {
	case n.Name == "abs" && len(n.Arguments) == 1, (n.Name == "min" || n.Name == "max") && len(n.Arguments) >= 2:
		for _, argument := range n.Arguments {
			c.want(argument, aNumber, n.Name)
		}
		return aNumber
	case n.Name == "abs" || n.Name == "min" || n.Name == "max":
		c.mistake("%s takes numbers: abs(x), min(x, y), max(x, y)", n.Name)
	default:
		c.mistake("%s is no figure%s; known are %s, and abs, min and max", n.Name, phrase.DidYouMean(n.Name, record.FigureNames()), knownFigures())
	}
	return unknownKind
}

// call reads the call of a figure.
func (c *Expr) call(n *ast.CallNode) {
	callee, _ := n.Callee.(*ast.IdentifierNode)
	if callee == nil {
		c.mistake("%s is no figure; known are %s", n.Callee, knownFigures())
		return
	}
	f := FigureCall{name: callee.Value}
	var known bool
	if f.of, known = record.FigureNamed(f.name); !known {
		c.mistake("%s is no figure%s; known are %s", f.name, phrase.DidYouMean(f.name, record.FigureNames()), knownFigures())
		return
	}
	wants, example := 2, fmt.Sprintf("a SUT's name and a rung, such as %s('platform', 1000)", f.name)
	if f.AtStart() {
		wants, example = 1, fmt.Sprintf("a SUT's name, such as %s('platform')", f.name)
	}
	if len(n.Arguments) != wants {
		c.mistake("%s takes %s", f.name, example)
		return
	}
	sut, ok := n.Arguments[0].(*ast.StringNode)
	if ok {
		f.SUT = sut.Value
	}
	if ok && wants == 2 {
		f.number, ok = literal(n.Arguments[1])
	}
	if !ok {
		c.mistake("%s takes %s", f.name, example)
		return
	}
	for _, have := range c.Figures {
		if have.String() == f.String() {
			return
		}
	}
	c.Figures = append(c.Figures, f)
}

// literal is the value of a number that stands there as such.
func literal(n ast.Node) (float64, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	}
	return 0, false
}

// callText is how a figure is named where it is called.
func callText(n *ast.CallNode) string {
	parts := make([]string, len(n.Arguments))
	for i, argument := range n.Arguments {
		if s, ok := argument.(*ast.StringNode); ok {
			parts[i] = "'" + s.Value + "'"
		} else if v, ok := literal(argument); ok {
			parts[i] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return fmt.Sprintf("%s(%s)", n.Callee, strings.Join(parts, ", "))
}

// knownFigures lists the figures for a message.
func knownFigures() string { return strings.Join(record.FigureNames(), ", ") }
