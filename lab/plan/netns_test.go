package plan

import (
	"slices"
	"testing"

	"loomlab/lab/experiment"
)

func TestSUTThatLacksItsNetns(t *testing.T) {
	exp, err := experiment.Parse("a.yaml", []byte("name: a\nload: {connections: [1]}\nsuts:\n- {name: plain, command: [x, '{{port}}'], netns: none}\n- {name: own, command: [x, '{{port}}']}\nnetns: {sysctl: {net.core.somaxconn: 128}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(exp, Options{}, Facts{NetnsLacks: func() string { return "it takes root" }})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.SUTs) != 1 || plan.SUTs[0].Netns != nil || !slices.Equal(plan.Skipped, []SkippedSUT{{"own", "it takes root"}}) {
		t.Errorf("runs %v, skips %v", plan.Order(), plan.Skipped)
	}
	if plan, err = New(exp, Options{}, Facts{}); err != nil || plan.SUTs[1].Netns.Sysctl["net.core.somaxconn"] != "128" {
		t.Errorf("%v", err)
	}
}
