// Package record is the run directory: its plain structs are the file format.
//
// A run directory holds run.json (replaced atomically), cells.jsonl (a [Cell] a
// line, appended and synced as each ends), series.jsonl (a [Point] a second and
// tier), the tiers' logs, and latency.hlog. Use [Create], [Dir.WriteRun] and
// [Dir.AppendCell] to write, [Find] and [Open] to read, and [Metrics] with
// [Summarise] for figures. Limits: a last line torn by a crash is skipped and
// reported, everything before it is kept.
package record

import (
	"time"

	"loomlab/downstream"
	"loomlab/loadgen"
	"loomlab/probes"
)

// Schema is the version of the file format.
const Schema = 1

// Run is run.json.
type Run struct {
	Schema     int        `json:"schema"`
	ID         string     `json:"id"` // name of the run directory
	Version    string     `json:"version"`
	Args       []string   `json:"args"` // command line that made it
	Experiment Experiment `json:"experiment"`
	Standins   bool       `json:"standins"` // stand-ins ran in place of the experiment's SUTs
	Note       string     `json:"note"`     // why, when nobody asked for them
	Machine    Machine    `json:"machine"`
	// Hosts are the other machines that tiers were on, and Paths the ways between.
	Hosts    []HostRun  `json:"hosts,omitempty"`
	Paths    []Path     `json:"paths,omitempty"`
	Status   string     `json:"status"` // running, ok, failed, interrupted
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished"`
	// Resumed are the continuations of a run that was interrupted.
	Resumed []Resumption `json:"resumed,omitempty"`
	Order   [][]string   `json:"order"` // SUT names as they were run, fork by fork
	Starts  []Start      `json:"starts"`
	// Calibration is the engine straight against the downstream, without a SUT,
	// one cell a rung: the lab's own ceiling and cost. Empty without a downstream.
	Calibration []Cell                       `json:"calibration"`
	Claims      []ClaimResult                `json:"claims"`
	Limits      map[string]map[string]string `json:"limits"` // SUT → limit → value
	Postgres    *PostgresServer              `json:"postgres,omitempty"`
	Doubts      []Doubt                      `json:"doubts"` // of the run as a whole; those of a cell are in it
	// Recordings are those of the flight recorder, with --jfr; each has a window of its own.
	Recordings []Recording `json:"recordings,omitempty"`
}

// Machine is where a run took place.
type Machine struct {
	Host        string            `json:"host"`
	OS          string            `json:"os"`
	Arch        string            `json:"arch"`
	Kernel      string            `json:"kernel"`
	CPU         string            `json:"cpu"`
	Cores       int               `json:"cores"`
	MemoryBytes int64             `json:"memory_bytes"`
	FDLimit     int64             `json:"fd_limit"`
	Libc        string            `json:"libc"`
	THP         string            `json:"thp"` // transparent huge pages: always, madvise, never
	Env         map[string]string `json:"env"` // variables that change JVMs: JAVA_TOOL_OPTIONS, MALLOC_*, …
}

// Kinds of SUT, as [Start.Kind] says them.
const (
	KindApp     = "app"
	KindCommand = "command"
	KindURL     = "url"
	KindStandin = "standin"
)

// Start is one SUT process.
type Start struct {
	SUT          string            `json:"sut"`
	Fork         int               `json:"fork"`
	Connections  int               `json:"connections,omitempty"` // its one rung, where each rung has a process of its own
	Kind         string            `json:"kind"`                  // app, command, url, standin
	Argv         []string          `json:"argv"`
	Env          map[string]string `json:"env"`
	ReadyS       *float64          `json:"ready_s"`
	IdleRSSBytes *int64            `json:"idle_rss_bytes"`
	FirstRequest *FirstRequest     `json:"first_request"`
	JVM          *StartJVM         `json:"jvm"`
	Memory       *MemoryMap        `json:"memory,omitempty"` // idle, with --memory
	Error        string            `json:"error,omitempty"`  // why it never became ready
	// Resumed says that an earlier process of this fork was interrupted and this
	// one went on at a later cell.
	Resumed bool `json:"resumed,omitempty"`
}

// FirstRequest is the one checked request after a start, as in the article.
type FirstRequest struct {
	Status int     `json:"status"`
	Body   string  `json:"body"` // first 200 bytes
	MS     float64 `json:"ms"`
}

// StartJVM describes the JVM of a start.
type StartJVM struct {
	Home      string   `json:"home"`
	Version   string   `json:"version"`
	Collector string   `json:"collector"`
	CPUs      int      `json:"cpus"`
	Flags     []string `json:"flags"` // final flags as the JVM reports them
	// Instruments are those of them that the lab added to look into it.
	Instruments []string          `json:"instruments,omitempty"`
	Info        map[string]string `json:"info"` // what the app says of itself: client factory, executor, loops, …
}

