package experiment

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// position is where n begins. The library puts a mapping at its first colon.
func position(n ast.Node) *token.Position {
	if m, ok := n.(ast.MapNode); ok {
		if flow, ok := n.(*ast.MappingNode); !ok || !flow.IsFlowStyle {
			if it := m.MapRange(); it.Next() {
				return it.Key().GetToken().Position
			}
		}
	}
	return n.GetToken().Position
}

// scalar returns the text of a plain, quoted or block scalar.
func scalar(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func isQuoted(n ast.Node) bool {
	t := n.GetToken().Type
	return t == token.SingleQuoteType || t == token.DoubleQuoteType
}

// describe says what n is, as the subject of a message.
func describe(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing here"
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	if text, ok := scalar(n); ok {
		return strconv.Quote(text)
	}
	return "a " + strings.ToLower(n.Type().YAMLName())
}

// thing names the mapping at path in messages: "suts[0].ready" is "ready".
func thing(path string) string {
	if path == "" {
		return "an experiment"
	}
	path = path[strings.LastIndexByte(path, '.')+1:]
	if i := strings.IndexByte(path, '['); i >= 0 {
		return "an entry of " + path[:i]
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
