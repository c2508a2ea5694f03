package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"loomlab/lab/netns"
)

// labelled is a SUT whose bottleneck is known.
type labelled struct {
	label string
	sut   string   // its keys in the experiment file, without the name
	right []string // kinds of verdict that are right
}

// group is one experiment: cases that share a load and a place.
type group struct {
	head   string // the experiment's keys above its SUTs
	cases  func(*rand.Rand) []labelled
	lacks  func() string                   // why it cannot run here; "" when it can
	around func() (stop func(), err error) // what goes on meanwhile
}

// always is for groups that run everywhere.
func always() string { return "" }

// twoCPUs is for groups that pin tiers.
func twoCPUs() string {
	switch {
	case runtime.GOOS != "linux":
		return "CPU affinity needs Linux"
	case runtime.NumCPU() < 2:
		return "it takes 2 CPUs"
	}
	return ""
}

const plainLoad = "load: {connections: [%d], rounds: 1, duration: 2s, timeout: 10s, warmup: {min: 0s, max: 0s}}"

// drawn are the parameters of one case.
type drawn struct{ *rand.Rand }

func (d drawn) between(low, high int) int { return low + d.IntN(high-low+1) }

func (d drawn) oneOf(words ...string) string { return words[d.IntN(len(words))] }

// delay is a downstream of its own with a delay of 20 to 150 ms, and more keys.
func (d drawn) delay(more string) string {
	return fmt.Sprintf("downstream: {delay: %dms%s}", d.between(20, 150), more)
}

// standin is the command of a stand-in with flags.
func standin(binary, flags string) string {
	words := append([]string{binary, "standin", "--listen", "127.0.0.1:{{port}}", "--downstream", "{{downstream}}"}, strings.Fields(flags)...)
	return "command: ['" + strings.Join(words, "', '") + "']"
}

// self is this program, which has servers with faults of their own.
func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}

// plainConnections is the rung of most groups: more than every limit that is drawn.
const plainConnections = 160

func caseGroups(binary string) []group {
	cases := func(f func(drawn) []labelled) func(*rand.Rand) []labelled {
		return func(r *rand.Rand) []labelled { return f(drawn{r}) }
	}
	plain := fmt.Sprintf(plainLoad, plainConnections)
	pin := func(places string) string { return plain + "\nplace: {" + places + "}" }
	return []group{
		{head: plain, lacks: always, cases: cases(func(d drawn) []labelled { return limitCases(d, binary) })},
		{head: plain, lacks: always, cases: cases(func(d drawn) []labelled { return faultCases(d, binary) })},
		{head: plain, lacks: always, cases: cases(func(d drawn) []labelled { return controlCases(d, binary) })},
		{head: plain, lacks: twoCPUs, cases: cases(func(d drawn) []labelled {
			return []labelled{{"one hot thread", d.delay("") + ", " + standin(binary, fmt.Sprintf("--hot-thread --cpu-per-request %dus --model %s",
				d.between(1500, 4000), d.oneOf("threads", "goroutines"))), []string{"hot-thread"}}}
		})},
		{head: pin("sut: 'cpus:0', load: 'cpus:1', downstream: 'cpus:1'"), lacks: twoCPUs, cases: cases(func(d drawn) []labelled {
			return []labelled{{"SUT CPU", d.delay("") + ", " + standin(binary, fmt.Sprintf("--cpu-per-request %dus --model %s",
				d.between(1500, 4000), d.oneOf("threads", "goroutines", "event-loop"))), []string{"cpu"}}}
		})},
		{head: strings.Replace(pin("sut: 'cpus:0', load: 'cpus:1'"), "duration:", "engine: portable, duration:", 1), lacks: twoCPUs, cases: cases(func(d drawn) []labelled {
			// Nothing answers more cheaply than the downstream, and the portable engine costs most.
			return []labelled{{"engine CPU", fmt.Sprintf("downstream: none, command: ['%s', downstream, --listen, '127.0.0.1:{{port}}', --delay, 0s, --body-size, '%d']",
				binary, d.between(2, 1000)), []string{"load-engine"}}}
		})},
		{head: pin("sut: 'cpus:0', load: 'cpus:1', downstream: 'cpus:0'"), lacks: realtimeLacks, around: hogs(1, 1, 70*time.Millisecond, 15*time.Millisecond), cases: cases(func(d drawn) []labelled {
			return []labelled{{"engine descheduled", d.delay("") + ", " + standin(binary, "--model "+d.oneOf("goroutines", "event-loop")), []string{"load-engine"}}}
		})},
		{head: pin("sut: 'cpus:0', load: 'cpus:0', downstream: 'cpus:1'"), lacks: realtimeLacks, around: hogs(1, 1, 70*time.Millisecond, 15*time.Millisecond), cases: cases(func(d drawn) []labelled {
			return []labelled{{"downstream descheduled", d.delay("") + ", " + standin(binary, "--model "+d.oneOf("goroutines", "event-loop")), []string{"downstream"}}}
		})},
		{head: plain, lacks: twoCPUs, around: hogs(1, -1), cases: cases(func(d drawn) []labelled {
			return []labelled{{"control: a stranger's CPU load", d.delay("") + ", " + standin(binary, "--model goroutines"), []string{"client-limited", "unknown"}}}
		})},
		// So few local ports are used up by a few seconds without keep-alive.
		{head: "netns: {sysctl: {net.ipv4.ip_local_port_range: '50000 50199'}}\nload: {connections: [40], rounds: 1, duration: 2s, no_keepalive: true, warmup: {min: 0s, max: 0s}}",
			lacks: netns.Lacks, cases: cases(func(d drawn) []labelled {
				return []labelled{{"local ports, no keep-alive", fmt.Sprintf("%s, command: ['%s', server, '127.0.0.1:{{port}}', '{{downstream}}']", d.delay(""), self()), []string{"local-ports"}}}
			})},
	}
}

