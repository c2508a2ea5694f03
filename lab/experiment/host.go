package experiment

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"loomlab/lab/record"
	"loomlab/probes"
)

// CommandPlaceholder stands in a host's command prefix where the words of what is
// to run go, quoted for a shell, as one word.
const CommandPlaceholder = "{{command}}"

// checkDestination returns what is wrong with a destination of ssh, or "".
func checkDestination(text string) string {
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \t\n\x00,") {
		return fmt.Sprintf("%q is no destination of ssh, such as bench1 or user@10.0.0.2", text)
	}
	return ""
}

// checkHosts returns what is wrong with hosts, as the key where it stands ("a.ssh")
// and the mistake.
func checkHosts(hosts map[string]record.Host) [][2]string {
	var mistakes [][2]string
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		h := hosts[name]
		wrong := func(key, format string, a ...any) {
			mistakes = append(mistakes, [2]string{name + key, fmt.Sprintf(format, a...)})
		}
		switch {
		case name == LocalHost:
			if h.SSH != "" || h.Command != nil || h.Address == "" {
				wrong("", "local is this machine; all that can be said of it is the address at which others reach it")
			}
		case !sutName.MatchString(name):
			wrong("", "%q; a host's name is letters, digits, '.', '_' and '-', and begins with a letter or digit", name)
		case (h.SSH == "") == (len(h.Command) == 0):
			wrong("", "host %s: want one of ssh: [user@]name and command: [words before a command]", name)
		case h.SSH == "" && h.SSHOptions != nil:
			wrong(".ssh_options", "ssh_options of a host that is reached by a command")
		case len(h.Command) > 0 && h.Command[0] == "":
			wrong(".command", "an empty command")
		}
		if problem := checkDestination(h.SSH); h.SSH != "" && problem != "" {
			wrong(".ssh", "%s", problem)
		}
		if problem := weakens(h.SSHOptions); problem != "" {
			wrong(".ssh_options", "%s", problem)
		}
		for i, w := range h.Command {
			if m := PlaceholderPattern.FindString(strings.ReplaceAll(w, CommandPlaceholder, "")); m != "" {
				wrong(fmt.Sprintf(".command[%d]", i), "unknown placeholder %s; a host's command has %s", m, CommandPlaceholder)
			}
		}
		if strings.ContainsAny(h.Address, " /\t\n") || strings.Contains(h.Address, "://") {
			wrong(".address", "%q; want an address such as 10.0.0.2 or a name, without a port", h.Address)
		}
		if _, err := probes.ParseCPUList(h.CPUs); h.CPUs != "" && err != nil {
			wrong(".cpus", "%v", err)
		}
	}
	return mistakes
}

// weakens says which of ssh's options would give up the check of a host's key, or "".
func weakens(options []string) string {
	for _, word := range options {
		text := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(word, "-o"), " ", "="))
		name, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		off := value == "no" || value == "off" || value == "accept-new"
		if name == "stricthostkeychecking" && off || name == "userknownhostsfile" && value == "/dev/null" {
			return fmt.Sprintf("%q would have ssh take any host key; put the host's own into known_hosts (`ssh-keyscan`, compared with what its console says)", word)
		}
	}
	return ""
}

// ReadHosts reads a file of hosts, a mapping as under hosts: of an experiment.
func ReadHosts(file string) (map[string]record.Host, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var read struct {
		Hosts map[string]record.Host `yaml:"hosts"`
	}
	d := &decoder{at: map[string]*token.Position{}, texts: map[string]string{}, anchors: map[string]ast.Node{}}
	d.mistakes.File = file
	if d.decode(data, &read) {
		d.hosts(read.Hosts)
		if len(read.Hosts) == 0 && len(d.mistakes.List) == 0 {
			d.addAt(nil, "no hosts; want hosts: {NAME: {ssh: user@address}}")
		}
	}
	if len(d.mistakes.List) > 0 {
		d.mistakes.sort()
		return nil, &d.mistakes
	}
	return read.Hosts, nil
}

// hosts reports what is wrong with hosts where it stands in the file.
func (d *decoder) hosts(hosts map[string]record.Host) {
	for _, m := range checkHosts(hosts) {
		d.add("hosts."+m[0], "%s", m[1])
	}
}

// LocalHost is the entry of hosts that says at which address tiers on this
// machine are reached from others.
const LocalHost = "local"
