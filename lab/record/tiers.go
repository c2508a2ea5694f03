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
	LoadOpen        = loadgen.Open
	LoadTarget      = loadgen.TargetResult
	Latency         = loadgen.Latency
	DownstreamStats = downstream.Stats
	MachineWindow   = probes.MachineWindow
)
