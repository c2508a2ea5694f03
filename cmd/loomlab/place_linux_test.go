package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loomlab/lab/record"
)

// TestPlacedOverSSH runs tiers on three hosts: network namespaces joined by veth
// at a bridge, a real sshd with its own host key in each, and the orchestrator in a
// fourth. Paths are slow and lose packets. It takes root, sshd, ip and tc.
func TestPlacedOverSSH(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: tiers over ssh: network namespaces take root")
	}
	for _, program := range []string{"/usr/sbin/sshd", "ssh", "ssh-keygen", "ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: tiers over ssh: %v (Debian: openssh-server, iproute2)", err)
		}
	}
	t.Parallel()
	n := newHosts(t, "load1", "app1", "down1")
	way := 0.0 // ms there and back
	for _, host := range n.names {
		out, err := exec.Command("ip", "netns", "exec", n.ns(host), "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "5ms", "loss", "0.2%").CombinedOutput()
		if err != nil {
			t.Logf("SKIPPED: delay and loss: this kernel has no netem: %s", bytes.TrimSpace(out))
			break
		}
		way = 10
	}
	places := []string{"--place", "load=load1", "--place", "sut=ssh:app1", "--place", "downstream=down1"}

	t.Run("three hosts", func(t *testing.T) {
		r := n.loomlab(t, append([]string{"run", n.file, "--standins", "--json"}, places...)...)
		if status := r.wait(); status != 0 {
			t.Fatalf("exit status %d: %s", status, r.stderr.String())
		}
		var got struct {
			Run   record.Run
			Cells []record.Cell
		}
		if err := json.Unmarshal(r.stdout.Bytes(), &got); err != nil || len(got.Cells) != 1 {
			t.Fatalf("%v: %s", err, r.stdout.String())
		}
		cell := got.Cells[0]
		if cell.Status != "ok" || cell.Load.Requests.OK == 0 || cell.Downstream == nil || cell.Probes["sut"].CPUS == nil || cell.Machines["load1"] == nil {
			t.Errorf("the cell is not whole: %s", r.stdout.String())
		}
		if len(got.Run.Hosts) != 3 || got.Run.Hosts[0].Address != "10.77.0.3" {
			t.Errorf("hosts: %+v", got.Run.Hosts)
		}
		for _, h := range got.Run.Hosts { // one clock: what was compared must be within its own error
			if c := h.Clock; c.OffsetS < -c.ErrorS || c.OffsetS > c.ErrorS || c.RTTMS < way/2 {
				t.Errorf("%s: the clock of one machine is %+v off itself", h.Name, c)
			}
		}
		if p := got.Run.Paths; len(p) != 2 || p[0].Host != "load1" || p[0].ToHost != "app1" || p[0].RTTMS < way || p[0].RTTMS == 0 {
			t.Errorf("paths: %+v; each takes %v ms there and back", p, way)
		}
		n.nothingLeft(t, time.Second, n.names...)
	})
	t.Run("generators on two hosts", func(t *testing.T) {
		r := n.loomlab(t, "run", n.file, "--standins", "--json", "--place", "load=ssh:load1,down1", "--place", "sut=app1")
		if status := r.wait(); status != 0 {
			t.Fatalf("exit status %d: %s", status, r.stderr.String())
		}
		var got struct{ Cells []record.Cell }
		if err := json.Unmarshal(r.stdout.Bytes(), &got); err != nil || len(got.Cells) != 1 || got.Cells[0].Load == nil {
			t.Fatalf("%v: %s", err, r.stdout.String())
		}
		cell := got.Cells[0]
		l := cell.Load
		if len(l.Generators) != 2 || l.Generators[0].Place != "load1" || l.Generators[1].Place != "down1" || l.Generators[0].Connections != 3 || l.Identity() != 0 || l.StartSpreadMS == nil {
			t.Fatalf("%+v, spread %v", l.Generators, l.StartSpreadMS)
		}
		for _, g := range l.Generators {
			if g.Requests.OK == 0 || g.OpenLateMS == nil || *g.OpenLateMS < 0 {
				t.Errorf("%+v", g)
			}
		}
		if cell.Status != "ok" || cell.Machines["load1"] == nil || cell.Machines["down1"] == nil || cell.Probes["load"] == nil {
			t.Errorf("the cell is not whole: %s", r.stdout.String())
		}
		n.nothingLeft(t, time.Second, n.names...)
	})
	t.Run("link cut", func(t *testing.T) {
		r := n.loomlab(t, append([]string{"run", n.file, "--standins", "--duration", "60s"}, places...)...)
		n.awaitTier(t, "load1", "load")
		time.Sleep(time.Second)
		n.do("ip", "-n", n.ns("hub"), "link", "set", "v-app1", "down")
		n.nothingLeft(t, 10*time.Second, "app1")
		status := r.wait()
		n.do("ip", "-n", n.ns("hub"), "link", "set", "v-app1", "up")
		if status != exitFailed || !strings.Contains(r.stderr.String(), "the connection to app1 was lost") {
			t.Errorf("exit status %d: %s", status, r.stderr.String())
		}
		n.nothingLeft(t, 10*time.Second, n.names...)
	})
	t.Run("orchestrator killed", func(t *testing.T) {
		r := n.loomlab(t, append([]string{"run", n.file, "--standins", "--duration", "60s"}, places...)...)
		n.awaitTier(t, "load1", "load")
		_ = syscall.Kill(r.pid(), syscall.SIGKILL)
		r.wait()
		n.nothingLeft(t, 10*time.Second, n.names...)
	})
	for name, tt := range map[string]struct{ place, hosts, want string }{
		"wrong host key": {"impostor", "impostor: {ssh: impostor, ssh_options: [-F, DIR/config]}", "host impostor: ssh says: Host key verification failed."},
		"full disk":      {"small", "small: {ssh: app1, ssh_options: [-F, DIR/config], dir: DIR/small}", "No space left on device"},
		"unreachable":    {"ghost", "ghost: {ssh: ghost, ssh_options: [-F, DIR/config]}", "host ghost: ssh says: ssh: connect to host 10.77.0.99 port 22: "},
		"unknown host":   {"nobody", "nobody: {ssh: nobody.invalid, ssh_options: [-F, DIR/config]}", "host nobody: ssh says: ssh: Could not resolve hostname nobody.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "hosts.yaml")
			if err := os.WriteFile(file, []byte("hosts:\n  "+strings.ReplaceAll(tt.hosts, "DIR", n.dir)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := n.loomlab(t, "run", n.file, "--standins", "--hosts", file, "--place", "sut="+tt.place)
			status := r.wait()
			first, _, _ := strings.Cut(r.stderr.String()[max(0, strings.Index(r.stderr.String(), "loomlab: ")):], "\n")
			if status != exitUsage || !strings.Contains(first, tt.want) {
				t.Errorf("exit status %d: %s", status, r.stderr.String())
			}
			n.nothingLeft(t, time.Second, n.names...)
		})
	}
}

// hosts are machines of a test's own: a namespace each, with an sshd, at a bridge
// in the namespace of the orchestrator, hub.
type hosts struct {
	t     *testing.T
	dir   string
	names []string
	file  string // of an experiment whose hosts they are
}

func (n *hosts) ns(name string) string { return fmt.Sprintf("loomlab-%d-%s", os.Getpid(), name) }

// do runs a command that must work.
func (n *hosts) do(argv ...string) {
	n.t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
}

func (n *hosts) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func newHosts(t *testing.T, names ...string) *hosts {
	n := &hosts{t: t, dir: t.TempDir(), names: names}
	if out, err := exec.Command("ip", "netns", "add", n.ns("hub")).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: tiers over ssh: no network namespace can be made here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.ns("hub")).Run() })
	n.do("ip", "-n", n.ns("hub"), "link", "set", "lo", "up")
	n.do("ip", "-n", n.ns("hub"), "link", "add", "br0", "type", "bridge")
	n.do("ip", "-n", n.ns("hub"), "addr", "add", "10.77.0.1/24", "dev", "br0")
	n.do("ip", "-n", n.ns("hub"), "link", "set", "br0", "up")
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where sshd parts its privileges
		t.Fatal(err)
	}
	n.do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(n.dir, "key"))
	n.do("mkdir", filepath.Join(n.dir, "small"))
	n.do("mount", "-t", "tmpfs", "-o", "size=2m", "none", filepath.Join(n.dir, "small"))
	t.Cleanup(func() { _ = exec.Command("umount", filepath.Join(n.dir, "small")).Run() })

	known, yaml := "", "name: placed\ntitle: three hosts\ndownstream: {delay: 20ms}\nload: {path: /call, connections: [5], rounds: 1, duration: 2s, warmup: none}\nhosts:\n"
	entry := func(host, address string) string {
		return fmt.Sprintf("Host %s\n  HostName %s\n  User root\n  IdentityFile %s/key\n  IdentitiesOnly yes\n  UserKnownHostsFile %s/known\n  GlobalKnownHostsFile none\n", host, address, n.dir, n.dir)
	}
	config := entry("ghost", "10.77.0.99") + strings.ReplaceAll(entry("impostor", "10.77.0.3"), "/known", "/known-wrong")
	for i, name := range names {
		address := fmt.Sprintf("10.77.0.%d", i+2)
		n.addHost(name, address)
		key, err := os.ReadFile(filepath.Join(n.dir, "host-"+name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		known += address + " " + string(key)
		config += entry(name, address)
		yaml += fmt.Sprintf("  %s: {ssh: %s, ssh_options: [-F, %s/config], dir: %s/%s}\n", name, name, n.dir, n.dir, name)
	}
	n.write("known", known)
	another, _, _ := strings.Cut(strings.TrimPrefix(known, "10.77.0.2 "), "\n")
	n.write("known-wrong", "10.77.0.3 "+another+"\n") // app1 with the key of another
	n.write("config", config)
	n.write("placed.yaml", yaml+"suts:\n  - {name: mine, app: mvc, standin: {model: goroutines}}\n")
	n.file = filepath.Join(n.dir, "placed.yaml")
	return n
}

// addHost makes a namespace with an address and an sshd.
func (n *hosts) addHost(name, address string) {
	n.t.Helper()
	ns := n.ns(name)
	n.do("ip", "netns", "add", ns)
	n.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	n.do("ip", "-n", n.ns("hub"), "link", "add", "v-"+name, "type", "veth", "peer", "name", "eth0", "netns", ns)
	n.do("ip", "-n", n.ns("hub"), "link", "set", "v-"+name, "master", "br0", "up")
	n.do("ip", "-n", ns, "addr", "add", address+"/24", "dev", "eth0")
	n.do("ip", "-n", ns, "link", "set", "eth0", "up")
	n.do("ip", "-n", ns, "link", "set", "lo", "up")
	n.do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(n.dir, "host-"+name))
	n.write("sshd-"+name, fmt.Sprintf("ListenAddress %s\nHostKey %s/host-%s\nAuthorizedKeysFile %s/key.pub\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n", address, n.dir, name, n.dir))
	sshd := exec.Command("ip", "netns", "exec", ns, "/usr/sbin/sshd", "-D", "-f", filepath.Join(n.dir, "sshd-"+name), "-E", filepath.Join(n.dir, "log-"+name))
	if err := sshd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = sshd.Process.Kill()
		_ = sshd.Wait()
		for _, pid := range n.pids(name) { // sessions that a cut link has left
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	for range 100 {
		if out, _ := exec.Command("ip", "netns", "exec", ns, "ss", "-Hltn", "sport = 22").Output(); len(out) > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	n.t.Fatalf("the sshd of %s does not listen", name)
}

// pids are the processes in a host's namespace.
func (n *hosts) pids(name string) []int {
	out, _ := exec.Command("ip", "netns", "pids", n.ns(name)).Output() // a namespace that is gone has none
	var pids []int
	for _, word := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ours are the command lines in a host's namespace that are not sshd's.
func (n *hosts) ours(name string) []string {
	var lines []string
	for _, pid := range n.pids(name) {
		if line, running := commandOf(pid); running && !strings.Contains(line, "sshd") {
			lines = append(lines, line)
		}
	}
	return lines
}

// nothingLeft wants nothing of ours to run on hosts after at most limit.
func (n *hosts) nothingLeft(t *testing.T, limit time.Duration, names ...string) {
	t.Helper()
	var left []string
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		left = nil
		for _, name := range names {
			left = append(left, n.ours(name)...)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%v after the end there still are %q", limit, left)
			return
		}
	}
}

// awaitTier waits until a tier runs on a host.
func (n *hosts) awaitTier(t *testing.T, host, tier string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, line := range n.ours(host) {
			if strings.Contains(line, "loomlab "+tier) || strings.Contains(line, "loomlab\x00"+tier) {
				return
			}
		}
	}
	t.Fatalf("no %s on %s; there are %q", tier, host, n.ours(host))
}

// placedRun is a loomlab in the namespace of the orchestrator.
type placedRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (n *hosts) loomlab(t *testing.T, args ...string) *placedRun {
	t.Helper()
	r := &placedRun{cmd: exec.Command("ip", append([]string{"netns", "exec", n.ns("hub"), "loomlab"}, args...)...)}
	r.cmd.Dir = t.TempDir()
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = 5 * time.Second
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// pid is that of loomlab itself: ip becomes the command that it runs.
func (r *placedRun) pid() int { return r.cmd.Process.Pid }

func (r *placedRun) wait() int {
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}
