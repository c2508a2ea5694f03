package record

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write schema.json anew")

// schema is a JSON Schema as far as the record needs one.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // one or a list
	Format      string             `json:"format,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Values      *schema            `json:"additionalProperties,omitempty"` // of maps
	Defs        map[string]*schema `json:"$defs,omitempty"`
}

// TestSchemaIsThatOfTheStructs makes the schema from the structs and the comments
// in their source.
func TestSchemaIsThatOfTheStructs(t *testing.T) {
	m := schemaMaker{defs: map[string]*schema{}, docs: sourceComments(t, "../record", "../../loadgen", "../../downstream", "../../probes")}
	root := m.of(reflect.TypeFor[Saved]())
	m.of(reflect.TypeFor[Point]())
	body := m.defs[strings.TrimPrefix(root.Ref, "#/$defs/")]
	delete(m.defs, "Saved")
	body.Schema, body.Title, body.Defs = "https://json-schema.org/draft/2020-12/schema", fmt.Sprintf("loomlab record, schema %d", Schema), m.defs
	want, err := encode(body, "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, JSONSchema()) {
		t.Error("schema.json is not what the structs say; `go test ./lab/record -run TestSchema -update` makes it anew")
	}
}

// schemaMaker turns Go types into schemas as encoding/json writes them.
type schemaMaker struct {
	defs map[string]*schema
	docs map[string]string // "package.Type" and "package.Type.Field" → comment
}

func (m *schemaMaker) of(t reflect.Type) *schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &schema{Type: "string", Format: "date-time"}
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return &schema{AnyOf: []*schema{m.of(t.Elem()), {Type: "null"}}}
	case reflect.Slice, reflect.Array:
		return &schema{Type: []string{"array", "null"}, Items: m.of(t.Elem())}
	case reflect.Map:
		return &schema{Type: []string{"object", "null"}, Values: m.of(t.Elem())}
	case reflect.Struct:
		return m.object(t)
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Float64, reflect.Float32:
		return &schema{Type: "number"}
	case reflect.Interface:
		return &schema{}
	}
	return &schema{Type: "integer"}
}

// object defines a struct once and refers to it.
func (m *schemaMaker) object(t reflect.Type) *schema {
	name := t.Name()
	if of := path.Base(t.PkgPath()); of != "record" {
		name = of + "." + name
	}
	ref := &schema{Ref: "#/$defs/" + name}
	if m.defs[name] == nil {
		s := &schema{Type: "object", Properties: map[string]*schema{}, Required: []string{}, Description: m.docs[docKey(t, "")]}
		m.defs[name] = s
		m.fields(t, s)
	}
	return ref
}

func docKey(t reflect.Type, field string) string {
	return strings.TrimSuffix(path.Base(t.PkgPath())+"."+t.Name()+"."+field, ".")
}

func (m *schemaMaker) fields(t reflect.Type, s *schema) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			m.fields(field.Type, s)
			continue
		case !field.IsExported() || name == "-":
			continue
		case name == "":
			name = field.Name
		}
		p := m.of(field.Type)
		if doc := m.docs[docKey(t, field.Name)]; doc != "" {
			p.Description = doc
		}
		s.Properties[name] = p
		if !strings.Contains(options, "omitempty") {
			s.Required = append(s.Required, name)
		}
	}
	slices.Sort(s.Required)
}

var docLink = regexp.MustCompile(`\[([*]?[A-Za-z][\w.]*)\]`)

// sourceComments reads the comments on types and fields.
func sourceComments(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, folder := range folders {
		files, err := fs.Glob(os.DirFS(folder), "*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if types, ok := decl.(*ast.GenDecl); ok {
					noteTypes(docs, file.Name.Name, types)
				}
			}
		}
	}
	return docs
}

func noteTypes(docs map[string]string, pkg string, decl *ast.GenDecl) {
	text := func(groups ...*ast.CommentGroup) string {
		var parts []string
		for _, g := range groups {
			if s := strings.TrimSpace(g.Text()); s != "" {
				parts = append(parts, docLink.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1"))
			}
		}
		return strings.Join(parts, " ")
	}
	for _, spec := range decl.Specs {
		typed, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		of, ok := typed.Type.(*ast.StructType)
		if !ok {
			continue
		}
		key := pkg + "." + typed.Name.Name
		docs[key] = text(decl.Doc, typed.Doc)
		for _, field := range of.Fields.List {
			for _, name := range field.Names {
				docs[key+"."+name.Name] = text(field.Doc, field.Comment)
			}
		}
	}
}

// TestSavedRunsAreOfTheSchema checks stored documents against the schema.
func TestSavedRunsAreOfTheSchema(t *testing.T) {
	var s schema
	if err := json.Unmarshal(JSONSchema(), &s); err != nil {
		t.Fatal(err)
	}
	d := create(t, t.TempDir())
	if err := d.WriteRun(Run{}); err != nil {
		t.Fatal(err)
	}
	if err := d.AppendCell(sampleCell(t, "a", 1, 1, 1000, 100_000)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{d.Path(), "../../testdata/runs/article-small"} {
		saved, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if err := saved.WriteJSON(&body); err != nil {
			t.Fatal(err)
		}
		for _, mistake := range s.check(t, body.Bytes()) {
			t.Errorf("%s: %s", path, mistake)
		}
	}
	for _, bad := range []string{`{}`, `{"run": 1, "cells": []}`, `{"run": {"schema": 1}, "cells": null}`} {
		if s.check(t, []byte(bad)) == nil {
			t.Errorf("%s is of the schema", bad)
		}
	}
}

// check says what of a document the schema does not allow.
func (s *schema) check(t *testing.T, document []byte) []string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return s.validate(s, v, "")
}

func (s *schema) validate(root *schema, v any, where string) []string {
	if s.Ref != "" {
		return root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")].validate(root, v, where)
	}
	if s.AnyOf != nil {
		var all []string
		for _, one := range s.AnyOf {
			mistakes := one.validate(root, v, where)
			if mistakes == nil {
				return nil
			}
			all = append(all, mistakes...)
		}
		return all
	}
	if s.Type != nil && !strings.Contains(fmt.Sprint(s.Type), jsonType(v)) && !(jsonType(v) == "integer" && s.Type == "number") {
		return []string{fmt.Sprintf("%s is %s, want %v", where, jsonType(v), s.Type)}
	}
	var mistakes []string
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			mistakes = append(mistakes, s.Items.validate(root, item, fmt.Sprintf("%s[%d]", where, i))...)
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				mistakes = append(mistakes, where+"."+name+" is missing")
			}
		}
		for name, value := range v {
			switch {
			case s.Properties[name] != nil:
				mistakes = append(mistakes, s.Properties[name].validate(root, value, where+"."+name)...)
			case s.Values != nil:
				mistakes = append(mistakes, s.Values.validate(root, value, where+"."+name)...)
			default:
				mistakes = append(mistakes, where+"."+name+" is not described")
			}
		}
	}
	return mistakes
}

func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}
