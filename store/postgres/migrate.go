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
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var files embed.FS

// Migration is one version of the schema. Migrations go forward only.
type Migration struct {
	// Version counts from 1.
	Version int
	// Name is the name of its file.
	Name string
	// Oldest is the lowest schema version whose nodes may keep running during and after this
	// migration.
	Oldest int
	// Sum is a hash of the text.
	Sum string

	text string
}

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

// newMigration parses a file. Its first line may be "-- oldest: N"; otherwise nodes of every
// version can continue.
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

// Migrations lists the schema versions that this package knows, in order.
func Migrations() []Migration { return append([]Migration(nil), migrations...) }

// Migrate creates the database's schema or migrates it to this package's version, as Open does. If
// nodes may not change tables, run it once with a role that may, and open the stores with
// Options.NoMigrate. Nodes of older versions may be running (see Migration.Oldest), and concurrent
// calls take turns. It waits for a table in use in short turns, between which the nodes proceed. It
// is atomic; the context limits its time. Work that would lock a large table of an earlier version follows
// in short transactions. An empty schema means "interlude".
//
// Its role needs the right CREATE on the database, or CREATE and USAGE on an existing schema; it
// then owns the tables, and the next Migrate needs the same role. A node needs these rights
// (docs/postgres.md has smaller sets):
//
//	GRANT USAGE ON SCHEMA interlude TO node;
//	GRANT SELECT ON ALL TABLES IN SCHEMA interlude TO node;
//	GRANT INSERT ON interlude.runs, interlude.states, interlude.events, interlude.settled, interlude.voted, interlude.asked, interlude.usage, interlude.journal, interlude.nodes, interlude.departed, interlude.pools, interlude.feeds TO node;
//	GRANT UPDATE ON interlude.states, interlude.nodes, interlude.pools, interlude.feeds TO node;
//	GRANT DELETE ON interlude.runs, interlude.states, interlude.events, interlude.settled, interlude.voted, interlude.asked, interlude.usage, interlude.journal, interlude.nodes, interlude.departed, interlude.feeds, interlude.feed TO node;
func Migrate(ctx context.Context, dsn, schema string) error {
	err := withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		if err := migrate(ctx, conn, schema, migrations, upgrades{}); err != nil {
			return err
		}
		return fill(ctx, conn, schema, upgrades{})
	})
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", explain(err))
	}
	return nil
}

// RefuseEarlier makes releases that know fewer migrations refuse to open the schema, with ErrNewer.
// Call it, with the migrating role, after all nodes of earlier releases have been replaced, and
// before the hosts use features that earlier releases cannot read: an old node started by mistake
// then stops immediately. It does not end running ones. Only a backup can undo it. It is
// idempotent.
func RefuseEarlier(ctx context.Context, dsn, schema string) error {
	if err := Migrate(ctx, dsn, schema); err != nil {
		return err
	}
	err := withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		_, err := conn.Exec(ctx, inSchema(`UPDATE interlude.migrations SET oldest = version WHERE version = $1`, schema),
			len(migrations))
		return err
	})
	if err != nil {
		return fmt.Errorf("postgres: refuse earlier releases: %w", explain(err))
	}
	return nil
}

func withConn(ctx context.Context, dsn, schema string, task func(conn *pgx.Conn, schema string) error) error {
	config, err := pgxpool.ParseConfig(dsn) // as Open does: it may have parameters of the pool
	if err != nil {
		return configError("connection string", err)
	}
	if schema, err = schemaName(schema); err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the work is committed
	return task(conn, schema)
}

