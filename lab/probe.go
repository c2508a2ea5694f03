package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"loomlab/clock"
	"loomlab/lab/guard"
	"loomlab/lab/java"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/probes"
)

// The lab's probe is what it sends to another machine: `loomlab probe`, which
// starts tiers there behind guards, samples them, and asks them questions from
// beside. Orchestrator and probe talk over the stdin and stdout that ssh, or
// whatever else runs commands there, passes through; see [link].

// Times of the watch over a connection. A cut link gives no end of file, so both
// ends listen for the other's heartbeat. What a lost orchestrator leaves is ended
// within silenceLimit + abandonedGrace, well below ten seconds.
const (
	heartbeat    = time.Second
	silenceLimit = 6 * time.Second
)

// Probe serves an orchestrator until it says so, its end of the pipes is closed,
// or nothing is heard of it for silenceLimit. When it returns, every process that
// it started has ended.
func Probe(in io.Reader, out io.Writer) error {
	guard.BecomeSubreaper()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program's own file, which tiers are started from: %w", err)
	}
	p := &probeServer{self: self, link: newLink(out), tiers: map[int]*probedTier{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	defer p.close()
	go func() {
		_ = p.link.read(in, p.serve) // its end, of whatever kind, is the orchestrator's
		p.end()
	}()
	tick := time.NewTicker(heartbeat / 2)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return nil
		case <-tick.C:
			if silent := p.link.silence(); silent > silenceLimit {
				return fmt.Errorf("nothing was heard of the orchestrator for %v", silent.Round(time.Second))
			}
		}
	}
}

// probeServer is the probe's end of a link.
type probeServer struct {
	self string
	link *link
	ctx  context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	tiers   map[int]*probedTier
	places  []string // folders that go with the probe: on their way, or for what tiers write
	scratch string   // the latter; "" before it is asked for
}

// close ends every tier, all at the same time and without the usual patience, and
// removes what was not sent to its end and what tiers have written.
func (p *probeServer) close() {
	p.mu.Lock()
	p.closed = true
	tiers, places := p.tiers, p.places
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range tiers {
		all.Go(t.abandon)
	}
	all.Wait()
	for _, folder := range places {
		_ = os.RemoveAll(folder)
	}
}

// What hello says.
type helloAnswer struct {
	Checksum string         `json:"checksum"` // of the program's own file
	Machine  record.Machine `json:"machine"`
	BusyCPUs float64        `json:"busy_cpus"` // by others; below 0: not known
	FDLimit  int64          `json:"fd_limit"`  // that a tier can raise itself to
	OS       string         `json:"os"`
	Arch     string         `json:"arch"`
}

type clockAnswer struct {
	At int64 `json:"at"` // nanoseconds of the machine's monotonic clock
}

// serve does what the orchestrator asks.
func (p *probeServer) serve(op string, body json.RawMessage) (any, error) {
	do, known := probeOps[op]
	if !known {
		return nil, fmt.Errorf("this probe does not know %q", op)
	}
	return do(p, body)
}

// asked makes an operation of a function of its decoded body.
func asked[Q any](f func(*probeServer, Q) (any, error)) func(*probeServer, json.RawMessage) (any, error) {
	return func(p *probeServer, body json.RawMessage) (any, error) {
		var q Q
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, err
		}
		return f(p, q)
	}
}

// nothing is the body of a request that says no more than its name.
type nothing struct{}

// probeOps are all that a probe can do.
var probeOps map[string]func(*probeServer, json.RawMessage) (any, error)

