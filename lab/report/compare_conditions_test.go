package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"loomlab/lab/record"
)

func TestWhatIsNotComparableIsRefused(t *testing.T) {
	check := func(want string, change func(*record.Saved), ignore ...string) {
		t.Helper()
		random := newRandom(41)
		old, new := drawn(random, "a", 6, theArticle[:1]), drawn(random, "a", 6, theArticle[:1])
		change(new)
		_, err := Compare(side(old, "base"), side(new, "new"), ignore)
		var refused *NotComparable
		if err != nil && errors.As(err, &refused) != strings.HasPrefix(err.Error(), "not comparable: ") {
			t.Errorf("%v is no NotComparable", err)
		}
		if got := fmt.Sprint(err); !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	second := record.Duration(1e9)
	exp := func(change func(*record.Experiment)) func(*record.Saved) {
		return func(s *record.Saved) { change(&s.Run.Experiment) }
	}
	sut := func(change func(*record.SUT)) func(*record.Saved) {
		return func(s *record.Saved) { change(&s.Run.Experiment.SUTs[0]) }
	}
	jdk := func(s *record.Saved) {
		for i := range s.Run.Starts {
			s.Run.Starts[i].JVM.Version = "21.0.9"
		}
	}
	check("not comparable: delay 100ms → 1s; --ignore delay compares", sut(func(s *record.SUT) { s.Downstream = &record.Downstream{Delay: second} }))
	check("downstream plain → max requests 100", sut(func(s *record.SUT) {
		d := *s.Downstream
		d.KeepAlive.MaxRequests = 100
		s.Downstream = &d
	}))
	check("duration 10s → 1s", exp(func(e *record.Experiment) { e.Load.Duration = second }))
	check("<nil>", exp(func(e *record.Experiment) { e.Load.Duration = second }), "duration")
	check("timeout 10s → 1s", exp(func(e *record.Experiment) { e.Load.Timeout = second }))
	check("quick no → yes", exp(func(e *record.Experiment) { e.Quick = true }))
	check("path /call → /hello", sut(func(s *record.SUT) { s.Path = "/hello" }))
	check("stand-ins no → yes", func(s *record.Saved) {
		for i := range s.Run.Starts {
			s.Run.Starts[i].Kind, s.Run.Starts[i].JVM = "standin", nil
		}
	})
	check("cores 2 → 8", func(s *record.Saved) { s.Run.Machine.Cores = 8 })
	check("<nil>", func(s *record.Saved) { s.Run.Machine.Host = "bench2" })
	// One of these alone is the thing compared; two at once are not told apart.
	check("<nil>", jdk)
	check("<nil>", func(s *record.Saved) { s.Run.Machine.Kernel = "6.12.0" })
	check("<nil>", sut(func(s *record.SUT) { s.JVM = []string{"-Xmx2g"} }))
	check("jdk 25.0.1 → 21.0.9; heap -Xmx1g → -Xmx2g; a change can be put down to one of them only where the others are equal; --ignore jdk,heap",
		func(s *record.Saved) { jdk(s); s.Run.Experiment.SUTs[0].JVM = []string{"-Xmx2g"} })
	check("<nil>", func(s *record.Saved) { jdk(s); s.Run.Experiment.SUTs[0].JVM = []string{"-Xmx2g"} }, "heap")
	check("env none → JAVA_TOOL_OPTIONS=-Xint", func(s *record.Saved) { jdk(s); s.Run.Machine.Env = map[string]string{"JAVA_TOOL_OPTIONS": "-Xint"} })
	check("--ignore color: no such condition; there are quick, stand-ins, delay", func(*record.Saved) {}, "delay", "color")
}

func TestCalibrationMustAgree(t *testing.T) {
	random := newRandom(43)
	calibrated := func(perS float64) *record.Saved {
		saved := drawn(random, "a", 6, theArticle[:1])
		saved.Run.Calibration = []record.Cell{{SUT: record.Calibration, Connections: 100, Status: "ok", Load: &record.LoadResult{ThroughputPerS: &perS}}}
		return saved
	}
	if c := compare(t, calibrated(18000), calibrated(18400)); !strings.Contains(strings.Join(c.About, "\n"), "agree within 3 %") {
		t.Errorf("about: %q", c.About)
	}
	_, err := Compare(side(calibrated(18000), "base"), side(calibrated(10600), "new"), nil)
	if err == nil || !strings.Contains(err.Error(), "calibration 18000/s at 100 → 10600/s") {
		t.Errorf("got %v", err)
	}
	if c := compare(t, drawn(random, "a", 1, theArticle), drawn(random, "a", 1, theArticle)); !strings.Contains(strings.Join(c.About, "\n"), "nothing says that the machine was the same") {
		t.Errorf("about: %q", c.About)
	}
}
