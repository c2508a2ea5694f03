package record

import (
	"fmt"
	"time"
)

// Duration is a length of time that reads and writes as text ("100ms", "10s").
type Duration time.Duration

// MarshalText writes d as Go's time.Duration does, which is the form of the flags.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads "100ms", "1m30s" or "0"; a number without a unit is an error.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 100ms, 10s or 1m30s", b)
	}
	*d = Duration(v)
	return nil
}

// Seconds returns d in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

func (d Duration) String() string { return time.Duration(d).String() }

// Experiment is both the experiment file (YAML) and, with every default filled
// in, the "experiment" of run.json.
type Experiment struct {
	Name       string      `yaml:"name" json:"name"`
	Title      string      `yaml:"title" json:"title"`
	Question   string      `yaml:"question" json:"question"` // one line for `loomlab list`
	Source     *Source     `yaml:"source" json:"source"`
	Downstream *Downstream `yaml:"downstream" json:"downstream"` // null: none
	Load       Load        `yaml:"load" json:"load"`
	Forks      int         `yaml:"forks" json:"forks"`
	// Postgres is the database that SUTs are told of by {{jdbc}} and its like; null: none.
	Postgres *Postgres `yaml:"postgres" json:"postgres,omitempty"`
	// Place says where the tiers load, sut, downstream and postgres run, as --place
	// does. The load may have several places, with commas between.
	Place map[string]string `yaml:"place" json:"place,omitempty"`
	// Hosts are machines that tiers can be placed on, by the names that Place has for them.
	Hosts map[string]Host `yaml:"hosts" json:"hosts,omitempty"`
	// Netns gives the tiers a network namespace of their own; null: they run in
	// that of the lab.
	Netns *Netns `yaml:"netns" json:"netns,omitempty"`
	// Order of the SUTs within each fork: williams (balanced over the forks; the
	// default of several), random (by Seed) or listed. Run.Order is what came of it.
	Order string `yaml:"order" json:"order,omitempty"`
	Seed  uint64 `yaml:"seed" json:"seed"`
	// Isolate is "rung" where each rung has a fresh SUT process, else "": the
	// process of a fork climbs the whole ladder.
	Isolate string `yaml:"isolate" json:"isolate,omitempty"`
	// Memory asks where each SUT's memory is, before and after each rung.
	Memory bool `yaml:"memory" json:"memory,omitempty"`
	// JFR is the rung that is measured once more with a flight recording; 0: none.
	JFR       int         `yaml:"jfr" json:"jfr,omitempty"`
	JVM       []string    `yaml:"jvm" json:"jvm"` // flags of every app SUT
	SUTs      []SUT       `yaml:"suts" json:"suts"`
	Published []Published `yaml:"published" json:"published"`
	Claims    []Claim     `yaml:"claims" json:"claims"`
	// Quick says that --quick shortened it: never to be compared with a full run.
	Quick bool `yaml:"-" json:"quick,omitempty"`
	// Scale is that of --scale, by which every number of requests was multiplied;
	// 0: not scaled.
	Scale float64 `yaml:"-" json:"scale,omitempty"`
}

// Netns is a network namespace that a run makes for the tiers of a SUT and that
// goes with them: nothing in it but loopback, with settings of its own.
type Netns struct {
	// Sysctl holds the kernel settings in which it differs from a fresh one, by
	// their names as sysctl(8) writes them: {"net.core.somaxconn": "128"}.
	Sysctl map[string]string `yaml:"sysctl" json:"sysctl,omitempty"`
	// None is "netns: none" of a SUT whose experiment has one.
	None bool `yaml:"-" json:"-"`
}

// Source names where an experiment was published and how its author counted.
type Source struct {
	Title string `yaml:"title" json:"title"`
	// Counting is "with-drain" when answers after the window were counted
	// (METHOD rule 1), else "window".
	Counting string `yaml:"counting" json:"counting"`
	// Window is how long the author measured; 0: as load.duration says. It keeps
	// the arithmetic of with-drain figures right when --duration changes ours.
	Window Duration `yaml:"window" json:"window"`
	// Cores is how many the author's machine had; 0: not published. Fewer here are
	// a reason why a claim may fail here and hold there.
	Cores int `yaml:"cores" json:"cores,omitempty"`
}