// limitCases have a limit on how many requests can be in the downstream at once.
func limitCases(d drawn, binary string) []labelled {
	workers, pool, both := d.between(20, 80), d.between(20, 80), d.between(20, 80)
	delay, near := d.between(60, 150), d.between(20, 60)
	return []labelled{
		{"worker pool, declared", fmt.Sprintf("%s, limits: {workers: %d}, %s", d.delay(""), workers, standin(binary, fmt.Sprint("--model threads --workers ", workers))), []string{"worker-threads"}},
		{"worker pool, hidden", fmt.Sprintf("%s, %s", d.delay(""), standin(binary, fmt.Sprint("--model threads --workers ", d.between(20, 80)))), []string{"worker-threads"}},
		{"client pool, declared", fmt.Sprintf("%s, limits: {client_pool: %d}, %s", d.delay(""), pool, standin(binary, fmt.Sprintf("--model %s --pool %d", d.oneOf("threads", "goroutines", "event-loop"), pool))), []string{"client-pool"}},
		{"client pool, hidden", fmt.Sprintf("%s, %s", d.delay(""), standin(binary, fmt.Sprintf("--model %s --pool %d", d.oneOf("threads", "goroutines", "event-loop"), d.between(20, 80)))), []string{"client-pool"}},
		{"lock before the call", fmt.Sprintf("%s, %s", d.delay(""), standin(binary, fmt.Sprintf("--model %s --lock %dms", d.oneOf("threads", "goroutines"), d.between(2, 8)))), []string{"lock"}},
		{"lock around the call", fmt.Sprintf("downstream: {delay: %dms}, %s", d.between(20, 50), standin(binary, "--model "+d.oneOf("threads", "goroutines")+" --lock call")), []string{"lock"}},
		{"two limits: workers and pool", fmt.Sprintf("%s, limits: {workers: %d, client_pool: %d}, %s", d.delay(""), both, both, standin(binary, fmt.Sprintf("--model threads --workers %d --pool %d", both, both))),
			[]string{"worker-threads", "client-pool", "unknown"}},
		{"two limits: workers and a lock", fmt.Sprintf("downstream: {delay: %dms}, limits: {workers: %d}, %s", delay, near, standin(binary, fmt.Sprintf("--model threads --workers %d --lock %s", near, time.Duration(delay)*time.Millisecond/time.Duration(near)))),
			[]string{"worker-threads", "lock", "unknown"}},
		{"connection cap", fmt.Sprintf("%s, %s", d.delay(""), standin(binary, fmt.Sprintf("--model %s --max-conns %d", d.oneOf("threads", "goroutines", "event-loop"), d.between(20, 120)))), []string{"connection-cap"}},
	}
}

