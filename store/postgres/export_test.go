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
