package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loomlab/lab/netns"
	"loomlab/lab/phrase"
	"loomlab/lab/plan"
	"loomlab/probes"
)

// freePort returns a loopback port that nobody listens on now.
func freePort() (int, error) { return freePortOn(plan.LoopbackAddress) }

// freePortOn does it on an address of this machine.
func freePortOn(address string) (int, error) {
	for range 200 {
		port := plan.FirstPort + rand.IntN(plan.LastPort-plan.FirstPort)
		l, err := net.Listen("tcp", plan.HostPort(address, port))
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			return 0, fmt.Errorf("no interface of this machine has the address %s", address)
		}
		if err != nil {
			continue
		}
		l.Close()
		return port, nil
	}
	return 0, fmt.Errorf("no free port on %s between %d and %d", address, plan.FirstPort, plan.LastPort)
}

// localPort returns the port of an http URL whose host is loopback, and 0 for
// one that is elsewhere: whose its sockets are cannot be seen from here.
func localPort(base string) int {
	u, err := url.Parse(base)
	if err != nil {
		return 0
	}
	if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
		return 0
	}
	if u.Port() == "" {
		return 80
	}
	port, _ := strconv.Atoi(u.Port()) // an http URL has no other than a number
	return port
}

// freePortIn returns a loopback port that nobody in the namespace listens on now.
func freePortIn(n *netns.Namespace) (port int, err error) {
	err = n.Enter(func() (err error) {
		port, err = freePort()
		return err
	})
	return port, err
}

// portHolder says who listens on a port of the namespace, in words, or "" when
// nobody does; port 0 is no port.
func portHolder(n *netns.Namespace, port int) string {
	if port == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := n.Dial(ctx, "tcp", plan.Loopback(port))
	if err != nil {
		return ""
	}
	conn.Close()
	if n != nil {
		return "another process of its network namespace"
	}
	return listenerName(port)
}

// listenerName names the process that listens on port as well as it can.
func listenerName(port int) string {
	pid, err := probes.NewFS("/").ListeningPID(port)
	if err != nil || pid == 0 {
		return "another process"
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // it may have ended: then it has no name
	return strings.TrimSpace(fmt.Sprintf("process %d %s", pid, phrase.Printable(strings.TrimSpace(string(comm)))))
}
