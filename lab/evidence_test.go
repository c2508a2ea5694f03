package lab

import (
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

func TestKnownLimits(t *testing.T) {
	got := knownLimits(record.Limits{Workers: 200, ClientPool: 7}, map[string]string{"tomcat_max_threads": "unlimited", "tomcat_max_connections": "8192", "client_pool": "5"})
	if want := (record.Limits{ClientPool: 5, MaxConnections: 8192}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := knownLimits(record.Limits{Workers: 37}, nil); got.Workers != 37 {
		t.Errorf("%+v", got)
	}
}

func TestCPUsOfAPlace(t *testing.T) {
	places := func(cpus ...string) (list []launcher) {
		for _, c := range cpus {
			list = append(list, launcher{Launcher: experiment.Launcher{CPUs: c}})
		}
		return list
	}
	if n := cpusOf(places("0-2", "2,5")); n != 4 {
		t.Errorf("%d CPUs, want 4", n)
	}
	if n := cpusOf(places("", "0,1")); n != 0 {
		t.Errorf("one may run anywhere, but: %d CPUs", n)
	}
}
