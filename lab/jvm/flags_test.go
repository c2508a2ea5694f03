package jvm

import (
	"slices"
	"testing"
)

func TestDifferingFlags(t *testing.T) {
	old := parseFinalFlags(`[Global flags]
      int ActiveProcessorCount                     = -1                                        {product} {default}
     intx CICompilerCount                          = 2                                         {product} {ergonomic}
    ccstr ErrorFile                                =                                           {product} {default}
      int LockingMode                              = 1                                         {product} {default}
   size_t MaxHeapSize                              = 1073741824                                {product} {command line}
     bool UseG1GC                                 := true                                      {product}
   double InlineFrequencyRatio                     = 0.250000                               {C2 product} {default}
     bool OnlyHere                                 = true                                      {product} {default}
openjdk version "21.0.8" 2025-07-15
`)
	if len(old) != 8 || old["MaxHeapSize"] != "1073741824" || old["ErrorFile"] != "" || old["UseG1GC"] != "true" || old["InlineFrequencyRatio"] != "0.250000" {
		t.Errorf("%q", old)
	}
	newer := map[string]string{"ActiveProcessorCount": "-1", "CICompilerCount": "3", "ErrorFile": "", "LockingMode": "2", "MaxHeapSize": "1073741824", "UseG1GC": "true", "InlineFrequencyRatio": "0.250000", "Fresh": "1"}
	if got := DifferingFlags([]map[string]string{old, newer}); !slices.Equal(got, []string{"CICompilerCount", "LockingMode"}) {
		t.Errorf("differ in %q", got)
	}
}
