package plan

import (
	"strings"
	"testing"

	"loomlab/lab/jvm"
	"loomlab/lab/record"
)

func TestInstruments(t *testing.T) {
	p, err := New(article(t), Options{SUTs: []string{"virtual", "own={{jdk}}/bin/java -jar own.jar {{port}}", "wrapped=./run.sh {{port}}", "java=java -jar own.jar {{port}}"},
		Memory: true, JFR: ptr(0)}, jdkMachine)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"{{jdk}}/bin/java -Xmx1g -Xms256m -XX:+UseG1GC -XX:NativeMemoryTracking=summary -Xlog:gc,gc+phases:file={{run_dir}}/gc-virtual-%p.log:tm,tn:filecount=0 -jar ",
		"{{jdk}}/bin/java -XX:NativeMemoryTracking=summary -Xlog:gc,gc+phases:file={{run_dir}}/gc-own-%p.log:tm,tn:filecount=0 -jar own.jar {{port}}",
		"./run.sh {{port}}",
		"java -XX:NativeMemoryTracking=summary -jar own.jar {{port}}",
	} {
		if got := strings.Join(p.SUTs[i].Words, " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", p.SUTs[i].Name, got)
		}
	}
	if env := p.Experiment.SUTs[2].Env["JDK_JAVA_OPTIONS"]; !strings.HasSuffix(env, jvm.NMTFlag) {
		t.Errorf("a wrapper's environment: %q", p.Experiment.SUTs[2].Env)
	}
	if p.Experiment.JFR != 3000 || !p.Experiment.Memory {
		t.Errorf("experiment: jfr %d, memory %v", p.Experiment.JFR, p.Experiment.Memory)
	}
	if _, err := New(article(t), Options{JFR: ptr(500)}, jdkMachine); err == nil || err.Error() != "--jfr=500: no rung of the ladder, which has 100, 1000, 3000" {
		t.Errorf("--jfr=500: %v", err)
	}
	var started record.StartJVM
	OwnFlags(&started, []string{"-Xmx1g", jvm.NMTFlag, strings.Replace(jvm.GCLogFlag("a"), "{{run_dir}}", "/tmp/x", 1)})
	if len(started.Flags) != 1 || len(started.Instruments) != 2 {
		t.Errorf("own flags %q, instruments %q", started.Flags, started.Instruments)
	}
}
