package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loomlab/lab/java"
	"loomlab/lab/jvm"
	"loomlab/probes"
)

// insides is the JVM of a SUT as the lab asks it: from beside it, or through the
// probe that is.
type insides interface {
	jvm.Asker
	pid() int
	// mappings are the JVM's; the error is [probes.ErrNeedsLinux] where there are none.
	mappings(ctx context.Context) ([]probes.Mapping, error)
	// path is where the JVM writes a file of the run.
	path(file string) string
	// fetch brings into the run directory what of that file is not there yet.
	fetch(ctx context.Context, file string) error
	// jfr is the tool that reads recordings here; reason says why there is none.
	jfr(ctx context.Context) (path, reason string)
}

// insides finds the SUT's JVM; reason says why it cannot be asked.
func (f *fork) insides(ctx context.Context) (i insides, reason string) {
	switch tree := f.tree.(type) {
	case *probes.Tree:
		tools, reason := toolsIn(tree, f.app, f.sut.JDKHome)
		return ownInsides{tools, f.lab.dir.Path()}, reason
	case awayTree:
		return tree.insides(ctx, f.sut.JDK, f.lab.dir.Path())
	}
	return nil, "the SUT is not a child of the lab"
}

// toolsIn finds the tools of the JVM in a tree, whose root is app; home is that of
// the JDK that it was started from, where that is known.
func toolsIn(tree *probes.Tree, app *tier, home string) (t jvm.Tools, reason string) {
	facts, err := tree.JVM()
	switch {
	case err == nil:
		return jvm.ToolsOf(facts.PID, cmp.Or(facts.Home, home))
	case err.Error() == probes.NoJVM:
		return t, err.Error()
	case app != nil && len(app.argv) > 0 && filepath.Base(app.argv[0]) == "java":
		return jvm.ToolsOf(app.pid, home) // perf data is off or cannot be read: it is the SUT's own command
	}
	return t, err.Error()
}

// ownInsides are those of a JVM on this machine.
type ownInsides struct {
	jvm.Tools
	dir string // of the run
}

func (o ownInsides) pid() int { return o.PID }

func (o ownInsides) mappings(context.Context) ([]probes.Mapping, error) {
	return probes.NewFS("/").Mappings(o.PID)
}