func init() { // a composite literal would refer to itself through serve
	probeOps = map[string]func(*probeServer, json.RawMessage) (any, error){
		"clock":     asked(func(*probeServer, nothing) (any, error) { return clockAnswer{int64(clock.Now())}, nil }),
		"hello":     asked((*probeServer).hello),
		"bye":       asked(func(p *probeServer, _ nothing) (any, error) { p.end(); return nothing{}, nil }),
		"jdk":       asked((*probeServer).jdk),
		"has":       asked((*probeServer).has),
		"put":       asked((*probeServer).put),
		"keep":      asked((*probeServer).keep),
		"port":      asked((*probeServer).port),
		"get":       asked((*probeServer).get),
		"solo":      asked((*probeServer).solo),
		"path":      asked((*probeServer).path),
		"queue":     asked((*probeServer).queue),
		"machine":   asked((*probeServer).machine),
		"start":     asked((*probeServer).start),
		"stdin":     asked((*probeServer).stdin),
		"interrupt": asked((*probeServer).interrupt),
		"stop":      asked((*probeServer).stop),
		"sample":    asked((*probeServer).sample),
		"figure":    asked((*probeServer).figure),
		"jvm":       asked((*probeServer).jvm),
		"jcmd":      asked((*probeServer).jcmd),
		"mappings":  asked((*probeServer).mappings),
		"scratch":   asked((*probeServer).makeScratch),
		"read":      asked((*probeServer).read),
	}
}

// busySpan is how long the machine's other load is watched.
const busySpan = 300 * time.Millisecond

