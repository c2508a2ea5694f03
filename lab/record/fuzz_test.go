package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzOpen holds that no bytes in cells.jsonl make reading panic, and that what
// remains after mending reads the same cells, without a torn line.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"sut\":\"a\",\"status\":\"ok\"}\n{\"sut\":\"a\",\"sta"))
	f.Add([]byte("{\"sut\":\"a\",\"status\":\"interrupted\"}\n\n[]\nnull\n{\"sut\":\"a\",\"status\":\"ok\"}"))
	f.Add([]byte("\xff\x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cells, _, err := parseCells(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), cellsFile)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := mend(path, true); err != nil {
			t.Fatal(err)
		}
		mended, err := os.ReadFile(path)
		if err != nil || len(mended) > 0 && mended[len(mended)-1] != '\n' {
			t.Fatalf("mended to %q, %v", mended, err)
		}
		again, _, err := parseCells(bytes.NewReader(mended))
		if err != nil || len(again) != len(cells) {
			t.Errorf("%d cells, after mending %d, %v", len(cells), len(again), err)
		}
		if left := latest(again); len(left) > len(cells) {
			t.Errorf("%d of %d cells are the latest", len(left), len(cells))
		}
	})
}

// FuzzMask holds that a secret does not survive where its name says that it is one,
// whatever stands around it.
func FuzzMask(f *testing.F) {
	f.Add("host=h ", "hunter2", "&a=b")
	f.Add("jdbc:x?", "p%40 ss", " -Xmx1g")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < shortestSecret || strings.ContainsAny(secret, " \t\n\r\f\v&;,\"'{") || strings.Contains(before+after, secret) || strings.Contains(Mask, secret) ||
			strings.ContainsAny(before, `"'=`) || strings.ContainsAny(after, `"'`) {
			return
		}
		text := before + " password=" + secret + " " + after
		if got := MaskText(text); strings.Contains(got, secret) {
			t.Errorf("%q: %q", text, got)
		}
		if got := MaskArgs([]string{"x", "--db-password", secret, "--token=" + secret}); strings.Contains(strings.Join(got[1:], " "), secret) && !strings.HasPrefix(secret, "-") {
			t.Errorf("%q", got)
		}
	})
}
