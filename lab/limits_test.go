package lab

import (
	"maps"
	"testing"

	"loomlab/lab/plan"
	"loomlab/lab/record"
)

func TestLimitsOf(t *testing.T) {
	tests := []struct {
		name  string
		sut   plan.SUT
		start record.Start
		info  map[string]string
		want  map[string]string
	}{
		{"what is in force wins over what was declared",
			plan.SUT{Kind: record.KindApp, SUT: record.SUT{Limits: record.Limits{Workers: 200, MaxConnections: 8192}}},
			record.Start{JVM: &record.StartJVM{Version: "25.0.3", Collector: "G1", Flags: []string{"-Xmx1g", "-Xms256m", "-XX:+UseG1GC"}}},
			map[string]string{"tomcat_max_threads": "50", "server_virtual": "false", "carriers": "2", "profile": "default"},
			map[string]string{"worker threads": "50", "max connections": "8192", "JDK": "25.0.3", "collector": "G1", "heap, MB": "256 to 1024", "JVM flags": "-XX:+UseG1GC"}},
		{"virtual threads have no number, but carriers",
			plan.SUT{Kind: record.KindApp}, record.Start{},
			map[string]string{"tomcat_max_threads": "unlimited", "server_virtual": "true", "carriers": "2"},
			map[string]string{"worker threads": "virtual threads", "carrier threads": "2"}},
		{"a stand-in has its flags",
			plan.SUT{Kind: record.KindCommand}, record.Start{Argv: []string{"loomlab", "standin", "--workers", "7", "--pool=5"}}, nil,
			map[string]string{"worker threads": "7", "client pool": "5"}},
		{"a URL tells nothing", plan.SUT{Kind: record.KindURL}, record.Start{}, nil, map[string]string{}},
	}
	for _, test := range tests {
		if got := limitsOf(&test.sut, test.start, test.info); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