// Calibration is the SUT name of the cells in [Run.Calibration].
const Calibration = "calibration"

// Cell is one window: (SUT, fork, rung, round).
type Cell struct {
	SUT         string                    `json:"sut"`
	Fork        int                       `json:"fork"`
	Connections int                       `json:"connections"`    // 0 in an open loop, which opens as many as it needs
	Rate        float64                   `json:"rate,omitempty"` // offered requests per second of an open loop
	Round       int                       `json:"round"`
	Attempt     int                       `json:"attempt,omitempty"` // 2 and more: it was measured again after an interruption; else absent
	Started     time.Time                 `json:"started"`
	Status      string                    `json:"status"` // ok, failed, skipped, interrupted
	Reason      string                    `json:"reason"`
	Load        *loadgen.Result           `json:"load"`
	Probes      map[string]*probes.Window `json:"probes"`  // by tier; of a SUT, rss_bytes.max is the peak since this cell's load began
	Machine     *probes.MachineWindow     `json:"machine"` // what else went on where the SUT ran: strangers, steal, drops, …
	// Machines are the other ones that tiers were on, by their names; local is the
	// orchestrator's.
	Machines    map[string]*probes.MachineWindow `json:"machines,omitempty"`
	Downstream  *downstream.Stats                `json:"downstream"`   // difference over the window
	InFlight    *InFlight                        `json:"in_flight"`    // the downstream's gauge
	Database    *Database                        `json:"database"`     // the database's gauge; null without one of the lab's own
	AcceptQueue *AcceptQueues                    `json:"accept_queue"` // null where it cannot be read
	Exceptions  map[string]int64                 `json:"exceptions"`   // "Exception <- root cause: message" → count, inside the SUT
	Pauses      *Pauses                          `json:"pauses,omitempty"`
	Memory      *CellMemory                      `json:"memory,omitempty"` // with --memory
	Warmup      *CellWarmup                      `json:"warmup"`
	Settle      *Settle                          `json:"settle"`
	Ceilings    []Ceiling                        `json:"ceilings"`
	Verdict     *Verdict                         `json:"verdict"`
	Doubts      []Doubt                          `json:"doubts"`
	Unavailable map[string]string                `json:"unavailable"`

	pooled int // how many windows were pooled into this one; 0: it is one of its own
}

// CellWarmup is what warming up took before this cell.
type CellWarmup struct {
	Seconds  float64  `json:"seconds"`
	Requests int64    `json:"requests"`
	Errors   int64    `json:"errors"`
	Steady   bool     `json:"steady"`
	Why      string   `json:"why"`     // what decided it
	ColdMS   *float64 `json:"cold_ms"` // latency of the very first request
	// What it took of the SUT: JIT compilers' CPU time, methods compiled, and CPU
	// per request in its first and its last seconds. Null where it cannot be known.
	JITSeconds  *float64 `json:"jit_s"`
	JITCompiles *int64   `json:"jit_compiles"`
	FirstCPUUS  *float64 `json:"first_cpu_us_per_request"`
	LastCPUUS   *float64 `json:"last_cpu_us_per_request"`
}

// Settle is the quiet time before a window.
type Settle struct {
	Seconds float64 `json:"seconds"`
	Quiet   bool    `json:"quiet"`
}

// Ceiling is the throughput that a limit allows, by Little's law.
type Ceiling struct {
	Kind       string  `json:"kind"` // connections, workers, client_pool, …
	PerS       float64 `json:"per_s"`
	Arithmetic string  `json:"arithmetic"`
}

// Verdict names what held a cell back.
type Verdict struct {
	Kind     string `json:"kind"`
	Sure     bool   `json:"sure"`
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
}

// Point is one line of series.jsonl.
type Point struct {
	SUT         string `json:"sut"`
	Fork        int    `json:"fork"`
	Connections int    `json:"connections"`
	Round       int    `json:"round"`
	Phase       string `json:"phase"` // warmup, lead-in, window, drain, settle
	Tier        string `json:"tier"`
	// At is when a second of load ended, on the clock of [probes.Sample]; 0 where
	// the sample has its own, and in records of before.
	At          float64         `json:"at,omitempty"`
	Sample      *probes.Sample  `json:"sample,omitempty"`
	Load        *loadgen.Sample `json:"load,omitempty"`
	InFlight    *int64          `json:"in_flight,omitempty"`     // downstream's gauge
	InFlightMax *int64          `json:"in_flight_max,omitempty"` // its peak since the point before
}
