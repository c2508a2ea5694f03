package plan

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// Exposed tells whether a tier must listen where other machines reach it: the SUT
// for the load, the downstream for the SUT and for the load that calibrates.
func (p *Plan) Exposed(s *SUT, tier string) bool {
	own := p.Launcher(&s.SUT, tier).Host
	callers := p.Launchers(&s.SUT, record.TierLoad)
	if tier == record.TierDownstream && s.Kind != record.KindURL {
		callers = append(callers, p.Launcher(&s.SUT, record.TierSUT))
	}
	return slices.ContainsFunc(callers, func(l experiment.Launcher) bool { return l.Host != own })
}

// shownAddress is the address of a tier as far as it is known before hosts are
// asked: what a dry run shows.
func (p *Plan) shownAddress(s *SUT, tier string) string {
	if !p.Exposed(s, tier) {
		return LoopbackAddress
	}
	host := p.Launcher(&s.SUT, tier).Host
	h := p.Host(host)
	_, destination := cutLast(h.SSH, "@")
	switch {
	case p.Addresses[host] != "":
		return p.Addresses[host]
	case h.Address != "":
		return h.Address
	case host == "":
		if own := p.Experiment.Hosts[experiment.LocalHost].Address; own != "" {
			return own
		}
		return "ADDRESS-OF-THIS-MACHINE"
	case len(h.Command) > 0:
		return "ADDRESS-OF-" + host
	}
	return destination
}

// cutLast cuts text after the last separator; all of it is behind one that is not there.
func cutLast(text, separator string) (before, after string) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", text
	}
	return text[:at], text[at+len(separator):]
}

// Exposure says which tiers will listen on more than loopback, one line each.
func (p *Plan) Exposure() []string {
	var lines []string
	for i := range p.SUTs {
		s := &p.SUTs[i]
		for _, tier := range []string{record.TierSUT, record.TierDownstream} {
			if tier == record.TierSUT && s.Kind == record.KindURL || tier == record.TierDownstream && s.Downstream == nil || !p.Exposed(s, tier) {
				continue
			}
			who := "the downstream"
			if tier == record.TierSUT {
				who = s.Name
			}
			line := fmt.Sprintf("%s listens on %s, where everybody who reaches that address can call it", who, p.shownAddress(s, tier))
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// writePlaces says where tiers run, and how the other machines are reached.
func (p *Plan) writePlaces(b *strings.Builder) {
	e := &p.Experiment
	for _, tier := range slices.Sorted(maps.Keys(e.Place)) {
		fmt.Fprintf(b, "place: %s runs at %s\n", tier, e.Place[tier])
	}
	for _, name := range p.Hosts() {
		fmt.Fprintf(b, "host: %s is reached by %s; program and jars go to %s there\n", name, HostText(p.Host(name)), HostDir(p.Host(name)))
	}
	for _, line := range p.Exposure() {
		fmt.Fprintf(b, "listen: %s\n", line)
	}
}

// HostText says how a host is reached.
func HostText(h record.Host) string {
	if h.SSH != "" {
		return record.JoinWords(append(append([]string{"ssh"}, h.SSHOptions...), h.SSH))
	}
	return record.JoinWords(h.Command)
}

// defaultHostDir is where programs and jars are kept on a host.
const defaultHostDir = "~/.cache/loomlab"

// HostDir is where programs and jars are kept on h.
func HostDir(h record.Host) string {
	if h.Dir == "" {
		return defaultHostDir
	}
	return h.Dir
}

// Hosts are the names of the other machines that the plan's tiers run on.
func (p *Plan) Hosts() []string {
	names := map[string]bool{}
	for i := range p.SUTs {
		for _, tier := range experiment.Tiers {
			for _, l := range p.Launchers(&p.SUTs[i].SUT, tier) {
				if l.Host != "" {
					names[l.Host] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// LoopbackAddress is where tiers listen as long as nobody elsewhere needs them.
const LoopbackAddress = "127.0.0.1"

// AnyAddress is every address of a machine.
const AnyAddress = "0.0.0.0"

// HostPort joins an address and a port.
func HostPort(address string, port int) string { return net.JoinHostPort(address, strconv.Itoa(port)) }

// Loopback is the address of a port of this machine.
func Loopback(port int) string { return HostPort(LoopbackAddress, port) }

// Ports of tiers lie below the range that Linux (from 32768) and macOS (from
// 49152) give to outgoing connections: thousands of those could take a tier's
// port between choosing and listening.
const (
	FirstPort = 20000
	LastPort  = 32000
)
