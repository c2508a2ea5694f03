package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/plan"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
	"loomlab/probes"
)

const databaseExperiment = `
name: db
postgres: {users: 10, settings: {max_connections: 30, work_mem: 8MB}}
load: {path: /db/light, connections: [50]}
suts:
  - {name: mine, command: [./server, --port, "{{port}}", --url, "{{jdbc}}"], env: {USER_NAME: "{{postgres_user}}", SECRET: "{{postgres_password}}"}}
  - {name: other, command: [./server, --port, "{{port}}"], standin: {model: threads}}
`

func parseExperiment(t *testing.T, text string) *record.Experiment {
	t.Helper()
	e, err := experiment.Parse("db.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestPostgresInAPlan(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	e := parseExperiment(t, databaseExperiment)
	p, err := plan.New(e, plan.Options{}, plan.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	pg := p.Postgres
	if pg == nil || pg.Users != 10 || pg.Orders != 100_000 || pg.Settings["max_connections"] != "30" || pg.Settings["shared_buffers"] != "128MB" || pg.DSN != nil {
		t.Fatalf("%+v", pg)
	}
	if !p.SUTs[0].UsesPostgres() || p.SUTs[1].UsesPostgres() {
		t.Error("who uses the database is not told apart")
	}
	line := record.JoinWords(pg.Argv("/home", "/tmp/x", 20001))
	for _, part := range []string{"/home/bin/postgres -D /tmp/x/data -p 20001 -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp/x ", "-c max_connections=30 ", "-c work_mem=8MB"} {
		if !strings.Contains(line, part) {
			t.Errorf("%s\nlacks %s", line, part)
		}
	}
	if !strings.Contains(p.Needs.String(), "PostgreSQL "+postgres.Version) {
		t.Errorf("needs: %s", p.Needs)
	}
	if e.Postgres.Orders != 0 {
		t.Error("planning changed the experiment")
	}
	long := strings.Repeat("x", 100)
	if got := record.JoinWords(pg.Argv("/home", "/"+long, 20001)); !strings.Contains(got, "unix_socket_directories= ") {
		t.Errorf("a socket in a folder of a long name: %s", got)
	}
}

func TestPostgresIsLeftOutWhereNobodyUsesIt(t *testing.T) {
	e := parseExperiment(t, databaseExperiment)
	for name, opts := range map[string]plan.Options{"another SUT": {SUTs: []string{"other"}}, "stand-ins": {Standins: true}} {
		p, err := plan.New(e, opts, plan.Facts{})
		if err != nil || p.Postgres != nil || strings.Contains(p.Needs.String(), "PostgreSQL") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestOwnDatabaseInAPlan(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	const dsn = "postgres://ann:s3cret@db.example/shop"
	p, err := plan.New(parseExperiment(t, databaseExperiment), plan.Options{Postgres: dsn}, plan.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	var dry strings.Builder
	if err := p.WriteDryRun(&dry); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"postgres://ann:***@db.example:5432/shop", "jdbc:postgresql://db.example:5432/shop?currentSchema=loomlab", "SECRET='***' USER_NAME=ann", "psql"} {
		if !strings.Contains(dry.String(), want) {
			t.Errorf("the dry run lacks %s", want)
		}
	}
	if strings.Contains(dry.String(), "s3cret") {
		t.Errorf("the dry run tells the password:\n%s", &dry)
	}
	for name, test := range map[string]struct {
		text string
		opts plan.Options
		want string
	}{
		"broken":         {databaseExperiment, plan.Options{Postgres: "localhost/shop"}, "--postgres localhost/shop: it does not begin with postgres://"},
		"no database":    {"name: a\nload: {connections: [1]}\nsuts: [{name: s, command: [x, '{{port}}']}]\n", plan.Options{Postgres: dsn}, "--postgres: the experiment a has no database"},
		"nobody uses it": {databaseExperiment, plan.Options{Postgres: dsn, SUTs: []string{"other"}}, "--postgres: none of the SUTs"},
		"custom SUT":     {"name: a\nload: {connections: [1]}\nsuts: [{name: s, command: [x, '{{port}}']}]\n", plan.Options{SUTs: []string{"m=./x {{port}} {{r2dbc}}"}}, "{{r2dbc}}: the experiment a has no database"},
	} {
		if _, err := plan.New(parseExperiment(t, test.text), test.opts, plan.Facts{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestPostgresMistakes(t *testing.T) {
	_, err := experiment.Parse("db.yaml", []byte(`
name: db
postgres: {users: 0, orders: 20000000, settings: {port: 1, Work-Mem: 2}, colour: red}
load: {connections: [50]}
suts:
  - {name: mine, command: [./server, "{{port}}"]}
`))
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{"0 rows", "20000000 rows", "the lab sets port itself", `"Work-Mem" is no setting`, `unknown key "colour"`, "no SUT uses it"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	_, err = experiment.Parse("db.yaml", []byte("name: db\nload: {connections: [50]}\nsuts:\n  - {name: mine, command: [./server, '{{port}}'], env: {URL: '{{r2dbc}}'}}\n"))
	if err == nil || !strings.Contains(err.Error(), "{{r2dbc}} in an experiment without a database") {
		t.Errorf("%v", err)
	}
}

func TestMaskedPlaceholders(t *testing.T) {
	values := experiment.Placeholders{"postgres_password": "s3cret", "port": "1"}
	if shown := values.Masked(); shown["postgres_password"] != "***" || shown["port"] != "1" || values["postgres_password"] != "s3cret" {
		t.Errorf("%v", shown)
	}
	if _, made := (experiment.Placeholders{"port": "1"}).Masked()["postgres_password"]; made {
		t.Error("a password was made up")
	}
}

func TestPostgresComplaint(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "LOG:  database system is ready\n": "", "WARNING: something\n": "",
		"backend> 2026-01-01 00:00:00.000 UTC [7] ERROR:  could not extend file \"base/5/1\": No space left on device\nHINT: Check free disk space.\n": `could not extend file "base/5/1": No space left on device`,
		"LOG: x\n2026 FATAL:  could not create any TCP/IP sockets\n":                                                                                   "could not create any TCP/IP sockets",
		"initdb: error: cannot be run as root\ninitdb: hint: log in\n":                                                                                 "cannot be run as root",
		"psql: error: connection to server failed: FATAL:  password authentication failed\n":                                                           "connection to server failed: FATAL:  password authentication failed",
		"ERROR:  a\x1b[31mb\n": "a\uFFFD[31mb",
	} {
		if got := postgresComplaint(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestPostgresEnv(t *testing.T) {
	got := strings.Join(postgresEnv([]string{"PATH=/bin", "PGDATA=/x", "PGOPTIONS=-c a", "LANG=de_DE", "LC_MESSAGES=de_DE", "TZ=CET", "HOME=/root"}), " ")
	if got != "PATH=/bin HOME=/root LC_ALL=C TZ=UTC" {
		t.Error(got)
	}
}

func TestBackendTitles(t *testing.T) {
	for title, want := range map[string][2]bool{
		"postgres: loomlab postgres 127.0.0.1(40312) SELECT":              {true, true},
		"postgres: loomlab postgres 127.0.0.1(40312) idle":                {true, false},
		"postgres: loomlab postgres 127.0.0.1(40312) idle in transaction": {true, true},
		"postgres: loomlab postgres ::1(40312) BIND":                      {true, true},
		"postgres: main: loomlab postgres [local] PARSE":                  {true, true},
		"postgres: checkpointer":                                          {},
		"postgres: autovacuum launcher":                                   {},
		"postgres: autovacuum worker postgres":                            {},
		"postgres: logical replication launcher":                          {},
		"/x/bin/postgres -D /x/data -p 20000":                             {},
		"java -jar postgres: a b 1(2) SELECT":                             {},
	} {
		if client, busy := backend(title); client != want[0] || busy != want[1] {
			t.Errorf("%s: client %v, busy %v", title, client, busy)
		}
	}
}

func TestBusyGaugeBetween(t *testing.T) {
	g := &busyGauge{samples: []busySample{{1, 20, 20}, {2, 20, 18}, {3, 21, 20}, {4, 20, 0}}}
	d := g.between(1.5, 3.5)
	if d == nil || d.Samples != 2 || d.BusyMean != 19 || d.BusyMax != 20 || d.Connections != 21 {
		t.Errorf("%+v", d)
	}
	if g.between(5, 6) != nil || (*busyGauge)(nil).between(0, 9) != nil {
		t.Error("something was made of nothing")
	}
}

// TestBusyGaugeReadsTitles looks at a process of its own, which has no client.
func TestBusyGaugeReadsTitles(t *testing.T) {
	tr := startScript(t, "exec sleep 60")
	tree, err := probes.NewTree(probes.NewFS("/"), tr.guard.Process.Pid, probes.SkipRoot)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	g := newBusyGauge(probes.NewFS("/"), tree)
	defer g.stop()
	for range 200 {
		g.mu.Lock()
		n := len(g.samples)
		g.mu.Unlock()
		if n > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it never looked")
}

func TestPostgresFolders(t *testing.T) {
	t.Setenv("TMPDIR", shortTemp(t))
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "postgres"), []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	living, err := newPostgresFolder(os.Args[0], home)
	if err != nil {
		t.Fatal(err)
	}
	defer living.remove()
	dir, err := living.next()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v; want a folder for its owner alone", info, err)
	}
	if os.Geteuid() == 0 {
		if info, err := os.Stat(filepath.Join(living.home, "postgres")); err != nil || info.Mode().Perm() != 0o755 || living.user == "" {
			t.Errorf("%v, %v, %q; want a program that nobody can run", info, err, living.user)
		}
	}
	dead, err := newPostgresFolder(os.Args[0], home)
	if err != nil {
		t.Fatal(err)
	}
	dead.guard.stop()
	if err := dead.lock.Close(); err != nil { // as when its run was killed, and its guard
		t.Fatal(err)
	}
	next, err := newPostgresFolder(os.Args[0], home)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead.path); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead run is still there: %v", err)
	}
	if _, err := os.Stat(living.path); err != nil {
		t.Errorf("the folder of a living run is gone: %v", err)
	}
	next.remove()
	if _, err := os.Stat(next.path); !os.IsNotExist(err) {
		t.Errorf("not removed: %v", err)
	}
	orphan, err := newPostgresFolder(os.Args[0], home)
	if err != nil {
		t.Fatal(err)
	}
	if err := orphan.guard.lifeline.Close(); err != nil { // as when its run is killed
		t.Fatal(err)
	}
	<-orphan.guard.gone
	if _, err := os.Stat(orphan.path); !os.IsNotExist(err) {
		t.Errorf("the folder of a run that was killed is not removed: %v", err)
	}
	orphan.remove()
	(*postgresFolder)(nil).remove()
}
