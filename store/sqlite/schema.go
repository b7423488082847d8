package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

//go:embed migrations/*.sql
var files embed.FS

// migrations are the schema's versions in order, forward only: the first creates version 1. A
// migration on the main branch never changes, since a file does not record which text created it: a
// change is a new migration.
var migrations = func() []string {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted by name
	if err != nil {
		panic(err)
	}
	return names
}()

// migrate brings the file to the newest version in one transaction, except for the batches of a
// file of largeSize bytes (see upgrade.go). Concurrent processes take turns. With
// refuseOlder, a file of an older version is refused.
func migrate(c *conn, refuseOlder bool, largeSize int64) (err error) {
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.run("ROLLBACK") // the caller returns the first error
		}
	}()
	r, err := c.one("PRAGMA user_version")
	if err != nil {
		return err
	}
	level, version, err := readVersion(r.int(0))
	if err != nil {
		return err
	}
	if refuseOlder {
		if err := checkVersion(version); err != nil {
			return err
		}
	}
	if version > 0 && version < len(migrations) {
		if err := c.checkUnused(time.Now()); err != nil {
			return err
		}
	}
	step := apply
	if large, err := c.isLarge(largeSize); err != nil {
		return err
	} else if large && version > 0 {
		step = applyOnline
	}
	for ; version < len(migrations); version++ {
		if err := step(c, version); err != nil {
			return err
		}
		if filling, err := c.exists(isFilling); err != nil {
			return err
		} else if filling {
			level |= fillingLevel
		}
		if err := c.setVersion(level, version+1); err != nil {
			return err
		}
	}
	if err := c.run(additions); err != nil {
		return err
	}
	if err := c.run(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return c.run("COMMIT")
}

// checkUnused returns ErrInUse if a registered node may be alive.
func (c *conn) checkUnused(now time.Time) error {
	return c.each(context.Background(), func(r row) error {
		n := store.Node{ID: r.text(0), Identity: r.text(1), Until: time.UnixMicro(r.int(2))}
		if !n.MayLive(now) {
			return nil
		}
		return fmt.Errorf("%w: the node %s (%s), whose lease ends at %s: stop its process, and open the file again",
			ErrInUse, n.ID, n.Identity, n.Until.UTC().Format(time.RFC3339))
	}, "SELECT id, identity, until FROM nodes")
}

// A file's user_version is the version of its schema plus levelSize times the level that
// RefuseEarlier has set: releases that know only lower levels take it for a newer version. A
// release whose stored runs the previous one refuses (see store.ErrCorrupt) has a higher level.
const (
	ownLevel  = 3 // 1 before records named required features (store.Needs), 2 before incarnations
	levelSize = 1 << 20
)

// readVersion divides a user_version. ErrNewer: this release is too old for it.
func readVersion(stored int64) (level int64, version int, _ error) {
	level, version = stored/levelSize, int(stored%levelSize)
	if level&^fillingLevel > ownLevel || version > len(migrations) {
		return 0, 0, newer(stored)
	}
	return level, version, nil
}

func (c *conn) setVersion(level int64, version int) error {
	return c.run(fmt.Sprintf("PRAGMA user_version = %d", level*levelSize+int64(version)))
}

// RefuseEarlier makes earlier releases refuse the file, with ErrNewer. Call it after all processes
// of earlier releases have been replaced, and before the hosts use features that earlier releases
// cannot read: an old process started by mistake then stops immediately. It does not end running
// ones. Only a backup can undo it. It is idempotent.
func RefuseEarlier(ctx context.Context, path string) error {
	return changeFile(ctx, path, func(w *writer) error {
		level := int64(ownLevel)
		filling, err := w.exists(isFilling)
		if err == nil && filling {
			level |= fillingLevel
		}
		return errors.Join(err, w.setVersion(level, len(migrations)))
	})
}

