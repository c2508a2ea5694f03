package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/java"
	"loomlab/lab/plan"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
	"loomlab/probes"
)

// realPostgres is the folder of the real programs, or the reason for a loud skip.
func realPostgres(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short; PostgreSQL is not tested")
	}
	skip := func(err error) {
		t.Helper()
		if os.Getenv("LOOMLAB_REQUIRE_JDK") == "1" {
			t.Fatalf("LOOMLAB_REQUIRE_JDK=1, but PostgreSQL cannot be tested: %v", err)
		}
		t.Skipf("SKIPPED: PostgreSQL is not tested: %v", err)
	}
	if home, ok := postgres.Cached(postgres.Options{}); ok {
		return home
	}
	jdk, err := java.SelectJDK(t.Context(), java.FindJDKs(t.Context()), "")
	if err != nil {
		skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	home, err := postgres.Fetch(ctx, postgres.Options{JDK: jdk, Log: func(line string) { t.Log(line) }})
	if errors.Is(err, java.ErrNoMaven) || err != nil && strings.Contains(err.Error(), "fetching io.zonky") {
		skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// postgresLab is a run that has come as far as its database.
func postgresLab(t *testing.T, home string) *lab {
	t.Helper()
	t.Setenv("TMPDIR", shortTemp(t))
	l := newPostgresLab(home)
	t.Cleanup(func() { l.postgres.remove() })
	return l
}

func newPostgresLab(home string) *lab {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	pg := &plan.Postgres{Postgres: *experiment.WithPostgresDefaults(&record.Postgres{Users: 100, Orders: 1000}), Home: home}
	l := &lab{self: self, plan: &plan.Plan{Postgres: pg}, run: &record.Run{}}
	l.logs.open = func(string) (*os.File, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) }
	return l
}

// shortTemp is a folder that nobody can enter too, and whose name leaves room for a socket's.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pg")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// sharedMemory are the segments of the server pid that exist: those that it maps,
// or mapped when they were known, and those that it made.
func sharedMemory(t *testing.T, pid int, known ...string) []string {
	t.Helper()
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // gone, or none on other systems
	known = append(known, regexp.MustCompile(`/dev/shm/PostgreSQL\.\d+`).FindAllString(string(maps), -1)...)
	var found []string
	for _, path := range known {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	segments, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(segments)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == fmt.Sprint(pid) {
			found = append(found, "segment "+fields[1])
		}
	}
	return found
}

func TestRealPostgres(t *testing.T) {
	l := postgresLab(t, realPostgres(t))
	db, argv, err := l.startPostgres(t.Context(), l.plan.Postgres, launcher{}, nil)
	defer db.close()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", record.JoinWords(argv))
	tree, err := probes.NewTree(probes.NewFS("/"), db.tier.guard.Process.Pid, probes.SkipRoot)
	if err != nil {
		t.Fatal(err)
	}
	if s := tree.Sample(); s.Processes < 3 {
		t.Errorf("%d processes; want the server and those that it always has", s.Processes)
	}
	if info, err := os.Stat(filepath.Join(db.dir, "data")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(db.dir, "password")); !os.IsNotExist(err) {
		t.Errorf("the file with the password is still there: %v", err)
	}
	t.Run("as the user's own", func(t *testing.T) { testOwnDatabase(t, db, tree) })

	dir, pid := db.dir, db.tier.pid
	before := sharedMemory(t, pid)
	began := time.Now()
	db.close()
	db = nil
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("ending it took %v", took)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
	if after := sharedMemory(t, pid, before...); len(after) > 0 {
		t.Errorf("of its shared memory %v there is still %v", before, after)
	}
}

// testOwnDatabase asks with psql, as for a database that the user brings.
func testOwnDatabase(t *testing.T, db *database, tree *probes.Tree) {
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("SKIPPED: no psql on the PATH; a user's own database is not tested")
	}
	own := &plan.Postgres{Postgres: record.Postgres{Users: 100, Orders: 1000}, DSN: &db.dsn}
	var told []string
	tell := func(line string) { told = append(told, line) }
	if err := PrepareOwn(t.Context(), own, tell); err != nil || own.Version != postgres.Version {
		t.Fatalf("%v, version %q", err, own.Version)
	}
	if len(told) != 1 || !strings.Contains(told[0], "an earlier run made") || strings.Contains(told[0], db.dsn.Password) {
		t.Errorf("told %q", told)
	}
	answer, err := psql(t.Context(), own, "SET search_path TO loomlab", "SELECT count(*) || ' ' || count(DISTINCT user_id) || ' ' || min(amount) || ' ' || count(DISTINCT status) FROM orders JOIN users ON users.id = user_id")
	if err != nil || answer != "1000 100 0.38 4" {
		t.Errorf("the tables: %q, %v", answer, err)
	}
	other := *own
	other.Orders = 2000
	if err := PrepareOwn(t.Context(), &other, tell); err == nil || !strings.Contains(err.Error(), "100 1000, not 100 2000") {
		t.Errorf("another experiment's tables: %v", err)
	}
	// A database without the schema, and one with a schema of that name that is not ours.
	if _, err := psql(t.Context(), own, "CREATE DATABASE fresh"); err != nil {
		t.Fatal(err)
	}
	fresh := db.dsn
	fresh.Database = "fresh"
	other.DSN = &fresh
	told = nil
	if err := PrepareOwn(t.Context(), &other, tell); err != nil || len(told) != 1 || !strings.Contains(told[0], "made the schema loomlab with 100 users and 2000 orders") {
		t.Errorf("a fresh database: %v, told %q", err, told)
	}
	if _, err := psql(t.Context(), &other, "COMMENT ON SCHEMA loomlab IS 'mine'"); err != nil {
		t.Fatal(err)
	}
	if err := PrepareOwn(t.Context(), &other, tell); err == nil || !strings.Contains(err.Error(), "that the lab did not make") {
		t.Errorf("somebody else's schema: %v", err)
	}
	wrong := db.dsn
	wrong.Password = "wrong-one"
	for want, dsn := range map[string]postgres.DSN{
		"password authentication failed": wrong,
		"Connection refused":             {User: "a", Host: "127.0.0.1", Port: 1, Database: "b"},
	} {
		broken := &plan.Postgres{DSN: &dsn}
		if err := PrepareOwn(t.Context(), broken, tell); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "wrong-one") {
			t.Errorf("%v, want one line with %s", err, want)
		}
	}
	testBusy(t, own, tree)
}