// faultCases have something that goes wrong, or slowly.
func faultCases(d drawn, binary string) []labelled {
	slow := d.between(20, 100)
	return []labelled{
		{"slow downstream: spikes", fmt.Sprintf("%s, %s", d.delay(fmt.Sprintf(", jitter: 'spike:%dms@0.%d'", d.between(200, 500), d.between(2, 4))), standin(binary, "--model "+d.oneOf("goroutines", "event-loop"))), []string{"downstream"}},
		{"slow downstream: heavy tail", fmt.Sprintf("downstream: {delay: %dms, jitter: 'lognormal:p50=%dms,p99=%dms'}, %s", slow, 2*slow, 6*slow, standin(binary, "--model goroutines")), []string{"downstream"}},
		{"slow downstream: bytes trickle", fmt.Sprintf("%s, %s", d.delay(", faults: ['trickle=1ms']"), standin(binary, "--model goroutines")), []string{"downstream"}},
		{"downstream connection cap", fmt.Sprintf("%s, %s", d.delay(fmt.Sprintf(", max_conns: %d", d.between(20, 80))), standin(binary, "--model "+d.oneOf("threads", "goroutines", "event-loop"))), []string{"downstream"}},
		{"accept backlog", fmt.Sprintf("%s, %s", d.delay(""), standin(binary, fmt.Sprintf("--model %s --keep-alive-requests %d --backlog %d", d.oneOf("goroutines", "event-loop"), d.between(1, 3), d.between(1, 4)))), []string{"accept-queue"}},
		{"errors", fmt.Sprintf("%s, %s", d.delay(""), standin(binary, fmt.Sprintf("--model %s --error-rate 0.%d --seed %d", d.oneOf("threads", "goroutines", "event-loop"), d.between(15, 45), d.between(1, 1000)))), []string{"errors"}},
		{"delayed ACK", fmt.Sprintf("%s, command: ['%s', server, '127.0.0.1:{{port}}', '{{downstream}}', nagle]", d.delay(""), self()), []string{"delayed-ack"}},
	}
}

// controlCases have no limit but the load.
func controlCases(d drawn, binary string) []labelled {
	same := d.delay("") + ", " + standin(binary, "--model "+d.oneOf("goroutines", "event-loop"))
	client := []string{"client-limited"}
	return []labelled{
		{"control: healthy, event loop", d.delay("") + ", " + standin(binary, "--model event-loop"), client},
		{"control: healthy, threads to spare", d.delay("") + ", limits: {workers: 200}, " + standin(binary, "--model threads --workers 200"), client},
		{"control: A", same, client},
		{"control: the same A", same, client},
		{"control: burst at the start", d.delay("") + ", " + standin(binary, fmt.Sprintf("--model goroutines --not-ready-for %dms", d.between(300, 900))), client},
		{"control: connections renewed", d.delay("") + ", " + standin(binary, "--model goroutines --keep-alive-requests 100"), client},
	}
}

// jarGroups are the cases of the real jars.
func jarGroups(binary string) []group {
	lacks := noJDK(binary)
	one := func(label, sut string, right ...string) func(*rand.Rand) []labelled {
		return func(r *rand.Rand) []labelled { return []labelled{{label, sut, right}} }
	}
	warm := func(connections int) string {
		return fmt.Sprintf("downstream: {delay: 50ms}\nload: {connections: [%d], rounds: 1, duration: 3s, warmup: {min: 8s, max: 20s}}", connections)
	}
	cold := "downstream: {delay: 20ms}\nload: {connections: [400], rounds: 1, duration: 2s, warmup: {min: 0s, max: 0s}}"
	return []group{
		{head: warm(100), lacks: lacks, cases: one("jar: client pool of 5", "app: webflux, args: ['--lab.client.pool=5'], jvm: [-Xmx512m]", "client-pool")},
		{head: strings.Replace(warm(400), "50ms", "150ms", 1), lacks: lacks, cases: one("jar: 200 Tomcat threads", "app: mvc, jvm: [-Xmx512m]", "worker-threads")},
		{head: warm(500), lacks: lacks, cases: one("jar: a heap of 40 MB", "app: mvc, args: ['--spring.threads.virtual.enabled=true'], jvm: [-Xmx40m, '-XX:+UseSerialGC']", "memory")},
		{head: cold, lacks: lacks, cases: one("jar: JIT not finished", "app: webflux, jvm: [-Xmx512m]", "cpu", "unknown")},
		{head: strings.Replace(warm(300), "50ms", "20ms", 1) + "\nplace: {sut: 'cpus:0', load: 'cpus:1', downstream: 'cpus:1'}", lacks: lacks, cases: one("jar: one CPU", "app: webflux, jvm: [-Xmx512m]", "cpu")},
		{head: warm(100), lacks: lacks, cases: func(r *rand.Rand) []labelled {
			return []labelled{{"jar: blocked event loop", fmt.Sprintf("app: webflux, path: '/blocked?ms=%d', calls: 0, jvm: [-Xmx512m]", drawn{r}.between(15, 60)), []string{"blocked-event-loop"}}}
		}},
		{head: warm(100), lacks: lacks, cases: one("jar: Tomcat closes every 100", "app: mvc, args: ['--spring.threads.virtual.enabled=true'], jvm: [-Xmx512m]", "client-limited")},
	}
}

// noJDK says why no jar can run; binary knows where JDKs are.
func noJDK(binary string) func() string {
	return func() string {
		if out, err := exec.Command(binary, "list").Output(); err != nil || !strings.Contains(string(out), "the default)") {
			return "there is no JDK 21 or later"
		}
		return twoCPUs()
	}
}