// additions are tables that earlier versions do not need. Each Open creates missing ones, without a
// new version, so that an earlier release still opens the file.
//
// A row of departed is the tombstone of a node while parked runs name it. Nodes of an earlier
// release leave none; the next call of Expire creates it.
//
// A row of usage is the usage of a turn. A trigger deletes it with its run, since an earlier
// release that prunes the run does not, and row numbers are reused.
//
// A row of journal is an entry of a run's journal. Its key combines the numbers of the run's row
// and of the entry (logKey). A trigger deletes it with its run, like usage.
//
// A row of asked links a person or group to a run with an open question for them (package asked).
//
// A row of voted is a vote on a settled question, found by the vote's idempotency key, ” for none;
// part counts the question's votes. Earlier releases write no rows: see Voted.
//
// The row of wal links the file and its WAL: see wal.go. A row of restored is an incarnation: see
// markRestored.
//
// A row of noted has the commits of one transaction that some feed has not acknowledged. size is
// their number. The last commit has the row's position, earlier ones the positions below. The text
// commits has one line per commit: the number of the run's row, and the first and last number of
// its events. A row of ended has the position of a run's last commit; it is deleted with the run.
// See makeTriggers.
const additions = `CREATE TABLE IF NOT EXISTS departed (
	id TEXT    PRIMARY KEY,
	at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS usage (
	run     INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	input   INTEGER NOT NULL,
	output  INTEGER NOT NULL,
	cost    INTEGER NOT NULL,
	worked  INTEGER NOT NULL,
	PRIMARY KEY (run, attempt)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS runs_pruned AFTER DELETE ON runs BEGIN
	DELETE FROM usage WHERE run = old.n;
END;
CREATE TABLE IF NOT EXISTS journal (
	k    INTEGER PRIMARY KEY,
	path TEXT    NOT NULL,
	name TEXT    NOT NULL,
	type TEXT    NOT NULL,
	body BLOB    NOT NULL
);
CREATE TRIGGER IF NOT EXISTS runs_pruned_journal AFTER DELETE ON runs BEGIN
	DELETE FROM journal WHERE k BETWEEN (old.n << 28) AND ((old.n + 1) << 28) - 1;
END;
CREATE TABLE IF NOT EXISTS feeds (
	name    TEXT    PRIMARY KEY,
	cursor  INTEGER NOT NULL,
	epoch   INTEGER NOT NULL,
	until   INTEGER NOT NULL,
	max_lag INTEGER NOT NULL,
	lost    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS noted (
	position INTEGER PRIMARY KEY,
	size     INTEGER NOT NULL,
	commits  TEXT    NOT NULL
);
CREATE TABLE IF NOT EXISTS ended (
	run      INTEGER PRIMARY KEY,
	position INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS asked (
	principal TEXT    NOT NULL,
	since     INTEGER NOT NULL,
	run_id    TEXT    NOT NULL,
	run       INTEGER NOT NULL,
	PRIMARY KEY (principal, since, run_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS voted (
	run  INTEGER NOT NULL,
	key  TEXT    NOT NULL,
	id   INTEGER NOT NULL,
	part INTEGER NOT NULL,
	PRIMARY KEY (run, key, id, part)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS runs_pruned_voted AFTER DELETE ON runs BEGIN
	DELETE FROM voted WHERE run = old.n;
END;
CREATE TABLE IF NOT EXISTS wal (
	current  TEXT NOT NULL,
	previous TEXT NOT NULL,
	nonce    TEXT NOT NULL
);
INSERT INTO wal (current, previous, nonce) SELECT ` + randomMark + `, '` + newMark + `', ` + randomMark + `
	WHERE NOT EXISTS (SELECT 1 FROM wal);
` + makeRestored

