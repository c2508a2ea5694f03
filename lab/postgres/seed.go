package postgres

import (
	"fmt"
	"strings"
)

// Mark is the comment on the schema by which the lab knows its own.
const Mark = "made by loomlab: users and orders for its experiments"

// SeedStatements make the schema with its tables. Everything in a row follows
// from its number, so that every run reads the same data.
func SeedStatements(users, orders int) []string {
	return []string{
		"CREATE SCHEMA " + Schema,
		"COMMENT ON SCHEMA " + Schema + " IS '" + Mark + "'",
		"SET search_path TO " + Schema,
		"CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL, email text NOT NULL, created_at timestamptz NOT NULL)",
		fmt.Sprintf("INSERT INTO users SELECT i, 'User ' || i, 'user' || i || '@example.com', timestamptz '2024-01-01 00:00:00Z' + i * interval '1 minute' FROM generate_series(1, %d) i", users),
		"CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint NOT NULL REFERENCES users, amount numeric(10,2) NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL)",
		// 7919 is a prime: a user's orders are spread over the table.
		fmt.Sprintf("INSERT INTO orders SELECT i, 1 + i::bigint * 7919 %% %d, (1 + i::bigint * 37 %% 99991) / 100.0, (ARRAY['NEW', 'PAID', 'SHIPPED', 'CANCELLED'])[1 + i %% 4], timestamptz '2024-06-01 00:00:00Z' + i * interval '1 minute' FROM generate_series(1, %d) i", users, orders),
		"CREATE INDEX orders_user_id ON orders (user_id)",
	}
}

// TidyStatement leaves nothing for autovacuum to do in the middle of a window.
const TidyStatement = "VACUUM (ANALYZE) " + Schema + ".users, " + Schema + ".orders"

// CountStatement answers "USERS ORDERS".
const CountStatement = "SELECT (SELECT count(*) FROM " + Schema + ".users) || ' ' || (SELECT count(*) FROM " + Schema + ".orders) AS seeded"

// SQLScript joins statements so that both psql and a single-user server read them.
func SQLScript(statements ...string) string {
	return strings.Join(statements, ";\n\n") + ";\n\n"
}
