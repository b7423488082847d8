package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var files embed.FS

// migrations are the schema's versions in order, forward only: the first makes version 1.
var migrations = func() []string {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted by name
	if err != nil {
		panic(err)
	}
	return names
}()

// migrate brings the file to the newest version in one transaction. Processes that do so at once take turns; the
// second finds nothing to do.
func migrate(ctx context.Context, conn *sql.Conn) (err error) {
	exec := func(text string) error {
		_, err := conn.ExecContext(ctx, text)
		return err
	}
	if err := exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // the first error is the one that tells
		}
	}()
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("%w: schema version is %d, this package knows %d", ErrNewer, version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		text, err := files.ReadFile(migrations[version])
		if err != nil {
			return err
		}
		if err := exec(string(text)); err != nil {
			return fmt.Errorf("%s: %w", migrations[version], err)
		}
		if err := exec(fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
			return err
		}
	}
	if err := exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return exec("COMMIT")
}

// Migrations lists the schema's versions in order, for operators.
func Migrations() []string {
	return append([]string(nil), migrations...)
}
