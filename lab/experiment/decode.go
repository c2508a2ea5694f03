package experiment

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

// decoder reads one YAML document into the structs of lab/record and goes on
// after a mistake, so that all of them are reported at once. (The library's own
// strict mode stops at the first.) It remembers where each value stood, for the
// checks of meaning that follow.
type decoder struct {
	mistakes Mistakes
	at       map[string]*token.Position // by path, such as "load.connections[1]"
	texts    map[string]string          // figures given as words, by path
	anchors  map[string]ast.Node
}

// decode reads data into v, a pointer to a struct that holds the defaults. It
// returns false when the text is not YAML at all, or not one mapping.
func (d *decoder) decode(data []byte, v any) bool {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var at *token.Position
		text := err.Error()
		if e := yaml.Error(nil); errors.As(err, &e) {
			text = e.GetMessage()
			if e.GetToken() != nil {
				at = e.GetToken().Position
			}
		}
		d.addAt(at, "not YAML: %s", text)
		return false
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.addAt(nil, "the file is empty; an experiment needs at least name and suts")
		return false
	}
	if len(file.Docs) > 1 {
		d.addAt(position(file.Docs[1].Body), "a second document; one file holds one experiment")
	}
	root := file.Docs[0].Body
	if _, ok := root.(ast.MapNode); !ok {
		d.addAt(position(root), "%s; an experiment is a mapping of keys such as name, load and suts", describe(root))
		return false
	}
	d.value("", root, reflect.ValueOf(v).Elem())
	return true
}

// value reads n into v. path names n in at.
func (d *decoder) value(path string, n ast.Node, v reflect.Value) {
	d.at[path] = position(n)
	n = d.resolve(n)
	if n == nil {
		d.add(path, "an alias to an anchor that is not set before it")
		return
	}
	if d.special(path, n, v) {
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		text, ok := scalar(n)
		if !ok {
			d.add(path, "%s; want a duration such as 100ms, 10s or 1m30s", describe(n))
		} else if err := u.UnmarshalText([]byte(text)); err != nil {
			d.add(path, "%v", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(path, n, v)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			p.Elem().Set(v.Elem()) // what stands there already are the defaults
		}
		d.value(path, n, p.Elem())
		v.Set(p)
	case reflect.Slice:
		d.list(path, n, v)
	case reflect.Map:
		d.stringMap(path, n, v)
	default:
		d.scalarValue(path, n, v)
	}
}

// special reads the values that may be a word instead of their usual shape.
func (d *decoder) special(path string, n ast.Node, v reflect.Value) bool {
	word, isWord := n.(*ast.StringNode)
	none := isWord && word.Value == "none"
	switch v.Interface().(type) {
	case *record.Downstream:
		if none && path == "downstream" {
			v.SetZero()
		} else if none {
			v.Set(reflect.ValueOf(&record.Downstream{None: true}))
		} else if _, ok := n.(ast.MapNode); !ok {
			d.add(path, "%s; want none, or a mapping such as {delay: 100ms}", describe(n))
		}
		_, isMap := n.(ast.MapNode)
		return none || !isMap
	case *record.Netns:
		if none {
			v.Set(reflect.ValueOf(&record.Netns{None: true}))
		}
		return none
	case string:
		if seq, ok := n.(*ast.SequenceNode); ok && placeOfLoad.MatchString(path) {
			d.joined(path, seq, v)
			return true
		}
	case record.Warmup:
		if none {
			v.SetZero()
		}
		return none
	case []float64:
		if !strings.HasPrefix(path, "published[") {
			return false
		}
		d.figure(path, n, v)
		return true
	}
	return false
}

// placeOfLoad is the one place that may be a list.
var placeOfLoad = regexp.MustCompile(`^(suts\[\d+\]\.)?place\.load$`)

// joined reads a list of words as the flags write it, with commas between.
func (d *decoder) joined(path string, seq *ast.SequenceNode, v reflect.Value) {
	words := reflect.ValueOf(&[]string{}).Elem()
	d.list(path, seq, words)
	v.SetString(strings.Join(words.Interface().([]string), ","))
}

// figure reads a published figure: a number, a list of numbers (its rounds), or words.
func (d *decoder) figure(path string, n ast.Node, v reflect.Value) {
	if s, ok := n.(*ast.StringNode); ok {
		if f, err := strconv.ParseFloat(s.Value, 64); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.texts[path] = s.Value
			return
		}
	}
	items := []ast.Node{n}
	if seq, ok := n.(*ast.SequenceNode); ok {
		items = seq.Values
	}
	var figures []float64
	for _, item := range items {
		text, _ := scalar(d.resolve(item))
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
			d.addAt(position(item), "%s; want a number of at least 0, a list of them (one a round), or words such as timeouts", describe(item))
			return
		}
		figures = append(figures, f)
	}
	v.Set(reflect.ValueOf(figures))
}