// Downstream configures the downstream tier.
type Downstream struct {
	Delay     Duration  `yaml:"delay" json:"delay"`
	Jitter    string    `yaml:"jitter" json:"jitter"`
	KeepAlive KeepAlive `yaml:"keep_alive" json:"keep_alive"`
	Faults    []string  `yaml:"faults" json:"faults"`
	Seed      uint64    `yaml:"seed" json:"seed"`
	// MaxConns is how many connections it serves; more of them wait. 0: any number.
	MaxConns int `yaml:"max_conns" json:"max_conns,omitempty"`
	// GRPCDelay makes it serve gRPC beside HTTP (lab.Hello/Say, at {{grpc}}) and is
	// how long that answer takes; null: no gRPC.
	GRPCDelay *Duration `yaml:"grpc_delay" json:"grpc_delay,omitempty"`
	// Command is a downstream of somebody else's in place of ours, with {{port}}
	// and as a rule {{delay_ms}} in it. Delay is then what it is told to take.
	Command []string `yaml:"command" json:"command,omitempty"`
	// None is "downstream: none" of a SUT whose experiment has one.
	None bool `yaml:"-" json:"-"`
}

// KeepAlive holds the downstream's keep-alive limits; 0 is no limit.
type KeepAlive struct {
	MaxRequests int      `yaml:"max_requests" json:"max_requests"`
	IdleTimeout Duration `yaml:"idle_timeout" json:"idle_timeout"`
	MaxIdle     int      `yaml:"max_idle" json:"max_idle"`
	Rude        bool     `yaml:"rude" json:"rude,omitempty"`         // after max_requests, close without announcing it
	Lifetime    Duration `yaml:"lifetime" json:"lifetime,omitempty"` // of a connection, busy or not
}

// SUT is one system under test: an app of testdata/apps, a command, or a URL.
type SUT struct {
	Name string `yaml:"name" json:"name"`
	// Of names the SUT of the experiment that this is one of several versions of,
	// where --jdk or --boot stand more than once.
	Of      string            `yaml:"-" json:"of,omitempty"`
	App     string            `yaml:"app" json:"app,omitempty"`
	Command []string          `yaml:"command" json:"command,omitempty"`
	URL     string            `yaml:"url" json:"url,omitempty"`
	Path    string            `yaml:"path" json:"path,omitempty"`
	JDK     string            `yaml:"jdk" json:"jdk,omitempty"`
	Boot    string            `yaml:"boot" json:"boot,omitempty"`
	Env     map[string]string `yaml:"env" json:"env,omitempty"`
	JVM     []string          `yaml:"jvm" json:"jvm,omitempty"`
	Args    []string          `yaml:"args" json:"args,omitempty"`
	Calls   *float64          `yaml:"calls" json:"calls,omitempty"` // downstream calls per request; null: measured
	// Fanout is how many of its calls a request makes at once; 0: one after the other.
	Fanout  int      `yaml:"fanout" json:"fanout,omitempty"`
	Ready   Ready    `yaml:"ready" json:"ready"`
	Limits  Limits   `yaml:"limits" json:"limits"`
	Standin *Standin `yaml:"standin" json:"standin,omitempty"`
	// Downstream replaces the experiment's. Resolved, it is what this SUT gets
	// in front of it; null is none.
	Downstream *Downstream `yaml:"downstream" json:"downstream"`
	// Netns replaces the experiment's. Resolved, it is what this SUT's tiers run in.
	Netns *Netns `yaml:"netns" json:"netns,omitempty"`
	// Place says where this SUT and the load and downstream around it run; tiers
	// that it does not name are where the experiment puts them.
	Place map[string]string `yaml:"place" json:"place,omitempty"`
	// Load is this SUT's own, complete: what its file leaves out is as in the
	// experiment's. Null: the experiment's.
	Load *Load `yaml:"load" json:"load,omitempty"`
}

// InTurn is how many calls of the downstream a request waits for, one after the
// other, of all calls that it makes; nil where those are not known.
func (s *SUT) InTurn(calls *float64) *float64 {
	if calls == nil || s.Fanout < 2 {
		return calls
	}
	turns := *calls / float64(s.Fanout)
	return &turns
}

