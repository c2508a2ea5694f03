package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/plan"
	"loomlab/lab/record"
	"loomlab/probes"
)

// What a fork does differently for a tier that is on another machine: every
// question goes to the probe there, and answers come back on this clock.

// site is where a tier of the fork runs; nil for this machine. Of a load in
// several places it is the first's.
func (f *fork) site(tier string) *site { return f.launcher(tier).site }

// sites are the other machines on which tiers of the fork run.
func (f *fork) sites() []*site {
	var all []*site
	for _, tier := range experiment.Tiers {
		if tier == record.TierDownstream && f.sut.Downstream == nil {
			continue
		}
		for _, l := range f.launchers(tier) {
			if l.site != nil && !slices.Contains(all, l.site) {
				all = append(all, l.site)
			}
		}
	}
	return all
}

// listen finds where a tier is to listen, and the address at which others reach it.
func (f *fork) listen(ctx context.Context, tier string) (listen, reach string, port int, err error) {
	s := f.site(tier)
	address := plan.LoopbackAddress
	if f.plan.Exposed(f.sut, tier) {
		if address, err = f.addressOf(s, f.sites()); err != nil {
			return "", "", 0, err
		}
	}
	if s != nil {
		var a portAnswer
		err = s.ask(ctx, askLimit, "port", portQuestion{address}, &a)
		return a.Address, address, a.Port, err
	}
	if address == plan.LoopbackAddress {
		port, err = freePortIn(f.netns)
	} else {
		port, err = freePortOn(address)
	}
	return address, address, port, err
}

// addressOf is where tiers on a site, or here, are reached from other machines.
func (f *fork) addressOf(s *site, others []*site) (string, error) {
	if s != nil {
		if s.address == "" {
			//lint:ignore ST1005 it ends with the key as it stands in the file
			return "", fmt.Errorf("host %s has no address at which others reach its tiers; give it one with address:", s.name)
		}
		return s.address, nil
	}
	if own := f.plan.Experiment.Hosts[experiment.LocalHost].Address; own != "" {
		return own, nil
	}
	for _, other := range others {
		if other.address == "" {
			continue
		}
		// Nothing is sent: the kernel says which of its addresses it would use.
		conn, err := net.Dial("udp", plan.HostPort(other.address, 9))
		if err != nil {
			continue
		}
		host, _, err := net.SplitHostPort(conn.LocalAddr().String())
		_ = conn.Close()
		if err == nil {
			return host, nil
		}
	}
	return "", fmt.Errorf("it is not known at which address other machines reach this one; say it in hosts: {local: {address: …}}")
}

// proberOf asks a tier from beside it.
func (f *fork) proberOf(tier, base string) *prober {
	p := newProber(base).in(f.netns)
	if tier == record.TierSUT && f.sut.Kind == record.KindURL {
		tier = record.TierLoad // from where it will be called
	}
	p.site = f.site(tier)
	return p
}

// get asks from the site.
func (s *site) get(ctx context.Context, base, path string, limit time.Duration) (answer, error) {
	var a getAnswer
	if err := s.ask(ctx, limit+askLimit, "get", getQuestion{base, path, limit}, &a); err != nil {
		return answer{}, err
	}
	if a.Failed != "" {
		return answer{}, &awayError{a}
	}
	return answer{a.Status, a.Body, a.Took}, nil
}

// awayError is why a tier gave a probe no answer.
type awayError struct{ getAnswer }

func (e *awayError) Error() string        { return e.Failed }
func (e *awayError) Is(target error) bool { return e.Refused && target == syscall.ECONNREFUSED }
func (e *awayError) Timeout() bool        { return e.getAnswer.Timeout }
func (e *awayError) Temporary() bool      { return false }

// solo asks from the site.
func (s *site) solo(ctx context.Context, base string, limit time.Duration) (time.Duration, error) {
	var a getAnswer
	err := s.ask(ctx, soloRequests*limit+askLimit, "solo", getQuestion{base, "/", limit}, &a)
	return a.Took, err
}

// machine samples the site's machine, on this clock.
func (s *site) machine() (probes.MachineSample, float64) {
	var a machineAnswer
	if err := s.ask(context.Background(), askLimit, "machine", nothing{}, &a); err != nil {
		return probes.MachineSample{Unavailable: map[string]string{"machine": err.Error()}}, 0
	}
	a.Sample.At = s.clock.here(a.Sample.At)
	return a.Sample, a.Own
}