type txStarter interface {
	querier
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// tableTries limits how often a migration waits for a table in use, and tableWait how long: later
// users of the table wait too, and a transaction locks a few tables. After patientTries it waits for
// longThanVacuum: after a second the server ends an autovacuum of the table.
const (
	tableTries     = 60
	tableWait      = "250ms"
	patientTries   = 20
	longThanVacuum = "1500ms"
)

func migrate(ctx context.Context, db txStarter, schema string, known []Migration, o upgrades) error {
	wait := tableWait
	for try := 1; ; try++ {
		if try > patientTries {
			wait = longThanVacuum
		}
		err := migrateOnce(ctx, db, schema, known, o.withDefaults(), wait)
		var e *pgconn.PgError
		switch {
		case !errors.As(err, &e):
			return err
		case e.Code == "42P07": // a table of that name exists
			return fmt.Errorf("%w: %w: choose another schema", ErrForeign, err)
		case e.Code != lockNotAvailable || try == tableTries:
			return err
		}
	}
}

func migrateOnce(ctx context.Context, db txStarter, schema string, known []Migration, o upgrades,
	wait string) error {
	return pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		// A transaction-level lock works through a pooler; a process stopped in the middle holds it
		// only for a while.
		if _, err := tx.Exec(ctx,
			`SELECT set_config('idle_in_transaction_session_timeout', '60s', true), set_config('statement_timeout', '0',
				true),
			set_config('lock_timeout', '0', true), pg_advisory_xact_lock(hashtextextended($1::text,
				0))`, migrationsLock(schema)); err != nil {
			return err
		}
		have, err := readStatus(ctx, tx, schema)
		if err == nil {
			err = errors.Join(have.checkRecorded(known)...)
		}
		if err != nil || have.Version >= len(known) { // checkVersion judges a newer schema
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1::text, true)`, wait); err != nil {
			return err
		}
		if have.Version == 0 {
			if err := createSchema(ctx, tx, schema); err != nil {
				return err
			}
		}
		large, err := isLarge(ctx, tx, schema, have.Version, o.size)
		if err != nil {
			return err
		}
		for _, m := range known[have.Version:] {
			if err := m.apply(ctx, tx, schema, large); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		return nil
	})
}

// apply applies a migration; of a large schema only what needs no pass over all runs.
func (m *Migration) apply(ctx context.Context, tx pgx.Tx, schema string, large bool) error {
	text, record := m.text, "migrations"
	if large && m.Version == enginesVersion {
		text = onlineText(text)
	}
	if large && m.Version >= enginesVersion {
		record = "filling"
	}
	// several statements
	if _, err := tx.Exec(ctx, inSchema(text, schema), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	_, err := tx.Exec(ctx,
		inSchema(`INSERT INTO interlude.`+record+` (version, name, oldest, sum)
			VALUES ($1::integer, $2::text, $3::integer, $4::text)`, schema),
		m.Version, m.Name, m.Oldest, m.Sum)
	return err
}

func createSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`,
		schema).Scan(&exists)
	if err == nil && !exists { // a role that was given a schema need not have the right to create one
		_, err = tx.Exec(ctx, `CREATE SCHEMA `+quoted(schema))
	}
	if err == nil {
		_, err = tx.Exec(ctx, inSchema(`CREATE TABLE interlude.migrations (
			version integer PRIMARY KEY, name text NOT NULL, oldest integer NOT NULL, sum text NOT NULL,
				applied_at timestamptz NOT NULL DEFAULT now())`, schema))
	}
	return err
}

type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Status is the version of a schema.
type Status struct {
	// Version is the last applied migration; 0 without any.
	Version int
	// Oldest is the lowest version whose packages can work with the schema, as Migration.Oldest.
	Oldest int
	// Applied are the applied migrations in order, as recorded.
	Applied []Migration
	// Filling reports that an upgrade still fills the columns of a large table, which open stores do
	// while they serve. It needs no call to end.
	Filling bool
	// Lacks are a node's rights that the role lacks, as "DELETE on events". Processes that only
	// submit or read need fewer. Set by Inspect.
	Lacks []string
}

// readStatus reads a schema's status. Any role may see whether a table exists; its content needs a
// right.
func readStatus(ctx context.Context, q querier, schema string) (s Status, _ error) {
	var exists bool
	err := q.QueryRow(ctx, existsText, schema, "migrations").Scan(&exists)
	if err != nil || !exists {
		return s, err
	}
	if err := q.QueryRow(ctx, existsText, schema, "filling").Scan(&s.Filling); err != nil {
		return s, err
	}
	rows, err := q.Query(ctx, inSchema(recordedText(s.Filling), schema))
	if err == nil {
		s.Applied, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Migration, _ error) {
			err := row.Scan(&m.Version, &m.Name, &m.Oldest, &m.Sum)
			return m, err
		})
	}
	if s.Filling && wasDropped(err) { // the upgrade ended in between
		return readStatus(ctx, q, schema)
	}
	for _, m := range s.Applied {
		s.Version, s.Oldest = m.Version, max(s.Oldest, m.Oldest)
	}
	return s, err
}

// checkRecorded returns an error for each applied migration whose text is not this package's.
func (s Status) checkRecorded(known []Migration) (wrong []error) {
	for i, m := range known[:min(len(known), len(s.Applied))] {
		if a := s.Applied[i]; a.Version != m.Version || a.Name != m.Name || a.Sum != m.Sum {
			wrong = append(wrong, fmt.Errorf("%w: migration %d is recorded as %d, %s (%s), this package's is %s "+
				"(%s): a development version from before the first "+
				"release made the tables, or they were changed by hand: use the version that made them, or another "+
				"schema", ErrForeign, m.Version, a.Version, a.Name, a.Sum, m.Name, m.Sum))
		}
	}
	return wrong
}

// checkVersion returns why this package, with this many known versions, cannot work with the
// schema.
func (s Status) checkVersion(known int) error {
	switch {
	case s.Version < known:
		return fmt.Errorf("%w: it is at version %d, this package needs %d: migrate it, with a role that may change "+
			"tables", ErrOlder, s.Version, known)
	case s.Oldest > known:
		return fmt.Errorf("%w: it is at version %d and needs a package for %d at least, this one is for %d", ErrNewer,
			s.Version, s.Oldest, known)
	}
	return nil
}
