// Package experiments holds the experiments that the binary brings along, one YAML
// file each.
package experiments

import "embed"

// Files are the experiments, NAME.yaml each.
//
//go:embed *.yaml
var Files embed.FS