func (o ownInsides) path(file string) string {
	path := filepath.Join(o.dir, file)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

func (o ownInsides) fetch(_ context.Context, file string) error {
	_, err := os.Stat(filepath.Join(o.dir, file))
	return err
}

func (o ownInsides) jfr(context.Context) (path, reason string) {
	if o.JFR == "" {
		return "", "no jfr tool beside " + o.Jcmd
	}
	return o.JFR, ""
}

// awayInsides are those of a JVM on another machine, whose probe is asked.
type awayInsides struct {
	tree awayTree
	jdk  string // home there
	at   int
	dir  string // of the run, here
}

func (t awayTree) insides(ctx context.Context, spec, dir string) (insides, string) {
	q := jvmQuestion{ID: t.id, Home: t.site.jdks[spec]}
	var a jvmAnswer
	if err := t.site.ask(ctx, askLimit, "jvm", q, &a); err != nil {
		return nil, err.Error()
	}
	return awayInsides{t, q.Home, a.PID, dir}, a.Reason
}

func (a awayInsides) pid() int { return a.at }

// jcmdLimit is longer than the probe's own patience with a JVM.
const jcmdLimit = time.Minute

func (a awayInsides) Ask(ctx context.Context, command ...string) (string, error) {
	var answer textAnswer
	err := a.tree.site.ask(ctx, jcmdLimit, "jcmd", jvmQuestion{ID: a.tree.id, Home: a.jdk, Command: command}, &answer)
	return answer.Text, err
}

func (a awayInsides) mappings(ctx context.Context) ([]probes.Mapping, error) {
	var answer mappingsAnswer
	err := a.tree.site.ask(ctx, askLimit, "mappings", jvmQuestion{ID: a.tree.id, Home: a.jdk}, &answer)
	if err == nil && answer.Lacking {
		err = probes.ErrNeedsLinux
	}
	return answer.Mappings, err
}

func (a awayInsides) path(file string) string { return a.tree.site.scratch + "/" + file }

func (a awayInsides) fetch(ctx context.Context, file string) error {
	return a.tree.site.fetch(ctx, file, a.dir)
}

// jfr is that of a JDK here: a newer one reads what an older one wrote.
func (a awayInsides) jfr(ctx context.Context) (path, reason string) {
	newest, err := java.SelectJDK(ctx, java.FindJDKs(ctx), "")
	if err != nil {
		return "", fmt.Sprintf("a recording of another machine is read here, and %v", err)
	}
	if path = filepath.Join(newest.Home, "bin", "jfr"); !java.IsExecutable(path) {
		return "", fmt.Sprintf("a recording of another machine is read here, and there is no jfr tool in %s", newest.Home)
	}
	return path, ""
}

// fetch appends to a file of the run directory what a tier on the site has written
// to its file of that name since the last time.
func (s *site) fetch(ctx context.Context, file, dir string) error {
	own, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer own.Close()
	info, err := own.Stat()
	if err != nil {
		return err
	}
	for offset := info.Size(); ; {
		var a readAnswer
		if err := s.ask(ctx, askLimit, "read", readQuestion{File: file, Offset: offset}, &a); err != nil {
			return err
		}
		if len(a.Data) == 0 {
			return nil
		}
		if _, err := own.Write(a.Data); err != nil {
			return err
		}
		offset += int64(len(a.Data))
	}
}

// Questions about a tier's JVM, and of files that tiers write, as they travel.
type (
	jvmQuestion struct {
		ID      int      `json:"id"`
		Home    string   `json:"home"` // of the JDK that the tier was started from; "": not known
		Command []string `json:"command,omitempty"`
	}
	jvmAnswer struct {
		PID    int    `json:"pid"`
		Reason string `json:"reason,omitempty"` // why it cannot be asked
	}
	textAnswer struct {
		Text string `json:"text"`
	}
	mappingsAnswer struct {
		Mappings []probes.Mapping `json:"mappings"`
		Lacking  bool             `json:"lacking,omitempty"` // only Linux has them
	}
	readQuestion struct {
		File   string `json:"file"` // a name in the folder that "scratch" made
		Offset int64  `json:"offset"`
	}
	readAnswer struct {
		Data []byte `json:"data"` // none: there is no more yet
	}
)

func (p *probeServer) toolsOf(q jvmQuestion) (jvm.Tools, error) {
	t, err := p.tierOf(q.ID)
	if err != nil {
		return jvm.Tools{}, err
	}
	tree, err := p.treeOf(q.ID)
	if err != nil {
		return jvm.Tools{}, err
	}
	tools, reason := toolsIn(tree, t.tier, q.Home)
	if reason != "" {
		return tools, errors.New(reason)
	}
	return tools, nil
}

func (p *probeServer) jvm(q jvmQuestion) (any, error) {
	tools, err := p.toolsOf(q)
	if err != nil {
		return jvmAnswer{Reason: err.Error()}, nil
	}
	return jvmAnswer{PID: tools.PID}, nil
}

func (p *probeServer) jcmd(q jvmQuestion) (any, error) {
	tools, err := p.toolsOf(q)
	if err != nil {
		return nil, err
	}
	text, err := tools.Ask(p.ctx, q.Command...)
	return textAnswer{text}, err
}

func (p *probeServer) mappings(q jvmQuestion) (any, error) {
	tools, err := p.toolsOf(q)
	if err != nil {
		return nil, err
	}
	found, err := probes.NewFS("/").Mappings(tools.PID)
	if errors.Is(err, probes.ErrNeedsLinux) {
		return mappingsAnswer{Lacking: true}, nil
	}
	return mappingsAnswer{Mappings: found}, err
}

// makeScratch makes the folder for what tiers write, which goes with the probe.
func (p *probeServer) makeScratch(nothing) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scratch == "" && !p.closed {
		dir, err := os.MkdirTemp("", "loomlab-run-")
		if err != nil {
			return nil, err
		}
		p.scratch = dir
		p.places = append(p.places, dir)
	}
	return folderAnswer{Path: p.scratch, Have: true}, nil
}

// read returns a piece of a file that a tier writes.
func (p *probeServer) read(q readQuestion) (any, error) {
	p.mu.Lock()
	scratch := p.scratch
	p.mu.Unlock()
	if scratch == "" || filepath.Base(q.File) != q.File {
		return nil, fmt.Errorf("%q is no file of this run", q.File)
	}
	file, err := os.Open(filepath.Join(scratch, q.File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s", q.File)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, putSize)
	n, err := file.ReadAt(data, q.Offset)
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return readAnswer{data[:n]}, err
}
