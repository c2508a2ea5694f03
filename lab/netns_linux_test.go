package lab

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/netns"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/probes"
)

// ownNetns makes a namespace, or skips the test where that cannot be.
func ownNetns(t *testing.T, sysctl map[string]string) *netns.Namespace {
	t.Helper()
	if why := netns.Lacks(); why != "" {
		t.Skip(why)
	}
	n, err := netns.New(sysctl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func TestTierInANetworkNamespaceOfItsOwn(t *testing.T) {
	n := ownNetns(t, map[string]string{"net.core.somaxconn": "77", "net.ipv4.ip_local_port_range": "40000 40599"})
	mine, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	const script = "cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/ip_local_port_range; ls /sys/class/net >/dev/null; sed -n 3,9p /proc/net/dev"
	tr, err := start(os.Args[0], launch{tier: "sut", place: launcher{Launcher: experiment.Launcher{CPUs: "0", Netns: n.Path()}}, argv: []string{"sh", "-c", script}, log: &log})
	if err != nil {
		t.Fatal(err)
	}
	<-tr.gone
	fields := strings.Fields(log.String())
	if len(fields) < 4 || !slices.Equal(fields[:4], []string{"77", "40000", "40599", "lo:"}) || strings.Count(log.String(), ":") != 1 {
		t.Errorf("inside the namespace:\n%s", log.String())
	}
	if after, _ := os.ReadFile("/proc/sys/net/core/somaxconn"); !bytes.Equal(mine, after) {
		t.Errorf("somaxconn of this machine was %s and is %s", mine, after)
	}
}

func TestNetnsGoesWithItsLastHolder(t *testing.T) {
	n := ownNetns(t, nil)
	inode, err := os.Readlink(n.Path())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := start(os.Args[0], launch{tier: "sut", place: launcher{Launcher: experiment.Launcher{Netns: n.Path()}}, argv: []string{"sleep", "60"}, log: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	if link, err := os.Readlink("/proc/" + strconv.Itoa(tr.pid) + "/ns/net"); err != nil || link != inode {
		t.Errorf("the tier is in %s, %v, not in %s", link, err, inode)
	}
	tr.stop()
	links, err := filepath.Glob("/proc/[0-9]*/task/*/ns/net")
	if err != nil || len(links) == 0 {
		t.Fatalf("%d threads, %v", len(links), err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == inode {
			t.Errorf("%s is still in the namespace", link)
		}
	}
}

// TestReachANetns holds that this process reaches a server in a namespace, and
// reads its sockets, without being in it.
func TestReachANetns(t *testing.T) {
	n := ownNetns(t, nil)
	port, err := freePortIn(n)
	if err != nil {
		t.Fatal(err)
	}
	var listener net.Listener
	if err := n.Enter(func() (err error) {
		listener, err = net.Listen("tcp", plan.Loopback(port))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := n.Dial(t.Context(), "tcp", plan.Loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if conn, err := (*netns.Namespace)(nil).Dial(t.Context(), "tcp", plan.Loopback(port)); err == nil {
		conn.Close()
		t.Error("the port can be reached from outside of the namespace")
	}
	if got := portHolder(n, port); got != "another process of its network namespace" {
		t.Errorf("the port is held by %q", got)
	}
	sleeper, err := start(os.Args[0], launch{tier: "sut", place: launcher{Launcher: experiment.Launcher{Netns: n.Path()}}, argv: []string{"sleep", "60"}, log: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sleeper.stop()
	fs := probes.NewFS("/")
	if waiting, err := fs.NetOf(sleeper.pid).AcceptQueue(port); err != nil || waiting < 1 {
		t.Errorf("%d wait to be accepted, %v", waiting, err)
	}
	if _, err := fs.AcceptQueue(port); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("this machine's own sockets: %v", err)
	}
	if s := fs.NetOf(sleeper.pid).SampleMachine(); s.ListenOverflows == nil || *s.ListenOverflows != 0 || s.BusyS == nil {
		t.Errorf("counters of a fresh namespace: %+v", s)
	}
}

func TestNetnsThatCannotBe(t *testing.T) {
	ownNetns(t, nil)
	for name, want := range map[string]string{
		"net.ipv4.no_such_thing": "net.ipv4.no_such_thing is no setting that a network namespace has for itself",
		"net.core.somaxconn":     `cannot set net.core.somaxconn to "many" in a network namespace: invalid argument`,
	} {
		n, err := netns.New(map[string]string{name: "many"})
		n.Close()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	placed, err := experiment.ParseLauncher("netns:loomlab-is-not-there", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = start(os.Args[0], launch{tier: "sut", place: launcher{Launcher: placed}, argv: []string{"true"}, log: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "cannot open network namespace loomlab-is-not-there: no such file or directory") {
		t.Errorf("a namespace that is not there: %v", err)
	}
}

func TestForkInANetns(t *testing.T) {
	ownNetns(t, nil)
	down := &record.Downstream{}
	f := &fork{plan: &plan.Plan{}, lab: &lab{plan: &plan.Plan{}}, sut: &plan.SUT{SUT: record.SUT{Name: "s", Downstream: down, Netns: &record.Netns{Sysctl: map[string]string{"net.core.somaxconn": "9"}}}}}
	if err := f.openNetns(); err != nil {
		t.Fatal(err)
	}
	defer f.netns.Close()
	for _, tier := range experiment.Tiers {
		if l := f.launcher(tier); l.Netns != f.netns.Path() {
			t.Errorf("%s runs at %+v", tier, l)
		}
	}
	if err := f.netns.Enter(func() error {
		value, err := os.ReadFile("/proc/sys/net/core/somaxconn")
		if strings.TrimSpace(string(value)) != "9" {
			t.Errorf("somaxconn is %s", value)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.netns.Dial(ctx, "tcp", plan.Loopback(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a dial that was given up: %v", err)
	}
}
