package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SQL is a Queue in a table, interlude_notices, of a database that the host has opened with the
// driver of its choice. Closing the database is the host's.
type SQL struct {
	db       *sql.DB
	numbered bool // the placeholders are $1, $2, … and not ?
}

// Schema is what OpenSQLite executes if the table is missing.
const Schema = `CREATE TABLE IF NOT EXISTS interlude_notices (
	endpoint TEXT NOT NULL,
	run TEXT NOT NULL,
	seq BIGINT NOT NULL,
	body BLOB NOT NULL,      -- the event as JSON
	added BIGINT NOT NULL,   -- times are microseconds since 1970
	due BIGINT NOT NULL,
	attempts BIGINT NOT NULL,
	died BIGINT NOT NULL,    -- 0 while it is pending
	reason TEXT NOT NULL,    -- why the last attempt failed
	PRIMARY KEY (endpoint, run, seq)
);
CREATE INDEX IF NOT EXISTS interlude_notices_next ON interlude_notices (endpoint, due, run) WHERE died = 0;`

// SchemaPostgreSQL is what OpenPostgreSQL executes if the table is missing.
var SchemaPostgreSQL = strings.Replace(Schema, "BLOB", "BYTEA", 1)

// OpenSQLite returns the queue in a SQLite database, 3.35 or newer; it makes the table and its index if
// they are missing. Any file will do, but that of store/sqlite. It needs synchronous=FULL, or an
// acknowledged event may be lost with the power, and a busy_timeout.
func OpenSQLite(ctx context.Context, db *sql.DB) (*SQL, error) {
	q := &SQL{db: db}
	return q, q.migrate(ctx, Schema)
}

// OpenPostgreSQL returns the queue in a PostgreSQL database, in the first schema of its search path. It
// makes the table and its index if they are missing, for which it needs the right to create one, or
// to own the table.
func OpenPostgreSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	q := &SQL{db: db, numbered: true}
	return q, q.migrate(ctx, SchemaPostgreSQL)
}

