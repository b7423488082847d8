package sqlite

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var files embed.FS

// migrations are the schema's versions in order, forward only: the first makes version 1. One that is on the main branch is never
// changed again, since a file does not say which text made it: a change is a further migration.
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
		return newer(int64(version))
	}
	for ; version < len(migrations); version++ {
		if err := apply(c, version); err != nil {
			return err
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

// apply makes one version of the one before it.
func apply(c *conn, version int) error {
	text, err := files.ReadFile(migrations[version])
	if err != nil {
		return err
	}
	err = c.run(string(text))
	if fill := fills[migrations[version]]; err == nil && fill != nil {
		err = fill(c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", migrations[version], err)
	}
	return nil
}

// fills are what migrations do besides their text.
var fills = map[string]func(c *conn) error{"migrations/0003_labels.sql": fillLabels}

// Migrations lists the schema's versions in order, for operators.
func Migrations() []string {
	return append([]string(nil), migrations...)
}
