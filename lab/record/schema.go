package record

import (
	"bytes"
	_ "embed"
)

// schemaFile is made from the structs and their comments by a test, which fails
// when it is not what they say: `go test ./lab/record -run TestSchema -update`.
//
//go:embed schema.json
var schemaFile []byte

// JSONSchema returns the JSON Schema (draft 2020-12) of the document {run, cells}.
// Its $defs hold the parts, Point among them, which is a line of series.jsonl.
func JSONSchema() []byte { return bytes.Clone(schemaFile) }