// Ready says when a SUT counts as started: path answers status within timeout.
type Ready struct {
	Path    string   `yaml:"path" json:"path"`
	Status  int      `yaml:"status" json:"status"`
	Timeout Duration `yaml:"timeout" json:"timeout"`
}

// Limits are the SUT's known limits, for ceilings; 0 is none known.
type Limits struct {
	Workers        int `yaml:"workers" json:"workers,omitempty"`
	ClientPool     int `yaml:"client_pool" json:"client_pool,omitempty"`
	DBPool         int `yaml:"db_pool" json:"db_pool,omitempty"`
	MaxConnections int `yaml:"max_connections" json:"max_connections,omitempty"`
	// Held is how long a request waits by itself, as by sleeping, and holds its
	// worker and its connection meanwhile; calls of the downstream come on top.
	Held Duration `yaml:"held" json:"held,omitempty"`
}

// Standin is the Go stand-in that can take a SUT's place.
type Standin struct {
	Model   string   `yaml:"model" json:"model"` // threads, goroutines or event-loop
	Workers int      `yaml:"workers" json:"workers,omitempty"`
	Args    []string `yaml:"args" json:"args,omitempty"`
}

// Published is one row that the experiment's author published. Each figure is a
// list of its rounds; Text stands for what was not a number ("timeouts").
type Published struct {
	SUT         string    `yaml:"sut" json:"sut"`
	Connections int       `yaml:"connections" json:"connections"`
	Rate        float64   `yaml:"rate" json:"rate,omitempty"` // of an open loop, in place of connections
	Throughput  []float64 `yaml:"throughput" json:"throughput,omitempty"`
	P50MS       []float64 `yaml:"p50_ms" json:"p50_ms,omitempty"`
	P99MS       []float64 `yaml:"p99_ms" json:"p99_ms,omitempty"`
	TotalS      []float64 `yaml:"total_s" json:"total_s,omitempty"` // of a number of requests
	MeanMS      []float64 `yaml:"mean_ms" json:"mean_ms,omitempty"`
	P75MS       []float64 `yaml:"p75_ms" json:"p75_ms,omitempty"`
	P90MS       []float64 `yaml:"p90_ms" json:"p90_ms,omitempty"`
	P95MS       []float64 `yaml:"p95_ms" json:"p95_ms,omitempty"`
	P999MS      []float64 `yaml:"p999_ms" json:"p999_ms,omitempty"`
	MaxMS       []float64 `yaml:"max_ms" json:"max_ms,omitempty"`
	Errors      []float64 `yaml:"errors" json:"errors,omitempty"`
	CPUCores    []float64 `yaml:"cpu_cores" json:"cpu_cores,omitempty"` // mean, of the SUT
	RSSMB       []float64 `yaml:"rss_mb" json:"rss_mb,omitempty"`
	RSSMeanMB   []float64 `yaml:"rss_mean_mb" json:"rss_mean_mb,omitempty"`
	RSSPeakMB   []float64 `yaml:"rss_peak_mb" json:"rss_peak_mb,omitempty"`
	ThreadsPeak []float64 `yaml:"threads_peak" json:"threads_peak,omitempty"`
	HeapUsedMB  []float64 `yaml:"heap_used_mb" json:"heap_used_mb,omitempty"`
	Text        string    `yaml:"text" json:"text,omitempty"`
	// Texts holds figures published as words, by key: {"p99_ms": "timeouts"}.
	Texts map[string]string `yaml:"-" json:"texts,omitempty"`
}

// Rung is the step of the ladder that the row is about.
func (p *Published) Rung() Rung { return Rung{p.Connections, p.Rate} }

// Claim is a statement of the author as an expression over the run.
type Claim struct {
	Text string `yaml:"text" json:"text"`
	Expr string `yaml:"expr" json:"expr"`
	// Of is "instrument" where the claim is about what measures, whose limits are then
	// what its figures are to show; "": about the SUTs.
	Of string `yaml:"of" json:"of,omitempty"`
}

// OfInstrument is the value of [Claim.Of] for a claim about the instrument.
const OfInstrument = "instrument"