// migrate makes the table if it is missing, and its index, which tables of earlier versions lack.
func (q *SQL) migrate(ctx context.Context, schema string) error {
	lookUp := `SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'interlude_notices_next'`
	if q.numbered {
		lookUp = `SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = to_regclass('interlude_notices') AND c.relname = 'interlude_notices_next'`
	}
	var found int
	if q.db.QueryRowContext(ctx, lookUp).Scan(&found) == nil {
		return nil
	}
	err := q.inTx(ctx, func(tx *sql.Tx) error {
		if q.numbered { // two processes that make it at the same time would disturb each other
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(7243392511)`); err != nil {
				return err
			}
		}
		for statement := range strings.SplitSeq(schema, ";\n") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("notify: table interlude_notices: %w", err)
	}
	return nil
}

// first is the condition that no pending notice of the run has a lower number. It reads the primary
// key for each notice that the index by due yields. PostgreSQL would make one join of all notices of a
// NOT EXISTS, and read all of the endpoint's by the index without the "+ 0", as long as it has no
// statistics of the table.
const first = `n.seq = (SELECT b.seq FROM interlude_notices b
	WHERE b.endpoint = n.endpoint AND b.run = n.run AND b.died + 0 = 0 ORDER BY b.seq LIMIT 1)`

// Add is described at Queue.
func (q *SQL) Add(ctx context.Context, endpoint string, entries []Entry, now time.Time) error {
	return q.inTx(ctx, func(tx *sql.Tx) error {
		for _, e := range entries {
			_, err := tx.ExecContext(ctx, q.text(`INSERT INTO interlude_notices
	(endpoint, run, seq, body, added, due, attempts, died, reason) VALUES (?, ?, ?, ?, ?, ?, 0, 0, '')
	ON CONFLICT (endpoint, run, seq) DO UPDATE SET body = excluded.body, added = excluded.added, due = excluded.due,
		attempts = 0, died = 0, reason = '' WHERE interlude_notices.body <> excluded.body`),
				endpoint, e.RunID, e.Seq, e.Body, now.UnixMicro(), now.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Claim is described at Queue. It is one statement, so that of two callers one gets a notice: the
// other finds it due later. The "+ 0" keep the planner from reading every notice that is due to find
// the few that the sub-select names: only the primary key is left. The sub-select and the next time
// follow the index by due.
func (q *SQL) Claim(ctx context.Context, endpoint string, now, until time.Time, n int) (claimed []Claimed,
	next time.Time, _ error,
) {
	rows, err := q.db.QueryContext(ctx, q.text(`UPDATE interlude_notices SET due = ?, attempts = attempts + 1
	WHERE endpoint = ? AND died + 0 = 0 AND due + 0 <= ? AND (run, seq) IN (SELECT n.run, n.seq FROM interlude_notices n
		WHERE n.endpoint = ? AND n.died = 0 AND n.due <= ? AND `+first+` ORDER BY n.due, n.run LIMIT ?)
	RETURNING run, seq, attempts, body`), until.UnixMicro(), endpoint, now.UnixMicro(), endpoint, now.UnixMicro(), n)
	err = each(rows, err, func() error {
		var c Claimed
		err := rows.Scan(&c.RunID, &c.Seq, &c.Attempt, &c.Body)
		claimed = append(claimed, c)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	var due sql.NullInt64
	err = q.db.QueryRowContext(ctx, q.text(`SELECT n.due FROM interlude_notices n
	WHERE n.endpoint = ? AND n.died = 0 AND `+first+` ORDER BY n.due, n.run LIMIT 1`), endpoint).Scan(&due)
	if err != nil { // what was claimed is claimed; when the next one is due, nobody needs to know
		return claimed, time.Time{}, nil //nolint:nilerr // as above
	}
	return claimed, timeOf(due), nil
}

// Remove is described at Queue.
func (q *SQL) Remove(ctx context.Context, endpoint string, key Key) error {
	_, err := q.exec(ctx, `DELETE FROM interlude_notices WHERE endpoint = ? AND run = ? AND seq = ?`, endpoint, key.RunID,
		key.Seq)
	return err
}

// Retry is described at Queue.
func (q *SQL) Retry(ctx context.Context, endpoint string, c Claimed, at time.Time, reason string) error {
	_, err := q.exec(ctx, `UPDATE interlude_notices SET due = ?, reason = ?
	WHERE endpoint = ? AND run = ? AND seq = ? AND attempts = ? AND died = 0`, at.UnixMicro(), reason, endpoint, c.RunID,
		c.Seq, c.Attempt)
	return err
}

// Bury is described at Queue.
func (q *SQL) Bury(ctx context.Context, endpoint string, c Claimed, now time.Time, reason string) error {
	_, err := q.exec(ctx, `UPDATE interlude_notices SET died = ?, reason = ?
	WHERE endpoint = ? AND run = ? AND seq = ? AND attempts = ? AND died = 0`, now.UnixMicro(), reason, endpoint,
		c.RunID, c.Seq, c.Attempt)
	return err
}

// Dead is described at Queue.
func (q *SQL) Dead(ctx context.Context, endpoint string, after Key, limit int) (dead []DeadLetter, _ error) {
	rows, err := q.db.QueryContext(ctx, q.text(`SELECT run, seq, body, attempts, died, reason FROM interlude_notices
	WHERE endpoint = ? AND died > 0 AND (run > ? OR run = ? AND seq > ?) ORDER BY run, seq LIMIT ?`), endpoint,
		after.RunID, after.RunID, after.Seq, limit)
	err = each(rows, err, func() error {
		var d DeadLetter
		var died int64
		err := rows.Scan(&d.RunID, &d.Seq, &d.Body, &d.Attempts, &died, &d.Reason)
		d.Died = time.UnixMicro(died)
		dead = append(dead, d)
		return err
	})
	return dead, err
}

// Revive is described at Queue.
func (q *SQL) Revive(ctx context.Context, endpoint string, key Key, now time.Time) error {
	n, err := q.exec(ctx, `UPDATE interlude_notices SET died = 0, due = ?, attempts = 0
	WHERE endpoint = ? AND run = ? AND seq = ? AND died > 0`, now.UnixMicro(), endpoint, key.RunID, key.Seq)
	if err == nil && n == 0 {
		return ErrNoDeadLetter
	}
	return err
}

// Count is described at Queue.
func (q *SQL) Count(ctx context.Context, endpoint string) (c Count, _ error) {
	var oldest sql.NullInt64
	err := q.db.QueryRowContext(ctx, q.text(`SELECT count(CASE WHEN died = 0 THEN 1 END),
	count(CASE WHEN died > 0 THEN 1 END), count(DISTINCT CASE WHEN died = 0 THEN run END),
	min(CASE WHEN died = 0 THEN added END)
	FROM interlude_notices WHERE endpoint = ?`), endpoint).Scan(&c.Pending, &c.Dead, &c.Runs, &oldest)
	c.Oldest = timeOf(oldest)
	return c, err
}

// Clear is described at Queue.
func (q *SQL) Clear(ctx context.Context, endpoint string) error {
	_, err := q.exec(ctx, `DELETE FROM interlude_notices WHERE endpoint = ?`, endpoint)
	return err
}

// exec executes a statement and returns how many rows it has changed.
func (q *SQL) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := q.db.ExecContext(ctx, q.text(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// inTx calls fn in a transaction.
func (q *SQL) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// text is a statement with the placeholders of the database.
func (q *SQL) text(statement string) string {
	if !q.numbered {
		return statement
	}
	parts := strings.Split(statement, "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// each calls fn for each row.
func each(rows *sql.Rows, err error, fn func() error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// timeOf is a stored time; zero if there is none.
func timeOf(micro sql.NullInt64) time.Time {
	if !micro.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micro.Int64)
}
