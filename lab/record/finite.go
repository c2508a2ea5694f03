package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// marshal encodes *v as JSON, indented unless indent is "". JSON knows no NaN and
// no infinity, and a run must not lose its record for one: the pointer around
// such a figure becomes nil in *v, and lost names the field.
func marshal(v any, indent string) (body []byte, lost []string, err error) {
	body, err = encode(v, indent)
	var unsupported *json.UnsupportedValueError
	if !errors.As(err, &unsupported) {
		return body, nil, err
	}
	dropNonFinite(reflect.ValueOf(v).Elem(), "", &lost)
	body, err = encode(v, indent)
	return body, lost, err
}

// encode leaves <, > and & as they are: exception chains are full of them.
func encode(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// dropNonFinite sets the nearest pointer around each non-finite figure in v to
// nil, and reports whether v itself holds none outside of pointers. A figure
// with no pointer around it becomes 0.
func dropNonFinite(v reflect.Value, path string, lost *[]string) bool {
	finite := true
	switch v.Kind() {
	case reflect.Float64:
		if !isFinite(v.Float()) {
			*lost = append(*lost, strings.TrimPrefix(path, "."))
			v.SetFloat(0)
			return false
		}
	case reflect.Pointer:
		if !v.IsNil() && !dropNonFinite(v.Elem(), path, lost) {
			v.SetZero()
		}
	case reflect.Struct:
		if _, own := v.Interface().(json.Marshaler); own {
			noteNonFinite(v, path, lost) // it writes null for them itself
			return true
		}
		for i := range v.NumField() {
			if name, exported := jsonName(v, i); exported {
				finite = dropNonFinite(v.Field(i), path+"."+name, lost) && finite
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			finite = dropNonFinite(v.Index(i), path, lost) && finite
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			value := reflect.New(entries.Value().Type()).Elem()
			value.Set(entries.Value())
			finite = dropNonFinite(value, path+"."+entries.Key().String(), lost) && finite
			v.SetMapIndex(entries.Key(), value)
		}
	}
	return finite
}

// noteNonFinite names the non-finite figures among the fields of v, and leaves them.
func noteNonFinite(v reflect.Value, path string, lost *[]string) {
	for i := range v.NumField() {
		if name, exported := jsonName(v, i); exported && v.Field(i).Kind() == reflect.Float64 && !isFinite(v.Field(i).Float()) {
			*lost = append(*lost, strings.TrimPrefix(path+"."+name, "."))
		}
	}
}

// jsonName is the key of a field of v, and whether the field is exported.
func jsonName(v reflect.Value, field int) (name string, exported bool) {
	f := v.Type().Field(field)
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	return name, f.IsExported()
}
