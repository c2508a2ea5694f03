package record

import "testing"

func TestJoinWords(t *testing.T) {
	got := JoinWords([]string{"/bin/x", "a b", "it's", "", "{{port}}", "{a,b}", "--x=1", "$(x)", "a-b.c", "~"})
	if want := `/bin/x 'a b' 'it'\''s' '' '{{port}}' '{a,b}' --x=1 '$(x)' a-b.c '~'`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