// testBusy watches a query that sleeps.
func testBusy(t *testing.T, own *plan.Postgres, tree *probes.Tree) {
	gauge := newBusyGauge(probes.NewFS("/"), tree)
	defer gauge.stop()
	if _, err := psql(t.Context(), own, "SELECT pg_sleep(2.5)"); err != nil {
		t.Fatal(err)
	}
	if d := gauge.between(0, 1e12); d == nil || d.BusyMax != 1 || d.Connections != 1 {
		t.Errorf("a sleeping query was seen as %+v", d)
	}
}

// What a run that is killed leaves, its guard removes.
func TestRealPostgresEndsWithItsOrchestrator(t *testing.T) {
	home := realPostgres(t)
	cmd := exec.Command(os.Args[0], "orchestrate-postgres", home)
	cmd.Env = append(os.Environ(), "TMPDIR="+shortTemp(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var started struct {
		PID    int
		Folder string
	}
	err = json.NewDecoder(bufio.NewReader(out)).Decode(&started)
	before := sharedMemory(t, started.PID)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	awaitGone(t, 5*time.Second, started.PID)
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(started.Folder)
		if os.IsNotExist(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", started.Folder)
		}
	}
	if after := sharedMemory(t, started.PID, before...); len(after) > 0 {
		t.Errorf("of its shared memory %v there is still %v", before, after)
	}
}

// orchestratePostgres is a run that will be killed.
func orchestratePostgres(home string) {
	l := newPostgresLab(home)
	db, _, err := l.startPostgres(context.Background(), l.plan.Postgres, launcher{}, nil)
	if err != nil {
		panic(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"PID": db.tier.pid, "Folder": l.postgres.path})
	select {}
}

// A start that cannot succeed ends with one line, and leaves nothing.
func TestRealPostgresThatCannotStart(t *testing.T) {
	l := postgresLab(t, realPostgres(t))
	for setting, want := range map[string][2]string{
		"unknown setting": {"no_such_setting=1", `unrecognized configuration parameter "no_such_setting"`},
		"bad value":       {"max_connections=many", "max_connections"},
	} {
		name, value, _ := strings.Cut(want[0], "=")
		p := *l.plan.Postgres
		p.Settings = map[string]string{name: value}
		db, _, err := l.startPostgres(t.Context(), &p, launcher{}, nil)
		if err == nil || !strings.Contains(err.Error(), want[1]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %s", setting, err, want[1])
		}
		db.close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	db, _, err := l.startPostgres(ctx, l.plan.Postgres, launcher{}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled start: %v", err)
	}
	db.close()
	if left, _ := filepath.Glob(filepath.Join(l.postgres.path, "[0-9]*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