// acceptQueue is how many wait at a port of a tier's machine to be accepted.
func (f *fork) acceptQueue(tier string, port int) (int64, error) {
	s := f.site(tier)
	if s == nil {
		return f.sockets().AcceptQueue(port)
	}
	var a countAnswer
	err := s.ask(context.Background(), askLimit, "queue", queueQuestion{port}, &a)
	return a.N, err
}

// allowedCPUs is how many CPUs a tier may run on; 0: not known.
func allowedCPUs(t *tier) int {
	if t.away != nil {
		return t.away.cpus
	}
	cpus, err := probes.NewFS("/").AllowedCPUs(t.pid)
	if err != nil {
		return 0
	}
	return len(cpus)
}

// machineOf is the machine of a tier, as far as rules ask for it: its name in the
// record and how many CPUs it has.
func (f *fork) machineOf(tier string) (host string, cores int) {
	s := f.site(tier)
	if s == nil {
		return "", f.plan.Facts.Cores
	}
	return s.name, s.facts.Machine.Cores
}

// paths measures the way from the load to the SUT and from there to the
// downstream, where they are on several machines. That a tier cannot be reached
// is the reason why there is nothing to measure.
func (f *fork) paths(ctx context.Context) error {
	if f.plan.Away(&f.sut.SUT) == "" || f.lab == nil {
		return nil
	}
	for _, l := range f.launchers(record.TierLoad) {
		if err := f.path(ctx, record.TierLoad, l.site, record.TierSUT, f.url); err != nil {
			return err
		}
	}
	if f.down != nil && f.app != nil {
		return f.path(ctx, record.TierSUT, f.site(record.TierSUT), record.TierDownstream, f.downURL)
	}
	return nil
}

// path measures one way and keeps it.
func (f *fork) path(ctx context.Context, from string, s *site, to, base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	port := cmp.Or(u.Port(), "80")
	address := net.JoinHostPort(u.Hostname(), port)
	var a pathAnswer
	if s != nil {
		err = s.ask(ctx, pathConnects*readyPatience+askLimit, "path", pathQuestion{address}, &a)
	} else {
		err = f.netns.Enter(func() (err error) {
			a.RTT, err = pathTime(ctx, address)
			return err
		})
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the %s cannot reach the %s at %s: %w; does the %s listen there ({{address}} is where), and does no firewall stand between?", from, to, address, err, to)
	}
	fromHost, toHost := hostName(s), hostName(f.site(to))
	if fromHost != toHost {
		f.lab.run.Paths = append(f.lab.run.Paths, record.Path{SUT: f.sut.Name, Fork: f.n, From: from, To: to, Host: fromHost, ToHost: toHost, RTTMS: a.RTT.Seconds() * 1e3})
	}
	return nil
}

// hostName is how the record calls a site; this machine is local.
func hostName(s *site) string {
	if s == nil {
		return experiment.LocalHost
	}
	return s.name
}

// onThisClock is a line of JSON with its "at" on the orchestrator's clock.
func (s *site) onThisClock(line []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil || fields["at"] == nil {
		return line
	}
	var at float64
	if json.Unmarshal(fields["at"], &at) != nil {
		return line
	}
	there, err := json.Marshal(s.clock.here(at))
	if err != nil {
		return line
	}
	fields["at"] = there
	if moved, err := json.Marshal(fields); err == nil {
		return moved
	}
	return line
}

// placeholders are what a tier on the site has in the place of this machine's
// JDK and apps.
func (s *site) placeholders(sut *plan.SUT) experiment.Placeholders {
	if s == nil {
		return nil
	}
	values := experiment.Placeholders{}
	if home := s.jdks[sut.JDK]; home != "" {
		values["jdk"] = home
	}
	if folder := s.folders[sut.Apps]; folder != "" {
		values["apps"] = folder
	}
	if s.scratch != "" {
		values["run_dir"] = s.scratch
	}
	return values
}

// otherMachines are the machines of the fork's tiers beside the SUT's, with their cores.
func (f *fork) otherMachines() map[string]int {
	others := map[string]int{experiment.LocalHost: f.plan.Facts.Cores}
	for _, s := range f.sites() {
		others[s.name] = s.facts.Machine.Cores
	}
	return others
}
