package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestRemoveJVMFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const pid = 1 << 30 // nobody's
	data := filepath.Join(os.TempDir(), "hsperfdata_me", strconv.Itoa(pid))
	if err := os.Mkdir(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{data, data + "1", filepath.Join(os.TempDir(), fmt.Sprintf(".java_pid%d", pid))} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removeJVMFiles(pid)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*", "*"))
	if err != nil || len(left) != 1 || left[0] != data+"1" {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(os.TempDir(), fmt.Sprintf(".java_pid%d", pid))); err == nil {
		t.Error("the attach socket is still there")
	}
}

func TestGuardUserIsChecked(t *testing.T) {
	if _, err := (Options{User: "somebody"}).fork([]string{"true"}); err == nil || !strings.Contains(err.Error(), "no uid:gid") {
		t.Errorf("%v", err)
	}
}
