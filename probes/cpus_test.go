package probes

import (
	"errors"
	"os"
	"reflect"
	"runtime"
	"testing"
)

func TestParseCPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "8,0-1, 1": {0, 1, 8}, "5-5": {5},
		"": nil, "a": nil, "3-1": nil, "-1": nil, "1-": nil, "0,,1": nil, "9000": nil, "0-65535": nil,
	} {
		got, err := ParseCPUList(text)
		if !reflect.DeepEqual(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestAllowedCPUs(t *testing.T) {
	cpus, err := NewFS("").AllowedCPUs(os.Getpid())
	if runtime.GOOS != "linux" {
		if !errors.Is(err, ErrNeedsLinux) {
			t.Errorf("%v", err)
		}
		return
	}
	if err != nil || len(cpus) != runtime.NumCPU() {
		t.Errorf("%v, %v; the runtime counts %d", cpus, err, runtime.NumCPU())
	}
	if _, err := NewFS("").AllowedCPUs(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}
