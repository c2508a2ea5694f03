package main

import (
	"runtime/debug"
	"testing"
)

func TestStamped(t *testing.T) {
	read := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.0.0-20261130120000-0123456789ab+dirty"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}},
	}
	for _, test := range []struct {
		version, commit string
		info            *debug.BuildInfo
		want            string
	}{
		{"v1.0.0", "abcd", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v1.0.0 abcd"}, // a release
		{"", "", read, "v0.0.0-20261130120000-0123456789ab+dirty 0123"},                             // a build in a clone
		{"", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev unknown"},           // -buildvcs=false
		{"", "", &debug.BuildInfo{}, "dev unknown"},                                                 // a test
	} {
		version, commit := stamped(test.version, test.commit, test.info)
		if got := version + " " + commit; got != test.want {
			t.Errorf("stamped(%q, %q, %v) = %q, want %q", test.version, test.commit, test.info.Main, got, test.want)
		}
	}
}
