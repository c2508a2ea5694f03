package record

import (
	"bytes"
	"strings"
	"testing"
)

func TestStacks(t *testing.T) {
	s := &Stacks{Name: "all"}
	s.Add([]string{"app.Handler.<init>", "app.Handler.call", "java.lang.Thread.run"}, 3)
	s.Add([]string{"app.Handler.call", "java.lang.Thread.run"}, 2) // which calls, and works by itself
	s.Add([]string{"byte[], in io.netty.Buf.get", "odd;name\nhere"}, 7)
	s.Add([]string{"java.lang.Thread.run"}, 1)
	var file bytes.Buffer
	if err := s.Write(&file); err != nil {
		t.Fatal(err)
	}
	want := "java.lang.Thread.run;app.Handler.call;app.Handler.<init> 3\njava.lang.Thread.run;app.Handler.call 2\njava.lang.Thread.run 1\nodd,name\uFFFDhere;byte[], in io.netty.Buf.get 7\n"
	if file.String() != want {
		t.Errorf("got\n%s\nwant\n%s", file.String(), want)
	}
	again, err := ReadStacks(&file)
	if err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if err := again.Write(&second); err != nil || second.String() != want || again.Weight != 13 || again.Name != "all" {
		t.Errorf("read back as %d, %v:\n%s", again.Weight, err, second.String())
	}
}

func TestStacksThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"": "it has no stacks", "\n\n": "it has no stacks", "a;b\n": "line 1 is no stack", "a 1\nb 0\n": "line 2", "a 1\nb -3\n": "line 2",
		" 7\n": "line 1", "a 1.5\n": "line 1", strings.Repeat("x", stackLine+1): "too long",
	} {
		if s, err := ReadStacks(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v; want %s", text, s, err, want)
		}
	}
}
