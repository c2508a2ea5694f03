package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// claimFigures are the functions that a claim's expression can call, each as
// figure('sut', connections).
var claimFigures = []string{
	"throughput", "errors", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "p999_ms",
	"rss_mb", "heap_mb", "threads_peak", "cpu_us_per_request", "cpu_cores", "ready_s", "idle_rss_mb",
}

// claims checks that each claim is an expression, and that it speaks of figures,
// SUTs and rungs that the experiment has. Whether it holds is for a run to say.
func (c *checker) claims() {
	for i, claim := range c.e.Claims {
		path := fmt.Sprintf("claims[%d]", i)
		if !c.has(path + ".text") {
			c.add(path, "a claim without text, the statement in words")
		}
		if !c.has(path + ".expr") {
			c.add(path, "a claim without expr, such as throughput('a', 100) > throughput('b', 100)")
			continue
		}
		if c.mistaken(path + ".expr") {
			continue
		}
		tree, err := parser.Parse(claim.Expr)
		if err != nil {
			text := err.Error()
			if e := (*file.Error)(nil); errors.As(err, &e) {
				text = fmt.Sprintf("%s at character %d", e.Message, e.Column+1)
			}
			c.add(path+".expr", "not an expression: %s", text)
			continue
		}
		ast.Walk(&tree.Node, &claimVisitor{checker: c, path: path + ".expr"})
	}
}

// claimVisitor checks the calls of one claim.
type claimVisitor struct {
	*checker
	path string
}

func (v *claimVisitor) Visit(node *ast.Node) {
	call, ok := (*node).(*ast.CallNode)
	if !ok {
		return
	}
	name, ok := call.Callee.(*ast.IdentifierNode)
	if !ok || !slices.Contains(claimFigures, name.Value) {
		v.report("%s is no figure; known are %s", call.Callee.String(), strings.Join(claimFigures, ", "))
		return
	}
	if len(call.Arguments) != 2 {
		v.report("%s takes a SUT's name and a rung, such as %s('%s', %d)", name.Value, name.Value, "platform", 1000)
		return
	}
	if sut, ok := call.Arguments[0].(*ast.StringNode); ok {
		if problem := v.noSUT(sut.Value); problem != "" {
			v.report("%s", problem)
		}
	}
	if rung, ok := call.Arguments[1].(*ast.IntegerNode); ok {
		if problem := v.noRung(rung.Value); problem != "" {
			v.report("%s", problem)
		}
	}
}

func (v *claimVisitor) report(format string, a ...any) { v.add(v.path, format, a...) }
