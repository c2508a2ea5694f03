package netns

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"

	"loomlab/lab/record"
)

// Namespace is a network namespace that tiers run in, held open by a descriptor. One
// that nothing else holds ends with the last process in it, however that ends, so
// there is nothing to remove. The nil one is that of this process.
type Namespace struct {
	file *os.File // under /proc/…/ns, or where ip(8) keeps a namespace by its name
}

// Folder is where ip(8) keeps the namespaces that it names.
const Folder = "/var/run/netns/"

// Path names the namespace to a guard, for as long as this process has it open.
func (n *Namespace) Path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
}

// Close lets go of the namespace; it lives on while processes are in it.
func (n *Namespace) Close() {
	if n != nil {
		_ = n.file.Close() // it was only read
	}
}

// Dial connects from within the namespace. The socket stays there wherever it is
// used. Addresses are tried one after the other, never from other threads.
func (n *Namespace) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	dialer := net.Dialer{FallbackDelay: -1}
	err = n.Enter(func() (err error) {
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// sysctlName is a setting of the network; no others belong to a namespace.
var sysctlName = regexp.MustCompile(`^net(\.[A-Za-z0-9_-]+)+$`)

// CheckSysctl returns what is wrong with a setting of a namespace, or "".
func CheckSysctl(name, value string) string {
	switch {
	case !sysctlName.MatchString(name):
		return fmt.Sprintf("%q is no setting of a network namespace, such as net.core.somaxconn or net.ipv4.ip_local_port_range", name)
	case strings.TrimSpace(value) == "":
		return name + " without a value"
	case strings.ContainsAny(value, "\n\x00"):
		return name + ": a value takes one line"
	}
	return ""
}

// sysctlFile is where the kernel keeps a setting.
func sysctlFile(name string) string { return "/proc/sys/" + strings.ReplaceAll(name, ".", "/") }

// Text says in words what a namespace of a run's own is like.
func Text(n *record.Netns) string {
	if n == nil {
		return ""
	}
	if len(n.Sysctl) == 0 {
		return "of its own"
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(n.Sysctl)) {
		settings = append(settings, name+" = "+n.Sysctl[name])
	}
	return "of its own, " + strings.Join(settings, ", ")
}

// Ports is how many local ports there are in a namespace of a run's own:
// what its settings say, or what Linux gives a fresh one.
func Ports(n *record.Netns) int {
	var first, last int
	if _, err := fmt.Sscan(n.Sysctl["net.ipv4.ip_local_port_range"], &first, &last); err != nil {
		first, last = 32768, 60999
	}
	return last - first + 1
}

// Lacks says why no network namespace can be made here, or "".
func Lacks() string {
	n, err := New(nil)
	n.Close()
	if err != nil {
		return err.Error()
	}
	return ""
}

// Name is what users call the namespace that is held by a file.
func Name(path string) string {
	if path == "" {
		return "the lab's own network namespace"
	}
	return "network namespace " + strings.TrimPrefix(path, Folder)
}