// apply migrates a schema of this version, 0 for an empty file, to the next one.
func apply(c *conn, version int) error {
	err := c.runFile(migrations[version])
	if fill := fills[migrations[version]]; err == nil && fill != nil {
		err = fill(c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", migrations[version], err)
	}
	return nil
}

func (c *conn) runFile(name string) error {
	text, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	return c.run(string(text))
}

// fills are what migrations do besides their text.
var fills = map[string]func(c *conn) error{
	"migrations/0003_labels.sql": fillLabels,
	enginesMigration:             fillEngines,
}

func fillEngines(c *conn) error {
	return fill(c, `SELECT n, record FROM runs WHERE n > ? AND finished_at IS NULL ORDER BY n LIMIT ? + 0`,
		func(r store.Run) string { return entry.EngineColumn(&r) },
		func(n int64, engine string) error {
			_, err := c.exec(`UPDATE runs SET engine = ? WHERE n = ?`, engine, n)
			return err
		})
}

// fill calls write for each run that the query finds, with the number of its row and the value from
// its record. The query takes the number after which it begins and the row limit. A run whose
// record cannot be decoded is left out.
func fill[T any](c *conn, query string, value func(store.Run) T, write func(n int64, v T) error) error {
	const batch = 1000
	for after := int64(0); ; {
		// written after the query has ended: no scan of a row executes another statement
		values := make(map[int64]T, batch)
		read := 0
		err := c.each(context.Background(), func(r row) error {
			after = r.int(0)
			read++
			if run, err := store.Decode(r.blob(1)); err == nil {
				values[after] = value(run)
			}
			return nil
		}, query, after, int64(batch))
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(values)) {
			if err := write(n, values[n]); err != nil {
				return err
			}
		}
		if read < batch {
			return nil
		}
	}
}

// Migrations lists the schema's versions in order, for operators.
func Migrations() []string {
	return append([]string(nil), migrations...)
}

// describe lists a schema's columns and indexes, one line each, without SQLite's own tables.
func (c *conn) describe() (lines []string, _ error) {
	collect := func(r row) error {
		lines = append(lines, strings.Join(strings.Fields(r.text(0)), " "))
		return nil
	}
	for _, query := range []string{
		`SELECT 'column ' || t.name || '.' || c.name || ' ' || c.type || CASE WHEN c."notnull" THEN ' NOT NULL' ELSE '' END
			|| CASE WHEN c.pk > 0 THEN ' PRIMARY KEY ' || c.pk ELSE '' END || coalesce(' DEFAULT ' || c.dflt_value, '')
			FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
		`SELECT coalesce(sql, 'index ' || name || ' of table ' || tbl_name) FROM sqlite_schema WHERE type = 'index'`,
	} {
		if err := c.each(context.Background(), collect, query); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

var schemas sync.Map // version → the lines of schemaOf, which never change

// schemaOf describes the schema after the migrations up to the version, from an empty database.
func schemaOf(version int) ([]string, error) {
	if lines, ok := schemas.Load(version); ok {
		return lines.([]string), nil //nolint:forcetypeassert // there is nothing else in it
	}
	c, err := dial("/schema", "memory", nil)
	if err != nil {
		return nil, err
	}
	defer c.close() //nolint:errcheck // it is gone with the connection
	for v := range version {
		if err := apply(c, v); err != nil {
			return nil, err
		}
	}
	lines, err := c.describe()
	if err == nil {
		schemas.Store(version, lines)
	}
	return lines, err
}

// checkSchema rejects a file whose schema contradicts its version. Additional objects are allowed.
func (c *conn) checkSchema(version int) error {
	want, err := schemaOf(version)
	if err != nil {
		return err
	}
	have, err := c.describe()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(have, line) })
	if len(missing) == 0 {
		return nil
	}
	const named = 3
	more := ""
	if len(missing) > named {
		missing, more = missing[:named], fmt.Sprintf(" and %d more", len(missing)-named)
	}
	return fmt.Errorf("%w: schema version %d lacks: %s%s: %s", ErrSchema, version, strings.Join(missing, "; "), more,
		otherSchema)
}

const otherSchema = "a development version from before the first release made the file, or its tables were changed " +
	"by hand; " +
	"open it with the version that made it and let its runs end, or move it away and start with a new file"
