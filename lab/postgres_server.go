package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/netns"
	"loomlab/lab/phrase"
	"loomlab/lab/plan"
	"loomlab/lab/postgres"
	"loomlab/lab/record"
	"loomlab/probes"
)

// database is a fork's PostgreSQL while it runs.
type database struct {
	dsn   postgres.DSN
	tier  *tier // nil: the user's own, which is no child of ours
	place launcher
	netns *netns.Namespace // nil: the lab's
	tree  *probes.Tree
	dir   string // its folder, removed when it is closed
	gauge *busyGauge
}

// postgresStart bounds each step of a start: initdb, seeding, and until it answers.
const postgresStart = time.Minute

// startDatabase gives the fork its database, where its SUT uses one.
func (f *fork) startDatabase(ctx context.Context) error {
	p := f.plan.Postgres
	if p == nil || !f.sut.UsesPostgres() {
		return nil
	}
	if p.Missing != "" {
		return errors.New(p.Missing)
	}
	if p.DSN != nil {
		f.db = &database{dsn: *p.DSN}
		f.lab.notePostgres(record.PostgresServer{Version: p.Version, From: p.From()})
		return nil
	}
	began := time.Now()
	db, argv, err := f.lab.startPostgres(ctx, p, f.launcher(record.TierPostgres), f.netns)
	if db != nil {
		f.db = db // even a broken one must be ended
	}
	if err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	tree, err := f.watch.add(db.tier)
	db.tree, _ = tree.(*probes.Tree)
	if err != nil {
		f.lab.observer.Warn(fmt.Sprintf("PostgreSQL cannot be probed: %v", err))
	} else {
		db.gauge = newBusyGauge(probes.NewFS("/"), db.tree)
	}
	took := time.Since(began).Seconds()
	f.lab.notePostgres(record.PostgresServer{Version: postgres.Version, From: p.From(), Fresh: true, Argv: argv, ReadyS: &took})
	return nil
}

// notePostgres keeps what the first one was.
func (l *lab) notePostgres(s record.PostgresServer) {
	if l.run.Postgres == nil {
		l.run.Postgres = &s
	}
}

// startPostgres makes, seeds and starts a server. The database that it returns
// beside an error is one to be closed.
func (l *lab) startPostgres(ctx context.Context, p *plan.Postgres, place launcher, n *netns.Namespace) (db *database, argv []string, err error) {
	if l.postgres == nil {
		if l.postgres, err = newPostgresFolder(l.self, p.Home); err != nil {
			return nil, nil, err
		}
	}
	db = &database{place: place, netns: n}
	if db.dir, err = l.postgres.next(); err != nil {
		return db, nil, err
	}
	port, err := freePortIn(n)
	if err != nil {
		return db, nil, err
	}
	db.dsn = postgres.DSN{User: plan.PostgresUser, Password: rand.Text(), Host: "127.0.0.1", Port: port, Database: plan.PostgresDatabase}
	if err := l.initPostgres(ctx, db); err != nil {
		return db, nil, err
	}
	if err := l.seedPostgres(ctx, db, p.Users, p.Orders); err != nil {
		return db, nil, err
	}
	argv = p.Argv(l.postgres.home, db.dir, port)
	if db.tier, err = start(l.self, l.postgresLaunch(db, argv)); err != nil {
		return db, nil, err
	}
	return db, argv, db.await(ctx)
}

// postgresLaunch starts one of PostgreSQL's programs as the user, and in the
// folder, that it needs. It ends by SIGQUIT, PostgreSQL's immediate shutdown: the
// data is thrown away, so no checkpoint need be written, and unlike after KILL no
// shared memory stays.
func (l *lab) postgresLaunch(db *database, argv []string) launch {
	return launch{
		tier: record.TierPostgres, argv: argv, env: postgresEnv(os.Environ()), place: db.place,
		log: l.log("postgres"), user: l.postgres.user, dir: db.dir, stop: "QUIT",
	}
}

// postgresEnv keeps PostgreSQL from the user's settings for clients, and has it
// speak English, in which its errors are looked for.
func postgresEnv(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG") || strings.HasPrefix(v, "TZ=")
	})
	return append(env, "LC_ALL=C", "TZ=UTC")
}

