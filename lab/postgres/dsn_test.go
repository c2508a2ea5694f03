package postgres

import (
	"slices"
	"strings"
	"testing"
)

func TestParseDSN(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	tests := []struct {
		text        string
		want        DSN
		jdbc, r2dbc string
		shown       string
	}{
		{"postgres://ann:s3cret@db.example:5433/shop", DSN{User: "ann", Password: "s3cret", Host: "db.example", Port: 5433, Database: "shop"},
			"jdbc:postgresql://db.example:5433/shop?currentSchema=loomlab", "r2dbc:postgresql://db.example:5433/shop?schema=loomlab", "postgres://ann:***@db.example:5433/shop"},
		{"postgresql://ann@localhost/shop", DSN{User: "ann", Host: "localhost", Port: 5432, Database: "shop"},
			"jdbc:postgresql://localhost:5432/shop?currentSchema=loomlab", "r2dbc:postgresql://localhost:5432/shop?schema=loomlab", "postgres://ann@localhost:5432/shop"},
		{"postgres://ann:p%40ss%2Fword@[::1]/my%20shop?sslmode=require", DSN{User: "ann", Password: "p@ss/word", Host: "::1", Port: 5432, Database: "my shop", SSLMode: "require"},
			"jdbc:postgresql://[::1]:5432/my%20shop?currentSchema=loomlab&sslmode=require", "r2dbc:postgresql://[::1]:5432/my%20shop?schema=loomlab&sslMode=require", "postgres://ann:***@[::1]:5432/my%20shop?sslmode=require"},
	}
	for _, test := range tests {
		d, err := ParseDSN(test.text)
		if err != nil || d != test.want {
			t.Errorf("%s: %+v, %v", test.text, d, err)
			continue
		}
		for got, want := range map[string]string{d.JDBC(): test.jdbc, d.String(): test.shown} {
			if got != want {
				t.Errorf("%s: %s, want %s", test.text, got, want)
			}
		}
		// url.Values sorts its keys: sslMode before schema.
		if got := d.R2DBC(); !slices.Equal(sortedQuery(got), sortedQuery(test.r2dbc)) {
			t.Errorf("%s: %s, want %s", test.text, got, test.r2dbc)
		}
	}
}

func sortedQuery(text string) []string {
	base, query, _ := strings.Cut(text, "?")
	parts := strings.Split(query, "&")
	slices.Sort(parts)
	return append([]string{base}, parts...)
}

func TestDSNTakesThePasswordOfTheEnvironment(t *testing.T) {
	t.Setenv("PGPASSWORD", "quiet")
	d, err := ParseDSN("postgres://ann@localhost/shop")
	if err != nil || d.Password != "quiet" || strings.Contains(d.String(), "quiet") {
		t.Errorf("%v, %v", d, err)
	}
}

func TestBrokenDSN(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	for text, want := range map[string]string{
		"":                                                     "it does not begin with postgres://",
		"host=localhost password=s3cret":                       "it does not begin with postgres://",
		"mysql://ann:s3cret@h/shop":                            "it does not begin with postgres://",
		"postgres://ann:s3cret@x@h/shop":                       "more than one @",
		"postgres:ann:s3cret@h/shop":                           "no host",
		"postgres:///shop":                                     "no host",
		"postgres://localhost/shop":                            "no user",
		"postgres://:s3cret@localhost/shop":                    "no user",
		"postgres://ann:s3cret@localhost":                      "no database",
		"postgres://ann:s3cret@localhost/a/b":                  "no database",
		"postgres://ann:s3cret@localhost/a#b":                  "a fragment",
		"postgres://ann:s3cret@h:0/shop":                       "port 0",
		"postgres://ann:s3cret@h:70000/shop":                   "port 70000",
		"postgres://ann:s3cret@h:x/shop":                       "not a URL",
		"postgres://ann:s3%cret@h/shop":                        "not a URL",
		"postgres://ann:s3/cret@h/shop":                        "not a URL",
		"postgres://ann:s3cret@h/s?sslmode=on":                 "the parameter sslmode=on",
		"postgres://ann:s3cret@h/s?user=x":                     "the parameter user=x",
		"postgres://a:s3cret@h/s?sslmode=allow&sslmode=prefer": "the parameter sslmode=allow,prefer",
	} {
		_, err := ParseDSN(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), DSNForm) {
			t.Errorf("%q: %v, want %q and the form", text, err, want)
			continue
		}
		for _, secret := range []string{"s3cret", "s3%cret", "cret"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error tells the password: %v", text, err)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", text, err)
		}
	}
}
