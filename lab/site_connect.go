package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/java"
	"loomlab/lab/phrase"
	"loomlab/lab/plan"
	"loomlab/lab/record"
)

// Connecting to a host: the host's own command (ssh, kubectl exec, …) is the
// prefix of every command there. Three of them run: one looks what is there, one
// copies this program when it is not, and one is the probe, which stays. The
// first two need a shell of the host's, since nothing of ours is there yet; their
// scripts are constant, and what they work on comes as arguments. After that no
// shell sees anything but the probe's own command line (and that only because
// sshd hands every command to the user's).

const (
	connectLimit = 30 * time.Second // for each step, copying apart
	sshPatience  = "10"             // seconds to connect
)

// lookScript says what kind of machine this is, which folder its first argument
// names, and whether the program is there.
const lookScript = `d=$1; case $d in "~"/*) d=$HOME/${d#"~/"};; esac
uname -s -m || exit; echo "$d"; if test -x "$d/$2/loomlab"; then echo there; fi`

// copyScript stores its stdin as the program, under its name only when it is whole.
const copyScript = `d=$1/$2; mkdir -p "$d" && cat > "$d/.$3" && chmod 755 "$d/.$3" && mv "$d/.$3" "$d/loomlab" && exit
rm -f "$d/.$3"; exit 1`

// platforms are the machines that Go calls otherwise than uname does.
var platforms = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}

// connector makes one connection.
type connector struct {
	*site
	local  string   // this program
	prefix []string // before the words of every command there
}

