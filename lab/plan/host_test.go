package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loomlab/lab/experiment"
)

// placed is an experiment whose tiers run on three machines; place differs.
const placedHead = `name: a
load: {connections: [1]}
hosts:
  bench1: {ssh: user@10.0.0.1}
  bench2: {ssh: bench2, ssh_options: [-F, lab.conf]}
  app1: {ssh: app1, address: 10.0.0.2, dir: /srv/lab}
  pod: {command: [kubectl, exec, -i, pod, --], address: 10.0.0.9}
suts:
  - {name: mine, command: [./server, "{{address}}:{{port}}", "{{downstream}}"], standin: {model: goroutines}}
`

// TestPlacedCommandLines holds which addresses tiers listen on and call: loopback
// as long as nobody elsewhere needs them.
func TestPlacedCommandLines(t *testing.T) {
	for place, want := range map[string][]string{
		"": {"downstream --listen 127.0.0.1:18090", "./server 127.0.0.1:18080 http://127.0.0.1:18090", "load http://127.0.0.1:18080/call"},
		"place: {load: ['ssh:bench1', bench2], sut: app1, downstream: local}": {
			"place: load runs at ssh:bench1,bench2", "host: bench2 is reached by ssh -F lab.conf bench2; program and jars go to ~/.cache/loomlab there",
			"host: app1 is reached by ssh app1; program and jars go to /srv/lab there", "listen: mine listens on 10.0.0.2",
			"downstream --listen ADDRESS-OF-THIS-MACHINE:18090", "./server 10.0.0.2:18080 http://ADDRESS-OF-THIS-MACHINE:18090", "load http://10.0.0.2:18080/call",
		},
		"place: {load: app1, sut: app1, downstream: app1}": {"downstream --listen 127.0.0.1:18090", "./server 127.0.0.1:18080 http://127.0.0.1:18090", "load http://127.0.0.1:18080/call"},
		"place: {downstream: pod}":                         {"downstream --listen 10.0.0.9:18090", "./server 127.0.0.1:18080 http://10.0.0.9:18090", "load http://127.0.0.1:18080/call"},
		"place: {load: pod}":                               {"downstream --listen ADDRESS-OF-THIS-MACHINE:18090", "./server ADDRESS-OF-THIS-MACHINE:18080 http://ADDRESS-OF-THIS-MACHINE:18090"},
	} {
		exp, err := experiment.Parse("a.yaml", []byte(placedHead+place+"\n"))
		if err != nil {
			t.Fatal(place, err)
		}
		plan, err := New(exp, Options{}, Facts{})
		if err != nil {
			t.Fatal(place, err)
		}
		var shown strings.Builder
		if err := plan.WriteDryRun(&shown); err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(shown.String(), line) {
				t.Errorf("%s: no %q in\n%s", place, line, shown.String())
			}
		}
	}
}

// TestHostsOfAFile holds what is said of hosts and places that cannot be.
func TestHostsOfAFile(t *testing.T) {
	const head = "name: a\nload: {connections: [1]}\nsuts: [{name: s, command: [x, '{{port}}']}]\n"
	for text, want := range map[string]string{
		"hosts: {a: {}}":                                                        "want one of ssh:",
		"hosts: {a: {ssh: x, command: [y]}}":                                    "want one of ssh:",
		"hosts: {a: {command: [y], ssh_options: [-v]}}":                         "ssh_options of a host that is reached by a command",
		"hosts: {a: {ssh: '-oProxyCommand=x'}}":                                 "is no destination of ssh",
		"hosts: {'a b': {ssh: x}}":                                              "a host's name is letters",
		"hosts: {local: {ssh: x}}":                                              "local is this machine",
		"hosts: {a: {ssh: x, address: 'http://y'}}":                             "want an address such as 10.0.0.2",
		"hosts: {a: {ssh: x, cpus: z}}":                                         "no list of CPUs",
		"hosts: {a: {command: [y, '{{prot}}']}}":                                "unknown placeholder {{prot}}",
		"hosts: {a: {ssh: x, ssh_options: [-oStrictHostKeyChecking=no]}}":       "would have ssh take any host key",
		"hosts: {a: {ssh: x, ssh_options: [-o, UserKnownHostsFile=/dev/null]}}": "would have ssh take any host key",
		"hosts: {a: {ssh: x, sh: y}}":                                           `unknown key "sh"`,
		"place: {sut: 'local,local'}":                                           "only the load can be in several",
		"place: {postgres: 'ssh:a'}":                                            "the lab's own PostgreSQL runs here only",
		"place: {load: [ssh:a]}":                                                "want text, in quotes where it has a colon",
		"place: {load: [a, [b]]}":                                               "want text",
		"place: {sut: [local]}":                                                 "want text",
	} {
		_, err := experiment.Parse("a.yaml", []byte(head+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestReadHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hosts: {pod: {command: [kubectl, exec, -i, pod, --], address: 10.1.2.3}}\n")
	hosts, err := experiment.ReadHosts(file)
	if err != nil || hosts["pod"].Address != "10.1.2.3" {
		t.Errorf("%+v, %v", hosts, err)
	}
	exp, err := experiment.Parse("a.yaml", []byte(placedHead))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{Hosts: hosts, Place: map[string]string{"sut": "pod"}}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Host("pod").Address; got != "10.1.2.3" || exp.Hosts["pod"].Address != "10.0.0.9" {
		t.Errorf("the flag's host does not come first: %s", got)
	}
	for text, want := range map[string]string{
		"hosts: {}\n":                            "no hosts",
		"host: {}\n":                             `unknown key "host"`,
		"hosts: {a: {ssh: b, address: 'c d'}}\n": ":1:30: ",
		"pod: {command: [kubectl]}\n":            `unknown key "pod"`,
	} {
		write(text)
		if _, err := experiment.ReadHosts(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := New(exp, Options{Place: map[string]string{"sut": "nobody"}}, Facts{}); err == nil || !strings.Contains(err.Error(), `--place sut=nobody: unknown launcher "nobody"`) {
		t.Errorf("%v", err)
	}
}
