package record

import (
	"loomlab/downstream"
	"loomlab/loadgen"
	"loomlab/probes"
)

// What the tiers print, under the names by which lab and lab/report know it:
// they read tiers' output and never the tiers' code.
type (
	LoadEvent       = loadgen.Event
	LoadResult      = loadgen.Result
	LoadSample      = loadgen.Sample
	LoadConnections = loadgen.Connections
	LoadRequests    = loadgen.Requests
	LoadEngine      = loadgen.Engine
	LoadGenerator   = loadgen.Generator
	LoadPart        = loadgen.PartResult
	LoadOpen        = loadgen.Open
	LoadTarget      = loadgen.TargetResult
	Latency         = loadgen.Latency
	DownstreamStats = downstream.Stats
	MachineWindow   = probes.MachineWindow
)

// MergeLoads joins the results of several generators to that of the whole load.
func MergeLoads(parts []*LoadResult) (*LoadResult, error) { return loadgen.Merge(parts) }

// MergeLoadSamples joins the same second of several generators.
func MergeLoadSamples(parts []*LoadSample) *LoadSample { return loadgen.MergeSamples(parts) }
