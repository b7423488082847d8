package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// What tests of other versions of this package need.
var (
	OpenWith     = openWith
	NewMigration = newMigration
)

// MigrateWith is Migrate of a version that knows these migrations.
func MigrateWith(ctx context.Context, dsn, schema string, known []Migration) error {
	return withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		return migrate(ctx, conn, schema, known)
	})
}

// ExpectedIndexes are the indexes that Inspect looks for.
func ExpectedIndexes() []string { return expectedIndexes(migrations) }
