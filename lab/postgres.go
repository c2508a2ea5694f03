package lab

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"

	"loomlab/lab/record"
)

// postgresSchema is where the tables are. It is part of the URLs that SUTs get,
// so that in a user's own database nothing of theirs is touched or hidden.
const postgresSchema = "loomlab"

// Rows of the tables where an experiment says nothing else.
const (
	postgresUsers  = 10_000
	postgresOrders = 100_000
)

// postgresSettings are in force unless an experiment says otherwise: PostgreSQL's
// own defaults where people ask for them, and one process a query, so that a pool
// of 20 is 20 processes.
var postgresSettings = map[string]string{
	"max_connections":                 "100",
	"shared_buffers":                  "128MB",
	"fsync":                           "on",
	"synchronous_commit":              "on",
	"autovacuum":                      "on",
	"jit":                             "off",
	"max_parallel_workers_per_gather": "0",
	"update_process_title":            "on", // the lab reads there who is busy
}

// postgresOwn are settings that the lab gives itself, or that would move the
// server away from where the lab looks for it.
var postgresOwn = []string{"port", "listen_addresses", "unix_socket_directories", "data_directory", "config_file", "hba_file", "ident_file",
	"external_pid_file", "logging_collector", "log_destination", "update_process_title"}

var settingName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)?$`)

// withPostgresDefaults fills in what an experiment leaves out, in a copy.
func withPostgresDefaults(p *record.Postgres) *record.Postgres {
	if p == nil {
		return nil
	}
	full := *p
	if full.Users == 0 {
		full.Users = postgresUsers
	}
	if full.Orders == 0 {
		full.Orders = postgresOrders
	}
	full.Settings = maps.Clone(postgresSettings)
	maps.Copy(full.Settings, p.Settings)
	return &full
}

// postgres checks that block of an experiment.
func (c *checker) postgres() {
	p := c.e.Postgres
	if p == nil {
		return
	}
	for path, rows := range map[string]int{"postgres.users": p.Users, "postgres.orders": p.Orders} {
		if c.has(path) && (rows < 1 || rows > 10_000_000) && !c.mistaken(path) {
			c.add(path, "%d rows; want 1 to 10000000", rows)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		path := "postgres.settings." + name
		switch {
		case slices.Contains(postgresOwn, name):
			c.add(path, "the lab sets %s itself", name)
		case !settingName.MatchString(name):
			c.add(path, "%q is no setting of postgresql.conf, such as work_mem", name)
		}
	}
	if !slices.ContainsFunc(c.e.SUTs, usesPostgres) && len(c.e.SUTs) > 0 {
		c.add("postgres", "no SUT uses it: mention {{jdbc}} or {{r2dbc}} in its args, env or command")
	}
}

// postgresPlaceholders are those that take a PostgreSQL.
var postgresPlaceholders = []string{"jdbc", "postgres_password", "postgres_user", "r2dbc"}

// postgresIn is the first such placeholder in words, or "".
func postgresIn(words []string) string {
	at := slices.IndexFunc(postgresPlaceholders, func(name string) bool { return mentions(words, name) })
	if at < 0 {
		return ""
	}
	return postgresPlaceholders[at]
}

// usesPostgres tells whether s is told of the database.
func usesPostgres(s record.SUT) bool {
	return postgresIn(slices.Concat(s.Command, s.Args, s.JVM, slices.Collect(maps.Values(s.Env)))) != ""
}

// UsesPostgres tells whether s, as it is planned, is told of the database; a
// stand-in is not.
func (s *PlannedSUT) UsesPostgres() bool { return s.Kind != KindStandin && usesPostgres(s.SUT) }

// PlannedPostgres is the database of a plan: one that the lab starts and seeds
// anew for every start of a SUT that uses it, or the user's own.
//
// Note: fresh per start because it is cheap (under two seconds, beside a JVM's
// four) and leaves no question: no SUT reads what another one wrote, or warmed up.
type PlannedPostgres struct {
	record.Postgres
	DSN *DSN // the user's own; nil: the lab's
	// Home is the folder of the lab's PostgreSQL: whoever fetched it sets it.
	Home string
	// Missing is why there is none after all; SUTs that use it then fail with it.
	Missing string
	Version string // of the user's own, once it has answered
}

// planPostgres decides whether the run has a database, and whose: that of dsn, or
// for "" one of the lab's own.
func (p *Plan) planPostgres(dsn string) error {
	used := slices.ContainsFunc(p.SUTs, func(s PlannedSUT) bool { return s.UsesPostgres() })
	switch {
	case dsn != "" && p.Experiment.Postgres == nil:
		return fmt.Errorf("--postgres: the experiment %s has no database", p.Experiment.Name)
	case dsn != "" && !used:
		return fmt.Errorf("--postgres: none of the SUTs that run uses a database")
	case p.Experiment.Postgres == nil || !used:
		return nil
	}
	p.Postgres = &PlannedPostgres{Postgres: *p.Experiment.Postgres}
	if dsn == "" {
		return nil
	}
	own, err := ParseDSN(dsn)
	if err != nil {
		return fmt.Errorf("--postgres %w", err)
	}
	p.Postgres.DSN = &own
	return nil
}

// sameDatabase refuses to go on with a run on another database than it began with.
func (p *Plan) sameDatabase(before *record.PostgresServer) error {
	switch {
	case p.Postgres == nil || before == nil:
		return nil
	case before.Fresh && p.Postgres.DSN != nil:
		return fmt.Errorf("it has databases of the lab's own, so --postgres cannot stand beside it")
	case !before.Fresh && p.Postgres.DSN == nil:
		return fmt.Errorf("it measured on your own database, %s, whose password is in no record: name it with --postgres", before.From)
	case before.From != p.Postgres.From():
		return fmt.Errorf("it measured on %s, not on %s", before.From, p.Postgres.From())
	}
	return nil
}

// example is what a dry run shows in the place of the database's values.
func (p *PlannedPostgres) example() Placeholders {
	switch {
	case p == nil:
		return nil
	case p.DSN != nil:
		return p.DSN.placeholders()
	}
	return DSN{User: postgresUser, Password: masked, Host: "127.0.0.1", Port: examplePostgresPort, Database: postgresDatabase}.placeholders()
}

// From says where it comes from: the artifact of its programs, or a DSN.
func (p *PlannedPostgres) From() string {
	if p.DSN != nil {
		return p.DSN.String()
	}
	artifact, err := artifactFor(postgresPlatform())
	if err != nil {
		return "PostgreSQL for " + runtime.GOOS + "/" + runtime.GOARCH
	}
	return artifact.coordinates()
}

// Argv is the command line of the lab's own server: its programs in home, its
// data in a folder below dir.
func (p *PlannedPostgres) Argv(home, dir string, port int) []string {
	argv := []string{home + "/bin/postgres", "-D", dir + "/data", "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=" + socketFolder(dir, port)}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		argv = append(argv, "-c", name+"="+p.Settings[name])
	}
	return argv
}

// socketFolder is dir, unless a socket's path there is longer than systems take.
func socketFolder(dir string, port int) string {
	if len(fmt.Sprintf("%s/.s.PGSQL.%d", dir, port)) > 100 {
		return ""
	}
	return dir
}
