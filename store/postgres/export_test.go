package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// What tests of other versions of this package need.
var (
	OpenKnowing  = openKnowing
	NewMigration = newMigration
)

// MigrateKnowing is Migrate of the version that knows these migrations.
func MigrateKnowing(ctx context.Context, dsn, schema string, known []Migration) error {
	return within(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		return migrate(ctx, conn, schema, known)
	})
}

// Made are the indexes that Inspect looks for.
func Made() []string { return made(migrations) }
