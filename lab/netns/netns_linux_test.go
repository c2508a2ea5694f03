package netns

import (
	"net"
	"os"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestNewHasItsOwnSettingsAndLoopback(t *testing.T) {
	if why := Lacks(); why != "" {
		t.Skip("SKIPPED, no network namespace can be made here: " + why)
	}
	const file = "/proc/sys/net/core/somaxconn"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(map[string]string{"net.core.somaxconn": "17"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var inside []byte
	var l net.Listener
	if err := n.Enter(func() (err error) {
		if inside, err = os.ReadFile(file); err != nil {
			return err
		}
		l, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := strings.TrimSpace(string(inside)); got != "17" {
		t.Errorf("somaxconn is %s inside", got)
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Errorf("somaxconn outside was %s and is %s", before, after)
	}
	conn, err := n.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("loopback inside: %v", err)
	}
	conn.Close()
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("its port can be reached from outside")
	}
}

func TestSettingsInWords(t *testing.T) {
	n := &record.Netns{Sysctl: map[string]string{"net.ipv4.ip_local_port_range": "50000 50199", "net.core.somaxconn": "16"}}
	if got, want := Text(n), "of its own, net.core.somaxconn = 16, net.ipv4.ip_local_port_range = 50000 50199"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Ports(n); got != 200 {
		t.Errorf("%d ports, want 200", got)
	}
	if got := Ports(&record.Netns{}); got != 28232 {
		t.Errorf("%d ports of a fresh namespace, want 28232", got)
	}
	for name, value := range map[string]string{"vm.swappiness": "1", "net.core.somaxconn": " ", "net.ipv4.tcp_rmem": "1\n2"} {
		if CheckSysctl(name, value) == "" {
			t.Errorf("%s = %q passed", name, value)
		}
	}
}
