package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

func TestVersionsMultiplySUTs(t *testing.T) {
	opts := Options{SUTs: []string{"platform", "webflux", "own={{jdk}}/bin/java -jar own.jar {{port}}", "go=server {{port}}"},
		JDK: []string{"21", "/opt/jre 25"}, Boot: []string{"3.5.7", "4.0.8"}}
	machine := jdkMachine
	machine.FindJDK = func(spec string) (string, error) { return "/found/" + spec, nil }
	p, err := New(article(t), opts, machine)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"platform-jdk21-boot3.5.7", "platform-jdk21-boot4.0.8", "platform-jre_25-boot3.5.7", "platform-jre_25-boot4.0.8",
		"webflux-jdk21-boot3.5.7", "webflux-jdk21-boot4.0.8", "webflux-jre_25-boot3.5.7", "webflux-jre_25-boot4.0.8",
		"own-jdk21", "own-jre_25", "go",
	}
	if got := p.Order(); !slices.Equal(got, want) {
		t.Fatalf("SUTs %q, want %q", got, want)
	}
	if s := p.SUTs[2]; s.SUT.JDK != "/opt/jre 25" || s.Boot != "3.5.7" || s.Of != "platform" || s.JDKHome != "/found//opt/jre 25" {
		t.Errorf("third: %+v", s)
	}
	if s := p.SUTs[10]; s.Of != "" || s.SUT.JDK != "" || s.Boot != "" {
		t.Errorf("a SUT without a JDK: %+v", s)
	}
	for _, row := range p.Experiment.Published {
		if row.SUT == "platform" || row.SUT == "webflux" || row.SUT == "own-jdk21" {
			t.Errorf("a published row of %s", row.SUT)
		}
	}
	rows := slices.DeleteFunc(slices.Clone(p.Experiment.Published), func(r record.Published) bool { return r.SUT != "webflux-jdk21-boot4.0.8" })
	if len(rows) != 3 {
		t.Errorf("%d published rows of a version, want the article's 3", len(rows))
	}
	claim := p.Experiment.Claims[0]
	if claim.Expr != "throughput('platform-jdk21-boot3.5.7', 1000) <= 2000 * 1.02" || !strings.HasSuffix(claim.Text, " (jdk21-boot3.5.7)") {
		t.Errorf("first claim: %+v", claim)
	}
	if n := len(article(t).Claims); len(p.Experiment.Claims) != 4*n {
		t.Errorf("%d claims, want %d for each of 4 combinations", len(p.Experiment.Claims), n)
	}
}

func TestOneVersionKeepsTheName(t *testing.T) {
	p, err := New(article(t), Options{JDK: []string{"25"}, Boot: []string{"3.5.7"}}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Order(); !slices.Equal(got, []string{"platform", "virtual", "webflux"}) || p.SUTs[0].Of != "" || len(p.Experiment.Claims) != len(article(t).Claims) {
		t.Errorf("SUTs %q, %+v", got, p.SUTs[0].SUT)
	}
}

func TestVersionsRefused(t *testing.T) {
	for want, opts := range map[string]Options{
		"--jdk 25 is asked for twice":                    {JDK: []string{"25", "25"}},
		"--boot: an empty value":                         {Boot: []string{""}},
		"--jdk and --boot make a second SUT virtual-one": {JDK: []string{"/a/one", "/b/one"}, SUTs: []string{"virtual"}},
	} {
		if _, err := New(article(t), opts, Facts{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s…", opts, err, want)
		}
	}
}

// The experiment's own JDK that is not here leaves its SUT out; one of a flag is an error.
func TestMissingJDKOfAnExperiment(t *testing.T) {
	exp, err := experiment.Parse("f", []byte("name: two\nload: {connections: [1]}\nsuts: [{name: old, app: mvc, jdk: '21'}, {name: new, app: mvc}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	machine := Facts{FindJDK: func(spec string) (string, error) {
		if spec == "21" {
			return "", errors.New("no JDK 21 here")
		}
		return "/jdk" + spec, nil
	}}
	p, err := New(exp, Options{}, machine)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Order(); !slices.Equal(got, []string{"new"}) || fmt.Sprint(p.Skipped) != "[{old no JDK 21 here}]" {
		t.Errorf("SUTs %q, skipped %v", got, p.Skipped)
	}
	if _, err := New(exp, Options{JDK: []string{"21"}}, machine); err == nil || err.Error() != "old: no JDK 21 here" {
		t.Errorf("with --jdk 21: %v", err)
	}
	if _, err := New(exp, Options{SUTs: []string{"old"}}, machine); err == nil || err.Error() != "nothing to run: old is skipped, no JDK 21 here" {
		t.Errorf("that SUT alone: %v", err)
	}
}
