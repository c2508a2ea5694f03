package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"loomlab/lab/phrase"
	"loomlab/lab/plan"
	"loomlab/lab/postgres"
	"loomlab/lab/tool"
)

// The user's own database is reached with psql, PostgreSQL's own client, which
// knows every way to connect to one.

// psqlLimit bounds one call of it; seeding a slow database takes its time.
const psqlLimit = 5 * time.Minute

// PrepareOwn checks that the user's database answers, and makes the lab's schema
// there unless it is there already. Nothing of the user's is changed, and nothing
// is dropped; tell hears what was made.
func PrepareOwn(ctx context.Context, p *plan.Postgres, tell func(string)) error {
	version, err := psql(ctx, p, "SHOW server_version")
	if err != nil {
		return err
	}
	p.Version = version
	mark, err := psql(ctx, p, "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') || '.' FROM pg_namespace WHERE nspname = '"+postgres.Schema+"'")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%d %d", p.Users, p.Orders)
	if mark == "" {
		statements := append([]string{"BEGIN"}, postgres.SeedStatements(p.Users, p.Orders)...)
		if _, err := psql(ctx, p, append(statements, "COMMIT", postgres.TidyStatement)...); err != nil {
			return err
		}
		tell(fmt.Sprintf("made the schema %s with %d users and %d orders in %s; it stays there: DROP SCHEMA %s CASCADE removes it", postgres.Schema, p.Users, p.Orders, p.DSN, postgres.Schema))
		return nil
	}
	if mark != postgres.Mark+"." {
		return fmt.Errorf("--postgres %s: it has a schema %s that the lab did not make; name another database", p.DSN, postgres.Schema)
	}
	if rows, err := psql(ctx, p, postgres.CountStatement); err != nil || rows != want {
		if err != nil {
			rows = err.Error()
		}
		return fmt.Errorf("--postgres %s: the schema %s of an earlier run has not the tables of this experiment (users and orders: %s, not %s); DROP SCHEMA %s CASCADE removes it", p.DSN, postgres.Schema, rows, want, postgres.Schema)
	}
	tell(fmt.Sprintf("using the schema %s that an earlier run made in %s", postgres.Schema, p.DSN))
	return nil
}

// psql runs statements and returns the trimmed answer of the last.
func psql(ctx context.Context, p *plan.Postgres, statements ...string) (string, error) {
	program, err := exec.LookPath("psql")
	if err != nil {
		return "", fmt.Errorf("--postgres %s: the lab fills your database with psql, and there is none on the PATH; install PostgreSQL's client", p.DSN)
	}
	ctx, cancel := context.WithTimeout(ctx, psqlLimit)
	defer cancel()
	cmd := tool.Command(ctx, program, "--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--dbname="+p.DSN.Libpq())
	cmd.Env = append(postgresEnv(os.Environ()), "PGPASSWORD="+p.DSN.Password, "PGCONNECT_TIMEOUT=10", "PGAPPNAME=loomlab")
	cmd.Stdin = strings.NewReader(postgres.SQLScript(statements...))
	var out, errs tool.Opening
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = tool.Run(cmd)
	switch {
	case err == nil:
		return strings.TrimSpace(out.String()), nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "", fmt.Errorf("--postgres %s: psql did not end within %v", p.DSN, psqlLimit)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	said := postgresComplaint(errs.String())
	if said == "" {
		said = phrase.Printable(phrase.FirstLine(errs.String()))
	}
	return "", fmt.Errorf("--postgres %s: %s", p.DSN, said)
}