// connect connects to a host and leaves the lab's probe running there. progress
// gets a line when something takes its time.
func connect(ctx context.Context, name string, h record.Host, progress func(string)) (*site, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &connector{local: self, site: &site{
		name: name, host: h, address: h.Address, tiers: map[int]*awayTier{}, lost: make(chan struct{}),
		jdks: map[string]string{}, folders: map[string]string{},
	}}
	if err := c.open(ctx, progress); err != nil {
		c.hangUp()
		c.forget()
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	return c.site, nil
}

func (c *connector) open(ctx context.Context, progress func(string)) error {
	c.prefix = c.host.Command
	if c.host.SSH != "" {
		if err := c.openMaster(ctx); err != nil {
			return err
		}
	}
	binary := c.local
	if c.host.Binary != "" {
		binary = c.host.Binary
	}
	sum, size, err := java.SumFile(binary)
	if err != nil {
		return err
	}
	there, err := c.look(ctx, sum[:programName])
	if err != nil {
		return err
	}
	if !there {
		progress(fmt.Sprintf("%s: copying loomlab there (%s)", c.name, phrase.MiB(size)))
		if err := c.copy(ctx, binary, size, sum[:programName]); err != nil {
			return err
		}
	}
	return c.startProbe(ctx, sum)
}

// programName is how many digits of its checksum name the program's folder.
const programName = 16

// openMaster opens the ssh connection that all commands share. Whether the host is
// the right one is ssh's business, with the user's configuration and known_hosts;
// it may not ask, since nobody may be there to answer.
func (c *connector) openMaster(ctx context.Context) (err error) {
	if c.folder, err = os.MkdirTemp("", "loomlab-ssh-"); err != nil {
		return err
	}
	socket := filepath.Join(c.folder, "s")
	if len(socket) > 80 { // ssh appends to it, and a socket's path has 104 characters
		_ = os.Remove(c.folder)
		if c.folder, err = os.MkdirTemp("/tmp", "loomlab-ssh-"); err != nil {
			return err
		}
		socket = filepath.Join(c.folder, "s")
	}
	options := append([]string{"ssh"}, c.host.SSHOptions...)
	options = append(options, "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout="+sshPatience,
		"-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3", "-o", "ControlPath="+socket)
	master := append(append([]string{}, options...), "-o", "ControlMaster=yes", "-o", "ControlPersist=no", "-N", "--", c.host.SSH)
	if c.master, err = start(c.local, launch{tier: "ssh", argv: master, log: io.Discard, remove: c.folder}); err != nil {
		return err
	}
	for began := time.Now(); ; sleep(ctx, 20*time.Millisecond) {
		_, err := os.Stat(socket)
		switch {
		case err == nil:
			c.prefix = append(options, "-o", "ControlMaster=no", "--", c.host.SSH, experiment.CommandPlaceholder)
			return c.resolve(ctx, options)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case c.master.hasEnded():
			return saidBy("ssh", c.master)
		case time.Since(began) > connectLimit:
			return fmt.Errorf("ssh did not connect within %v%s", connectLimit, c.master.lastWords())
		}
	}
}

// saidBy is the failure of a command in its own words: the last line, and all
// that it said where that was more.
func saidBy(what string, t *tier) error {
	words := t.lastWords()
	lines := strings.Split(strings.TrimSpace(words), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	switch {
	case last == "":
		return fmt.Errorf("%s %s", what, t.cause())
	case len(lines) == 1:
		return fmt.Errorf("%s says: %s", what, last)
	}
	return fmt.Errorf("%s says: %s%s", what, last, words)
}

// resolve finds the address at which tiers of an ssh host are reached, where none
// is given: the one that ssh connects to.
func (c *connector) resolve(ctx context.Context, options []string) error {
	if c.address != "" {
		return nil
	}
	said, err := c.run(ctx, connectLimit, nil, append(append([]string{}, options...), "-G", "--", c.host.SSH))
	if err != nil {
		return err
	}
	name := c.host.SSH
	for _, line := range strings.Split(said, "\n") {
		if value, is := strings.CutPrefix(line, "hostname "); is {
			name = value
		}
	}
	if net.ParseIP(name) != nil {
		c.address = name
		return nil
	}
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		//lint:ignore ST1005 it ends with the key as it stands in the file
		return fmt.Errorf("%s has no address that could be found here (%w); give it one with address:", name, err)
	}
	c.address = found[0]
	for _, address := range found {
		if ip := net.ParseIP(address); ip.To4() != nil {
			c.address = address // which commands take as address:port
			break
		}
	}
	return nil
}

// there is the command line here that runs words on the host.
func (c *connector) there(words ...string) []string {
	var line []string
	placed := false
	for _, w := range c.prefix {
		if strings.Contains(w, experiment.CommandPlaceholder) {
			w, placed = strings.ReplaceAll(w, experiment.CommandPlaceholder, record.JoinWords(words)), true
		}
		line = append(line, w)
	}
	if placed {
		return line
	}
	return append(line, words...)
}

// run runs a command of this machine's to its end and returns its stdout.
func (c *connector) run(ctx context.Context, limit time.Duration, input io.Reader, argv []string) (string, error) {
	var said bytes.Buffer
	t, err := start(c.local, launch{tier: "host", argv: argv, log: io.Discard, stdin: true, lines: func(line []byte) {
		said.Write(append(line, '\n'))
	}})
	if err != nil {
		return "", err
	}
	defer t.stop()
	go func() {
		if input != nil {
			_, _ = io.Copy(t.stdin, input) // an error shows as the command's end
		}
		_ = t.stdin.Close()
	}()
	select {
	case <-t.gone:
	case <-time.After(limit):
		return "", fmt.Errorf("%s did not end within %v%s", argv[0], limit, t.lastWords())
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if t.lost || t.exit.Code != 0 || t.exit.Signal != "" {
		return said.String(), saidBy(argv[0], t)
	}
	return said.String(), nil
}

// look finds the folder, and whether the program is in it.
func (c *connector) look(ctx context.Context, program string) (there bool, err error) {
	said, err := c.run(ctx, connectLimit, nil, c.there("sh", "-c", lookScript, "loomlab", plan.HostDir(c.host), program))
	if err != nil {
		return false, err
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if there = lines[len(lines)-1] == "there"; there {
		lines = lines[:len(lines)-1]
	}
	if len(lines) < 2 || !strings.HasPrefix(lines[len(lines)-1], "/") {
		return false, fmt.Errorf("it answered %.200q to the question what it is; its folder must be absolute or begin with ~/", said)
	}
	dir, kind := lines[len(lines)-1], strings.Fields(lines[len(lines)-2])
	c.self = dir + "/" + program + "/loomlab"
	if len(kind) != 2 || c.host.Binary != "" {
		return there, nil
	}
	arch := kind[1]
	if known := platforms[arch]; known != "" {
		arch = known
	}
	if system := strings.ToLower(kind[0]); system != runtime.GOOS || arch != runtime.GOARCH {
		return false, fmt.Errorf("it is %s/%s and this loomlab is for %s/%s; build one with GOOS=%s GOARCH=%s and name it with binary: in hosts", system, arch, runtime.GOOS, runtime.GOARCH, system, arch)
	}
	return there, nil
}

// copyRate is the slowest that a copy may be, in bytes a second.
const copyRate = 128 << 10

// copy copies the program there.
func (c *connector) copy(ctx context.Context, binary string, size int64, program string) error {
	file, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer file.Close()
	dir := strings.TrimSuffix(c.self, "/"+program+"/loomlab")
	limit := connectLimit + time.Duration(size/copyRate)*time.Second
	if _, err = c.run(ctx, limit, file, c.there("sh", "-c", copyScript, "loomlab", dir, program, fmt.Sprint(os.Getpid()))); err != nil {
		return fmt.Errorf("cannot copy loomlab (%s) to %s: %w", phrase.MiB(size), dir, err)
	}
	return nil
}

// startProbe starts the probe, which stays, and has it prove that the program
// there is the one that was sent.
func (c *connector) startProbe(ctx context.Context, sum string) error {
	in, lines := io.Pipe()
	carrier, err := start(c.local, launch{tier: "host", argv: c.there(c.self, "probe"), log: io.Discard, stdin: true, lines: func(line []byte) {
		_, _ = lines.Write(append(line, '\n')) // the reader stays to the end
	}})
	if err != nil {
		return err
	}
	c.carrier = carrier
	c.link = newLink(carrier.stdin)
	go func() { _ = c.link.read(in, c.notice) }()
	go func() {
		<-carrier.gone
		_ = lines.Close()
		if c.master != nil && c.master.hasEnded() {
			carrier = c.master // which knows why
		}
		first, _, _ := strings.Cut(saidBy(carrier.argv[0], carrier).Error(), "\n")
		c.lose(errors.New(first))
	}()
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if err := c.link.ask(ctx, "hello", nothing{}, &c.facts); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the probe did not answer within %v%s", connectLimit, c.carrier.lastWords())
		}
		return err
	}
	if c.facts.Checksum != sum {
		return fmt.Errorf("%s there is not what was sent (its SHA-256 is %.16s…, not %.16s…); remove it", c.self, c.facts.Checksum, sum)
	}
	for range clockQuestions {
		c.compareClock()
	}
	go c.watch()
	return nil
}

// clockQuestions are asked before anything is measured.
const clockQuestions = 8

// forget removes what this end kept in files.
func (s *site) forget() {
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}
