package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCappedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sut.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	log := &cappedLog{file: file, left: 10}
	for _, s := range []string{"12345", "67890", "", "abc", "def"} {
		if n, err := log.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", s, n, err)
		}
	}
	file.Close()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, []byte("1234567890\n[loomlab: this log reached")) || strings.Count(string(got), "loomlab") != 1 {
		t.Errorf("log = %q", got)
	}
	if n, err := log.Write([]byte("after close")); n != 11 || err != nil {
		t.Errorf("a log that cannot be written must still drain: %d, %v", n, err)
	}
}
