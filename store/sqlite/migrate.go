package sqlite

import (
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
func migrate(c *conn) (err error) {
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.run("ROLLBACK") // the first error is the one that tells
		}
	}()
	r, err := c.one("PRAGMA user_version")
	if err != nil {
		return err
	}
	version := int(r.int(0))
	if version > len(migrations) {
		return fmt.Errorf("%w: schema version is %d, this package knows %d", ErrNewer, version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		text, err := files.ReadFile(migrations[version])
		if err != nil {
			return err
		}
		if err := c.run(string(text)); err != nil {
			return fmt.Errorf("%s: %w", migrations[version], err)
		}
		if err := c.run(fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
			return err
		}
	}
	if err := c.run(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return c.run("COMMIT")
}

// Migrations lists the schema's versions in order, for operators.
func Migrations() []string {
	return append([]string(nil), migrations...)
}
