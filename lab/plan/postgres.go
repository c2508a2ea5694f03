package plan

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"loomlab/lab/experiment"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
)

// PostgresUser owns the lab's own database; postgresDatabase is the one that
// initdb makes.
const (
	PostgresUser     = "loomlab"
	PostgresDatabase = "postgres"
)

// UsesPostgres tells whether s, as it is planned, is told of the database; a
// stand-in is not.
func (s *SUT) UsesPostgres() bool {
	return s.Kind != record.KindStandin && experiment.UsesPostgres(s.SUT)
}

// Postgres is the database of a plan: one that the lab starts and seeds
// anew for every start of a SUT that uses it, or the user's own.
//
// Note: fresh per start because it is cheap (under two seconds, beside a JVM's
// four) and leaves no question: no SUT reads what another one wrote, or warmed up.
type Postgres struct {
	record.Postgres
	DSN *postgres.DSN // the user's own; nil: the lab's
	// Home is the folder of the lab's PostgreSQL: whoever fetched it sets it.
	Home string
	// Missing is why there is none after all; SUTs that use it then fail with it.
	Missing string
	Version string // of the user's own, once it has answered
}

// planPostgres decides whether the run has a database, and whose: that of dsn, or
// for "" one of the lab's own.
func (p *Plan) planPostgres(dsn string) error {
	used := slices.ContainsFunc(p.SUTs, func(s SUT) bool { return s.UsesPostgres() })
	switch {
	case dsn != "" && p.Experiment.Postgres == nil:
		return fmt.Errorf("--postgres: the experiment %s has no database", p.Experiment.Name)
	case dsn != "" && !used:
		return fmt.Errorf("--postgres: none of the SUTs that run uses a database")
	case p.Experiment.Postgres == nil || !used:
		return nil
	}
	p.Postgres = &Postgres{Postgres: *p.Experiment.Postgres}
	if dsn == "" {
		return nil
	}
	own, err := postgres.ParseDSN(dsn)
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
func (p *Postgres) example() experiment.Placeholders {
	switch {
	case p == nil:
		return nil
	case p.DSN != nil:
		return p.DSN.Placeholders()
	}
	return postgres.DSN{User: PostgresUser, Password: postgres.Masked, Host: "127.0.0.1", Port: examplePostgresPort, Database: PostgresDatabase}.Placeholders()
}

// From says where it comes from: the artifact of its programs, or a DSN.
func (p *Postgres) From() string {
	if p.DSN != nil {
		return p.DSN.String()
	}
	artifact, err := postgres.ArtifactFor(postgres.Platform())
	if err != nil {
		return "PostgreSQL for " + runtime.GOOS + "/" + runtime.GOARCH
	}
	return artifact.Coordinates()
}

// Argv is the command line of the lab's own server: its programs in home, its
// data in a folder below dir.
func (p *Postgres) Argv(home, dir string, port int) []string {
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
