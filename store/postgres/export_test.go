package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// What tests of other versions of this package need.
var (
	OpenWith     = openWith
	NewMigration = newMigration
)

// MigrateWith is Migrate of a version that knows these migrations.
func MigrateWith(ctx context.Context, dsn, schema string, known []Migration) error {
	return withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		return migrate(ctx, conn, schema, known, upgrades{})
	})
}

// ExpectedIndexes are the indexes that Inspect looks for.
func ExpectedIndexes() []string { return expectedIndexes(migrations) }

// Keeps reports whether the events of the commit at this position of a feed are in memory.
func (s *Store) Keeps(at store.FeedPosition) bool {
	p, err := readPlace("", at)
	_, ok := s.cache.events.Get(commitKey{p.run, p.last})
	return err == nil && ok
}

// LoseConnection simulates a broken connection.
func (s *Store) LoseConnection() { s.cache.clearIfDisconnected(context.Canceled) }

// Empty deletes the schema's data, but does not reset the numbers of runs.
func (s *Store) Empty(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, inSchema(`DO $$ DECLARE used regclass; BEGIN
		FOR used IN SELECT c.oid FROM pg_class c JOIN pg_class m ON m.relnamespace = c.relnamespace
			WHERE c.relkind = 'r' AND c.relname NOT IN ('migrations', 'store') AND pg_relation_size(c.oid) > 0 AND
				m.oid = 'interlude.migrations'::regclass
		LOOP
			EXECUTE CASE WHEN pg_relation_size(used) > 65536 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || used;
		END LOOP;
		PERFORM interlude.switch_feeds();
		UPDATE interlude.store SET identity = gen_random_uuid()::text, incarnation = 0;
	END $$`, s.o.Schema))
	return err
}

// Clients returns the number of other connections with this application name.
func (s *Store) Clients(ctx context.Context, name string) (n int, _ error) {
	err := s.pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
		WHERE application_name = $1 AND pid <> pg_backend_pid()`, name).Scan(&n)
	return n, err
}

// UnneededPart is how many rows for feeds one transaction deletes.
const UnneededPart = unneededPart

// InBatches returns options with which a schema of any size is upgraded in batches of so many runs.
// before is called before each step.
func (o Options) InBatches(rows int64, before func()) Options {
	o.upgrades = upgrades{rows: rows, before: before}
	return o
}

// MigrateInBatches is Migrate with these batches.
func MigrateInBatches(ctx context.Context, dsn, schema string, rows int64, before func()) error {
	o := Options{}.InBatches(rows, before).upgrades
	return withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		return errors.Join(migrate(ctx, conn, schema, migrations, o), fill(ctx, conn, schema, o))
	})
}

// SeePromotion has the store see a promotion at a time from now.
func (s *Store) SeePromotion(in time.Duration) { s.promotedAt.Store(s.Now().Add(in).UnixMicro()) }