// initPostgres makes the data folder, with a password that nobody knows but the
// SUTs: the port is open to everyone on this machine.
func (l *lab) initPostgres(ctx context.Context, db *database) error {
	passwordFile := filepath.Join(db.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(db.dsn.Password+"\n"), 0o600); err != nil {
		return err
	}
	if l.postgres.user != "" {
		if err := os.Chown(passwordFile, l.postgres.uid, l.postgres.gid); err != nil {
			return err
		}
	}
	defer os.Remove(passwordFile)
	_, err := l.postgresStep(ctx, db, "initdb", "", []string{
		l.postgres.home + "/bin/initdb", "-D", db.dir + "/data", "--username=" + plan.PostgresUser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions",
		"--set=dynamic_shared_memory_type=mmap", // in its folder, which goes with it; what lies in /dev/shm outlives a kill
	})
	return err
}

// seedPostgres fills the tables with a single-user server, which takes SQL on its
// stdin: the programs come without psql.
func (l *lab) seedPostgres(ctx context.Context, db *database, users, orders int) error {
	statements := append(postgres.SeedStatements(users, orders), postgres.TidyStatement, postgres.CountStatement)
	said, err := l.postgresStep(ctx, db, "seeding", postgres.SQLScript(statements...), []string{
		l.postgres.home + "/bin/postgres", "--single", "-j", "-D", db.dir + "/data", "-c", "fsync=off", plan.PostgresDatabase,
	})
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("seeded = \"%d %d\"", users, orders); !strings.Contains(said, want) {
		return fmt.Errorf("seeding made other tables than %d users and %d orders; all it said is in postgres.log", users, orders)
	}
	return nil
}

// postgresStep runs one of its programs to its end, and returns the last that it
// said. A statement that fails does not fail a single-user server: its words do.
func (l *lab) postgresStep(ctx context.Context, db *database, what, input string, argv []string) (said string, err error) {
	launch := l.postgresLaunch(db, argv)
	launch.stdin = true
	t, err := start(l.self, launch)
	if err != nil {
		return "", err
	}
	defer t.stop()
	go func() {
		_, _ = t.stdin.Write([]byte(input)) // an error shows as the program's end
		_ = t.stdin.Close()
	}()
	select {
	case <-t.gone:
	case <-time.After(postgresStart):
		return "", fmt.Errorf("%s did not end within %v%s", what, postgresStart, t.lastWords())
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	said = t.tail.String()
	if complaint := postgresComplaint(said); complaint != "" {
		return "", fmt.Errorf("%s failed: %s", what, complaint)
	}
	if t.lost || t.exit.Code != 0 || t.exit.Signal != "" {
		return "", fmt.Errorf("%s %s%s", what, t.cause(), t.lastWords())
	}
	return said, nil
}

// complaintPattern is how PostgreSQL's programs begin the line of an error.
var complaintPattern = regexp.MustCompile(`(?m)^.*?(?:ERROR|FATAL|PANIC|error): +(.*)$`)

// postgresComplaint is the first error in what PostgreSQL said, or "".
func postgresComplaint(said string) string {
	m := complaintPattern.FindStringSubmatch(said)
	if m == nil {
		return ""
	}
	return phrase.Printable(strings.TrimSpace(m[1]))
}

// await returns when the server takes connections.
func (db *database) await(ctx context.Context) error {
	for began := time.Now(); ; sleep(ctx, 20*time.Millisecond) {
		err := postgres.Ping(ctx, db.netns, db.dsn.Host, db.dsn.Port, db.dsn.User, db.dsn.Database)
		switch {
		case db.tier.hasEnded():
			<-db.tier.gone
			if complaint := postgresComplaint(db.tier.tail.String()); complaint != "" {
				return errors.New("the server did not start: " + complaint)
			}
			return fmt.Errorf("the server %s%s", db.tier.cause(), db.tier.lastWords())
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			return nil
		case time.Since(began) > postgresStart:
			return fmt.Errorf("the server did not answer within %v: %w%s", postgresStart, err, db.tier.lastWords())
		}
	}
}

// close ends the server and removes its data.
func (db *database) close() {
	if db == nil {
		return
	}
	db.gauge.stop()
	if db.tier != nil {
		db.tier.stop()
	}
	if db.dir != "" {
		_ = os.RemoveAll(db.dir) // the run's end, or the next run, tries again
	}
}

// begin drops what was seen before a cell.
func (db *database) begin() {
	if db != nil {
		db.gauge.begin()
	}
}

// ended is closed when the lab's own server has ended.
func (db *database) ended() <-chan struct{} {
	if db == nil {
		return nil
	}
	return db.tier.ended()
}

// values are what the SUT is told.
func (db *database) values() experiment.Placeholders {
	if db == nil {
		return nil
	}
	return db.dsn.Placeholders()
}
