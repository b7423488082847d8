package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed migrations/*.sql
var files embed.FS

// Migration is one version of the schema. Migrations go forward only.
type Migration struct {
	// Version counts from 1.
	Version int
	// Name is that of its file.
	Name string
	// Oldest is the schema version for which the oldest package was made that can still work after it: nodes of that version
	// may go on while it is applied, and afterwards.
	Oldest int
	// Sum tells the text from any other.
	Sum string

	text string
}

// migrations are the schema's versions in order.
var migrations = func() []Migration {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted by name
	if err != nil {
		panic(err)
	}
	all := make([]Migration, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		all[i] = newMigration(i+1, strings.TrimPrefix(name, "migrations/"), string(text))
	}
	return all
}()

// newMigration reads a file. Its first line may say "-- oldest: N"; otherwise nodes of every version can go on.
func newMigration(version int, name, text string) Migration {
	m := Migration{Version: version, Name: name, Oldest: 1, text: text}
	sum := sha256.Sum256([]byte(text))
	m.Sum = hex.EncodeToString(sum[:8])
	first, _, _ := strings.Cut(text, "\n")
	if oldest, ok := strings.CutPrefix(first, "-- oldest: "); ok {
		n, err := strconv.Atoi(strings.TrimSpace(oldest))
		if err != nil || n < 1 || n > version {
			panic("postgres: " + name + ": " + first)
		}
		m.Oldest = n
	}
	return m
}

// Migrations lists the versions of the schema that this package knows, in order.
func Migrations() []Migration { return append([]Migration(nil), migrations...) }

// Migrate brings the schema of the database to this package's version, and makes it when there is none. It is what Open does, for hosts whose
// nodes have no right to change tables: run it once with a role that has. Nodes of older versions may be running (see Migration.Oldest),
// and any number of processes may call it at once: they take turns, and all but the first find nothing to do. An empty schema is "interlude".
func Migrate(ctx context.Context, dsn, schema string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return unusable("connection string", err)
	}
	if schema, err = schemaName(schema); err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", explain(err))
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what was done is committed
	if err := migrate(ctx, conn, schema, migrations); err != nil {
		return fmt.Errorf("postgres: migrate: %w", explain(err))
	}
	return nil
}

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// beginner is a connection or a pool.
type beginner interface {
	querier
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Status is how far a schema is.
type Status struct {
	Version int // 0: there is none
	Oldest  int // packages for older versions than this cannot work with it
	Applied []Migration
}

// status reads it. Most roles may look whether a table is there; its content needs the right.
func status(ctx context.Context, q querier, schema string) (s Status, _ error) {
	var exists bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migrations')`, schema).Scan(&exists)
	if err != nil || !exists {
		return s, err
	}
	rows, err := q.Query(ctx, inSchema(`SELECT version, name, oldest, sum FROM interlude.migrations ORDER BY version`, schema))
	if err != nil {
		return s, err
	}
	s.Applied, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Migration, _ error) {
		err := row.Scan(&m.Version, &m.Name, &m.Oldest, &m.Sum)
		return m, err
	})
	for _, m := range s.Applied {
		s.Version, s.Oldest = m.Version, max(s.Oldest, m.Oldest)
	}
	return s, err
}

// fits says whether this package, which knows so many versions, can work with the schema as it is.
func (s Status) fits(known int) error {
	switch {
	case s.Version < known:
		return fmt.Errorf("%w: it is at version %d, this package needs %d: call Migrate, with a role that may change tables", ErrOlder, s.Version, known)
	case s.Oldest > known:
		return fmt.Errorf("%w: it is at version %d and needs a package for %d at least, this one is for %d", ErrNewer, s.Version, s.Oldest, known)
	}
	return nil
}

// migrate applies what is missing, in one transaction.
func migrate(ctx context.Context, db beginner, schema string, known []Migration) error {
	have, err := status(ctx, db, schema)
	if err != nil || have.Version >= len(known) {
		return err // a newer schema is looked at by fits
	}
	err = pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		// The lock ends with the transaction, so that a pooler may stand between.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "interlude migrations of "+schema); err != nil {
			return err
		}
		have, err := status(ctx, tx, schema)
		if err != nil || have.Version >= len(known) {
			return err
		}
		if have.Version == 0 {
			if err := begin(ctx, tx, schema); err != nil {
				return err
			}
		}
		for _, m := range known[have.Version:] {
			if _, err := tx.Exec(ctx, inSchema(m.text, schema), pgx.QueryExecModeSimpleProtocol); err != nil { // several statements
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			if _, err := tx.Exec(ctx, inSchema(`INSERT INTO interlude.migrations (version, name, oldest, sum) VALUES ($1, $2, $3, $4)`, schema),
				m.Version, m.Name, m.Oldest, m.Sum); err != nil {
				return err
			}
		}
		return nil
	})
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "42P07" { // a table of that name is there
		return fmt.Errorf("%w: %w: choose another one by Options.Schema", ErrForeign, err)
	}
	return err
}

// begin makes the schema and the table of its versions.
func begin(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`, schema).Scan(&exists)
	if err == nil && !exists { // who was given a schema need not have the right to make one
		_, err = tx.Exec(ctx, `CREATE SCHEMA `+quoted(schema))
	}
	if err == nil {
		_, err = tx.Exec(ctx, inSchema(`CREATE TABLE interlude.migrations (
			version integer PRIMARY KEY, name text NOT NULL, oldest integer NOT NULL, sum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`, schema))
	}
	return err
}
