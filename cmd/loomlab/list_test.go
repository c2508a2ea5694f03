package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"loomlab/lab/experiment"
	"loomlab/lab/java"
)

func TestListing(t *testing.T) {
	found := []java.JDK{
		{Home: "/old", Version: "17.0.1", Major: 17, From: "PATH"},
		{Home: "/new", Version: "25.0.1", Major: 25, From: "JAVA_HOME"},
		{Home: "/broken", From: "PATH", Problem: "it does not start"},
	}
	l, err := takeListing(context.Background(), found)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Experiments) != len(experiment.Builtins()) || len(l.Apps) != len(java.AppNames) {
		t.Errorf("%d experiments, %d apps", len(l.Experiments), len(l.Apps))
	}
	article := l.Experiments[0]
	if article.Name != "article" || article.Cells != 18 || article.Time.MinS <= article.QuickTime.MaxS || article.Source == nil {
		t.Errorf("article = %+v", article)
	}
	var b bytes.Buffer
	if err := l.write(&b, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nbigywater.tech, Spring 60: ",
		"  article   ", "  With a downstream that takes 100 ms",
		"; needs JDK 21+, ",
		"  /old: cannot be used, 17.0.1 is too old for the apps, which need 21 or later\n  25.0.1 at /new (from JAVA_HOME; the default)\n  /broken: cannot be used, it does not start\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestListingWithoutJDK(t *testing.T) {
	l, err := takeListing(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.write(&b, 0); err != nil || !strings.Contains(b.String(), "none found: the stand-ins run") {
		t.Errorf("%v\n%s", err, b.String())
	}
	document, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(document), `"jdks":null`) {
		t.Errorf("an empty list is null: %s", document)
	}
}
