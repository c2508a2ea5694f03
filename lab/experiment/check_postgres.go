package experiment

import (
	"maps"
	"regexp"
	"slices"

	"loomlab/lab/record"
)

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

// WithPostgresDefaults fills in what an experiment leaves out, in a copy.
func WithPostgresDefaults(p *record.Postgres) *record.Postgres {
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
	if !slices.ContainsFunc(c.e.SUTs, UsesPostgres) && len(c.e.SUTs) > 0 {
		c.add("postgres", "no SUT uses it: mention {{jdbc}} or {{r2dbc}} in its args, env or command")
	}
}

// postgresPlaceholders are those that take a PostgreSQL.
var postgresPlaceholders = []string{"jdbc", "postgres_password", "postgres_user", "r2dbc"}

// PostgresIn is the first such placeholder in words, or "".
func PostgresIn(words []string) string {
	at := slices.IndexFunc(postgresPlaceholders, func(name string) bool { return Mentions(words, name) })
	if at < 0 {
		return ""
	}
	return postgresPlaceholders[at]
}

// UsesPostgres tells whether s is told of the database.
func UsesPostgres(s record.SUT) bool {
	return PostgresIn(slices.Concat(s.Command, s.Args, s.JVM, slices.Collect(maps.Values(s.Env)))) != ""
}