func (d *decoder) structure(path string, n ast.Node, v reflect.Value) {
	m, ok := n.(ast.MapNode)
	fields, keys := yamlFields(v)
	if !ok {
		d.add(path, "%s; want a mapping with the keys %s", describe(n), strings.Join(keys, ", "))
		return
	}
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		name := key.Value
		field, known := fields[name]
		switch {
		case it.Key().IsMergeKey():
			d.addAt(key.Position, "merge keys (<<) are not accepted; write the keys out")
		case !known:
			d.addAt(key.Position, "unknown key %q%s; %s has %s", name, phrase.DidYouMean(name, keys), thing(path), strings.Join(keys, ", "))
		case seen[name]:
			d.addAt(key.Position, "key %q stands here a second time", name)
		default:
			d.value(join(path, name), it.Value(), field)
		}
		seen[name] = true
	}
}

func (d *decoder) list(path string, n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.add(path, "%s; want a list, such as [a, b]", describe(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		d.value(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) stringMap(path string, n ast.Node, v reflect.Value) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.add(path, "%s; want a mapping, such as {NAME: value}", describe(n))
		return
	}
	values := reflect.MakeMap(v.Type())
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(join(path, key.Value), it.Value(), value)
		if values.MapIndex(reflect.ValueOf(key.Value)).IsValid() {
			d.addAt(key.Position, "key %q stands here a second time", key.Value)
		}
		values.SetMapIndex(reflect.ValueOf(key.Value), value)
	}
	v.Set(values)
}

func (d *decoder) scalarValue(path string, n ast.Node, v reflect.Value) {
	text, ok := scalar(n)
	_, isInteger := n.(*ast.IntegerNode)
	_, isFloat := n.(*ast.FloatNode)
	switch v.Kind() {
	case reflect.String:
		if !ok || (text == "" && !isQuoted(n)) {
			hint := ""
			if _, colon := n.(ast.MapNode); colon {
				hint = ", in quotes where it has a colon"
			}
			d.add(path, "%s; want text%s", describe(n), hint)
			return
		}
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if !isInteger || err != nil {
			d.add(path, "%s; want a whole number", describe(n))
			return
		}
		v.SetInt(i)
	case reflect.Uint64:
		u, err := strconv.ParseUint(text, 10, 64)
		if !isInteger || err != nil {
			d.add(path, "%s; want a whole number of at least 0", describe(n))
			return
		}
		v.SetUint(u)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if !isInteger && !isFloat || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.add(path, "%s; want a number", describe(n))
			return
		}
		v.SetFloat(f)
	case reflect.Bool:
		b, isBool := n.(*ast.BoolNode)
		if !isBool {
			d.add(path, "%s; want true or false", describe(n))
			return
		}
		v.SetBool(b.Value)
	default:
		panic("lab: no rule to read YAML into " + v.Type().String())
	}
}

// resolve follows anchors and aliases. An alias can only name an anchor that was
// read before it, so there are no cycles; nil means that there is no such anchor.
func (d *decoder) resolve(n ast.Node) ast.Node {
	switch x := n.(type) {
	case *ast.AnchorNode:
		value := d.resolve(x.Value)
		d.anchors[x.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		return d.anchors[x.Value.GetToken().Value]
	}
	return n
}

// add reports a mistake at the value that path names, or at the nearest value
// around it when it is not in the file.
func (d *decoder) add(path, format string, a ...any) {
	for d.at[path] == nil && path != "" {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	d.addAt(d.at[path], format, a...)
}

func (d *decoder) addAt(p *token.Position, format string, a ...any) {
	m := Mistake{Line: 1, Column: 1, Text: fmt.Sprintf(format, a...)}
	if p != nil {
		m.Line, m.Column = p.Line, p.Column
	}
	d.mistakes.List = append(d.mistakes.List, m)
}

// has tells whether the file gives a value for path.
func (d *decoder) has(path string) bool { return d.at[path] != nil }

// yamlFields returns the fields of a struct by their key in the file, and the
// keys in the struct's order.
func yamlFields(v reflect.Value) (map[string]reflect.Value, []string) {
	fields, keys := map[string]reflect.Value{}, []string{}
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "-" {
			fields[key] = v.Field(i)
			keys = append(keys, key)
		}
	}
	return fields, keys
}