func (p *probeServer) hello(nothing) (any, error) {
	sum, _, err := java.SumFile(p.self)
	if err != nil {
		return nil, err
	}
	m, _ := probes.ReadMachine() // an unknown fact is empty in the record
	answer := helloAnswer{Checksum: sum, Machine: record.MaskMachine(record.Machine(m)), BusyCPUs: -1,
		FDLimit: probes.HardFDLimit(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	fs := probes.NewFS("/")
	before := fs.SampleMachine()
	time.Sleep(busySpan)
	if busy, ok := probes.BusyCPUs(before, fs.SampleMachine()); ok {
		answer.BusyCPUs = busy
	}
	return answer, nil
}

type jdkQuestion struct {
	Spec string `json:"spec"` // as --jdk has it; "": the newest
}

type jdkAnswer struct {
	Home string `json:"home"`
}

func (p *probeServer) jdk(q jdkQuestion) (any, error) {
	found := java.JDKSearch{Getenv: os.Getenv}.Find(p.ctx)
	jdk, err := java.SelectJDK(p.ctx, found, q.Spec)
	return jdkAnswer{jdk.Home}, err
}

type portQuestion struct {
	Address string `json:"address"` // to listen on
}

type portAnswer struct {
	Address string `json:"address"` // that can be listened on: the one asked for, or all
	Port    int    `json:"port"`
}

// port finds a free port. An address that no interface here has, as where a
// provider translates it, is listened for on all of them.
func (p *probeServer) port(q portQuestion) (any, error) {
	port, err := freePortOn(q.Address)
	if err == nil {
		return portAnswer{q.Address, port}, nil
	}
	if port, all := freePortOn(plan.AnyAddress); all == nil {
		return portAnswer{plan.AnyAddress, port}, nil
	}
	return nil, err
}

type getQuestion struct {
	Base  string        `json:"base"`
	Path  string        `json:"path"`
	Limit time.Duration `json:"limit"`
}

type getAnswer struct {
	Status  int           `json:"status"`
	Body    []byte        `json:"body"`
	Took    time.Duration `json:"took"`
	Failed  string        `json:"failed,omitempty"` // why there was no answer
	Refused bool          `json:"refused,omitempty"`
	Timeout bool          `json:"timeout,omitempty"`
}

// get asks a tier one question from beside it.
func (p *probeServer) get(q getQuestion) (any, error) {
	got, err := newProber(q.Base).get(p.ctx, q.Path, q.Limit)
	a := getAnswer{Status: got.status, Body: got.body, Took: got.took}
	if err != nil {
		a.Failed, a.Refused, a.Timeout = err.Error(), isRefused(err), isTimeout(err)
	}
	return a, nil
}

// solo is the median time of a downstream that is asked alone.
func (p *probeServer) solo(q getQuestion) (any, error) {
	took, err := solo(p.ctx, newProber(q.Base), q.Limit)
	return getAnswer{Status: http.StatusOK, Took: took}, err
}

type pathQuestion struct {
	Address string `json:"address"` // host:port that somebody listens on
}

type pathAnswer struct {
	RTT time.Duration `json:"rtt"` // the shortest of some connects
}

func (p *probeServer) path(q pathQuestion) (any, error) {
	rtt, err := pathTime(p.ctx, q.Address)
	return pathAnswer{rtt}, err
}

// pathConnects is how many times a path is tried; the shortest counts, since
// nothing but the path itself cannot be avoided.
const pathConnects = 7

// pathTime is the round-trip time of a path: a TCP connect takes one.
func pathTime(ctx context.Context, address string) (time.Duration, error) {
	best := time.Duration(0)
	dialer := net.Dialer{Timeout: readyPatience}
	for range pathConnects {
		began := time.Now()
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		_ = conn.Close()
		if best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

type queueQuestion struct {
	Port int `json:"port"`
}

type countAnswer struct {
	N int64 `json:"n"`
}

func (p *probeServer) queue(q queueQuestion) (any, error) {
	n, err := probes.NewFS("/").AcceptQueue(q.Port)
	return countAnswer{n}, err
}

type machineAnswer struct {
	Sample probes.MachineSample `json:"sample"`
	Own    float64              `json:"own"` // CPU seconds of the probe so far
}

func (p *probeServer) machine(nothing) (any, error) {
	return machineAnswer{probes.NewFS("/").SampleMachine(), selfCPU()}, nil
}

type folderQuestion struct {
	Folder string `json:"folder"` // a name: of the sum of all that is in it
}

type folderAnswer struct {
	Path string `json:"path"`
	Have bool   `json:"have"`
}

// home is where this program, and folders beside it, were put.
func (p *probeServer) home() string { return filepath.Dir(filepath.Dir(p.self)) }

func (p *probeServer) has(q folderQuestion) (any, error) {
	path := filepath.Join(p.home(), filepath.Base(q.Folder))
	info, err := os.Stat(path)
	return folderAnswer{path, err == nil && info.IsDir()}, nil
}

type putQuestion struct {
	Folder string      `json:"folder"`
	File   string      `json:"file"` // below the folder, with slashes
	Mode   os.FileMode `json:"mode"`
	Data   []byte      `json:"data"` // appended
}

// unfinished is the folder under which another one grows until it is whole.
func (p *probeServer) unfinished(folder string) string {
	return filepath.Join(p.home(), fmt.Sprintf(".%s.%d", filepath.Base(folder), os.Getpid()))
}

// put appends to a file of a folder on its way.
func (p *probeServer) put(q putQuestion) (any, error) {
	if !filepath.IsLocal(q.File) {
		return nil, fmt.Errorf("%q is no file below its folder", q.File)
	}
	root := p.unfinished(q.Folder)
	p.mu.Lock()
	if !slices.Contains(p.places, root) {
		p.places = append(p.places, root)
	}
	p.mu.Unlock()
	path := filepath.Join(root, filepath.FromSlash(q.File))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, q.Mode.Perm())
	if err != nil {
		return nil, err
	}
	_, err = file.Write(q.Data)
	return nothing{}, errors.Join(err, file.Close())
}

// keep gives a folder its name when all that came is what was sent.
func (p *probeServer) keep(q folderQuestion) (any, error) {
	root := p.unfinished(q.Folder)
	files, err := listFolder(root)
	if err != nil {
		return nil, err
	}
	if sum := folderName(files); sum != q.Folder {
		return nil, fmt.Errorf("what arrived (%s) is not what was sent (%s)", sum, q.Folder)
	}
	path := filepath.Join(p.home(), filepath.Base(q.Folder))
	if err := os.Rename(root, path); err != nil {
		if _, there := os.Stat(path); there != nil { // else another run was faster
			return nil, err
		}
	}
	return folderAnswer{path, true}, nil
}
