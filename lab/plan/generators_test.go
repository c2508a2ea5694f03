package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

func TestGeneratorsOfAPlan(t *testing.T) {
	const head = "name: a\ndownstream: none\nload: {connections: [1, 100], warmup: none}\nplace: {load: [local, 'cpus:0,1', 'cpus:1']}\n"
	exp, err := experiment.Parse("a.yaml", []byte(head+"suts: [{name: s, command: [x, '{{port}}']}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(exp, Options{}, Facts{Cores: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Generators(&p.SUTs[0].SUT, record.Rung{Connections: 100}); fmt.Sprint(got) != "[local cpus:0,1 cpus:1]" {
		t.Errorf("%v", got)
	}
	if got := p.Generators(&p.SUTs[0].SUT, record.Rung{Connections: 1}); len(got) != 1 {
		t.Errorf("%d generators for one connection", len(got))
	}
	if got, want := p.Needs.LoadFDs, 34+ownFDs; got != want || p.Needs.CPUs != 2 {
		t.Errorf("%d descriptors of one, want %d; %d CPUs", got, want, p.Needs.CPUs)
	}
	p.Experiment.Hosts = map[string]record.Host{"far": {SSH: "far"}}
	needs := func(place string) Needs {
		p.Experiment.Place = map[string]string{"load": place}
		return p.rungNeeds(&p.SUTs[0], 100)
	}
	here, half, none := needs("local,local"), needs("local,far"), needs("far,far")
	if half.LoadFDs != here.LoadFDs || half.LoadBytes != here.LoadBytes/2 || half.LocalPorts != here.LocalPorts/2 || none.LoadFDs+none.LocalPorts != 0 || none.LoadBytes != 0 {
		t.Errorf("of two generators here %+v, of one %+v, of none %+v", here, half, none)
	}
	p.Experiment.Place = exp.Place
	var out bytes.Buffer
	if err := p.WriteDryRun(&out); err != nil {
		t.Fatal(err)
	}
	if want := "load http://127.0.0.1:18080"; strings.Count(out.String(), want) != 1 { // its first rung
		t.Errorf("%s", out.String())
	}

	exp, err = experiment.Parse("a.yaml", []byte(head+"suts: [{name: s, command: [x, '{{port}}'], load: {command: [wrk, '{{url}}', '{{connections}}', '{{duration}}']}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = New(exp, Options{}, Facts{}); err == nil || !strings.Contains(err.Error(), "s: its load is a command of its own (wrk), which cannot be divided over 3 places") {
		t.Errorf("%v", err)
	}
}
