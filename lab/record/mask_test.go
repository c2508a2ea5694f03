package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestIsSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"DB_PASSWORD": true, "PGPASSWORD": true, "--spring.datasource.password": true, "client_secret": true, "GITHUB_TOKEN": true,
		"API_KEY": true, "apikey": true, "KEY_FILE": true, "Authorization": true, "MYSQL_PWD": true, "PWD": false, "OLDPWD": false, "aws.credentials": true,
		"PATH": false, "JAVA_TOOL_OPTIONS": false, "--server.tomcat.max-keep-alive-requests": false, "--max-tokens": false, "keyspace": false, "PWDX": false, "author": false,
	} {
		if IsSecret(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestMaskText(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://lab:s3cr3t@127.0.0.1/db":                  "postgres://lab:***@127.0.0.1/db",
		"jdbc:postgresql://h/db?password=p%40ss&user=u":       "jdbc:postgresql://h/db?password=***&user=u",
		"--url=jdbc:x?user=u&password=p":                      "--url=jdbc:x?user=u&password=***",
		"host=h password='a b' user=u":                        "host=h password=*** user=u",
		`{"spring.datasource.password": "a\"b", "user": "u"}`: `{"spring.datasource.password": "***", "user": "u"}`,
		"-Djavax.net.ssl.keyStorePassword=x -Xmx1g":           "-Djavax.net.ssl.keyStorePassword=*** -Xmx1g",
		"password={{postgres_password}}":                      "password={{postgres_password}}",
		"postgres://lab:{{postgres_password}}@h/db":           "postgres://lab:{{postgres_password}}@h/db",
		"http://127.0.0.1:8080/a:b@c":                         "http://127.0.0.1:8080/a:b@c",
		"calls=2, workers=200":                                "calls=2, workers=200",
		"":                                                    "",
	} {
		if got := MaskText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMaskArgs(t *testing.T) {
	got := MaskArgs([]string{"java", "--password=a b c", "-Dtoken=x", "--db-password", "y", "--api-key", "--other", "Authorization: Bearer z", "--path=/x?a=b", "-H", "X-Token: q"})
	want := []string{"java", "--password=***", "-Dtoken=***", "--db-password", "***", "--api-key", "--other", "Authorization: ***", "--path=/x?a=b", "-H", "X-Token: ***"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestRecordKeepsNoSecrets: whatever holds one, run.json does not, and the caller's
// own copy is left as it is.
func TestRecordKeepsNoSecrets(t *testing.T) {
	dir, err := Create(t.TempDir(), "x", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	env := map[string]string{"DB_PASSWORD": "hunter2", "URL": "redis://u:hunter2@h", "P": "{{postgres_password}}"}
	run := Run{
		Args:    []string{"loomlab", "run", "--sut", "a=srv --password=hunter2 {{port}}"},
		Machine: Machine{Env: map[string]string{"JAVA_TOOL_OPTIONS": "-Dpassword=hunter2"}},
		Experiment: Experiment{JVM: []string{"-Dsecret=hunter2"}, SUTs: []SUT{{Name: "a", Env: env, Command: []string{"srv", "--token", "hunter2"},
			Standin: &Standin{Args: []string{"--key=hunter2"}}}}},
		Starts:      []Start{{SUT: "a", Env: env, Argv: []string{"srv", "--token", "hunter2"}, Error: "password=hunter2"}},
		Limits:      map[string]map[string]string{"a": {"db_password": "hunter2"}},
		Order:       [][]string{{"a"}},
		Calibration: []Cell{{SUT: Calibration, Load: &LoadResult{Histogram: "HISTpasswordkey=="}}},
	}
	if err := dir.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir.Path(), "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(body), "hunter2") || strings.Count(string(body), Mask) != 12 {
		t.Errorf("%d masks in %s", strings.Count(string(body), Mask), body)
	}
	if env["DB_PASSWORD"] != "hunter2" || run.Args[3] != "a=srv --password=hunter2 {{port}}" {
		t.Error("the caller's own was masked")
	}
	saved, err := Open(dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	if saved.Run.Calibration[0].Load.Histogram != "HISTpasswordkey==" || saved.Run.Experiment.SUTs[0].Env["P"] != "{{postgres_password}}" {
		t.Error("more was masked than secrets")
	}
	if where := Masked(saved.Run.Experiment); where != "jvm[0]" {
		t.Errorf("masked at %q", where)
	}
	if where := Masked(Experiment{Title: Mask}); where != "" {
		t.Errorf("masked at %q", where)
	}
}

func TestSecrets(t *testing.T) {
	got := Secrets([]string{"A_TOKEN=0123456789", "B_KEY=short", "U=redis://u:in-a-url@h", "PATH=/usr/bin"},
		[]string{"srv", "--password", "as-a-word", "--secret=as-a-value", "jdbc:x?password=in-a-query&a=b", "--key={{placeholder}}"})
	if want := []string{"0123456789", "in-a-url", "as-a-word", "as-a-value", "in-a-query"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
