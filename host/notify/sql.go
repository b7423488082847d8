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

// SQL is a Queue in the table interlude_notices of the host's database, with any driver. The host
// closes the database.
type SQL struct {
	db       *sql.DB
	numbered bool // the placeholders are $1, $2, …, not ?
}

// Schema is executed by OpenSQLite if the table is missing.
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

// SchemaPostgreSQL is executed by OpenPostgreSQL if the table is missing.
var SchemaPostgreSQL = strings.Replace(Schema, "BLOB", "BYTEA", 1)

// OpenSQLite returns the queue in a SQLite database, 3.35 or newer, and creates the table and its
// index if necessary. Use any file except the one used by store/sqlite, with a busy_timeout and
// with synchronous=FULL: otherwise a power failure may lose acknowledged events.
func OpenSQLite(ctx context.Context, db *sql.DB) (*SQL, error) {
	q := &SQL{db: db}
	return q, q.migrate(ctx, Schema)
}

// OpenPostgreSQL returns the queue in a PostgreSQL database, in the first schema of its search
// path. It creates the table and its index if necessary, which requires the right to create tables,
// or ownership of the table.
func OpenPostgreSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	q := &SQL{db: db, numbered: true}
	return q, q.migrate(ctx, SchemaPostgreSQL)
}

// migrate creates the table if it is missing, and its index, which tables of earlier versions lack.
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
		if q.numbered { // serializes processes that create it at the same time
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
// key for each notice that the index by due yields. PostgreSQL would turn a NOT EXISTS into a join
// over all notices, and, without statistics, would read all notices of the endpoint by the index if
// "+ 0" were missing.
const first = `n.seq = (SELECT b.seq FROM interlude_notices b
	WHERE b.endpoint = n.endpoint AND b.run = n.run AND b.died + 0 = 0 ORDER BY b.seq LIMIT 1)`

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

// Claim implements Queue. It is one statement, so concurrent callers get different notices: the
// second one finds a later due time. Each "+ 0" keeps the planner from reading every due notice to
// find the few that the sub-select names: only the primary key remains. The sub-select and the next
// time use the index by due.
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
	if err != nil { // the claims are stored, and the next due time is only a hint
		return claimed, time.Time{}, nil //nolint:nilerr // as above
	}
	return claimed, timeOf(due), nil
}

func (q *SQL) Remove(ctx context.Context, endpoint string, key Key) error {
	_, err := q.exec(ctx, `DELETE FROM interlude_notices WHERE endpoint = ? AND run = ? AND seq = ?`, endpoint, key.RunID,
		key.Seq)
	return err
}

func (q *SQL) Retry(ctx context.Context, endpoint string, c Claimed, at time.Time, reason string) error {
	_, err := q.exec(ctx, `UPDATE interlude_notices SET due = ?, reason = ?
	WHERE endpoint = ? AND run = ? AND seq = ? AND attempts = ? AND died = 0`, at.UnixMicro(), reason, endpoint, c.RunID,
		c.Seq, c.Attempt)
	return err
}

func (q *SQL) Bury(ctx context.Context, endpoint string, c Claimed, now time.Time, reason string) error {
	_, err := q.exec(ctx, `UPDATE interlude_notices SET died = ?, reason = ?
	WHERE endpoint = ? AND run = ? AND seq = ? AND attempts = ? AND died = 0`, now.UnixMicro(), reason, endpoint,
		c.RunID, c.Seq, c.Attempt)
	return err
}

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

func (q *SQL) Revive(ctx context.Context, endpoint string, key Key, now time.Time) error {
	n, err := q.exec(ctx, `UPDATE interlude_notices SET died = 0, due = ?, attempts = 0
	WHERE endpoint = ? AND run = ? AND seq = ? AND died > 0`, now.UnixMicro(), endpoint, key.RunID, key.Seq)
	if err == nil && n == 0 {
		return ErrNoDeadLetter
	}
	return err
}

func (q *SQL) Count(ctx context.Context, endpoint string) (c Count, _ error) {
	var oldest sql.NullInt64
	err := q.db.QueryRowContext(ctx, q.text(`SELECT count(CASE WHEN died = 0 THEN 1 END),
	count(CASE WHEN died > 0 THEN 1 END), count(DISTINCT CASE WHEN died = 0 THEN run END),
	min(CASE WHEN died = 0 THEN added END)
	FROM interlude_notices WHERE endpoint = ?`), endpoint).Scan(&c.Pending, &c.Dead, &c.Runs, &oldest)
	c.Oldest = timeOf(oldest)
	return c, err
}

func (q *SQL) Clear(ctx context.Context, endpoint string) error {
	_, err := q.exec(ctx, `DELETE FROM interlude_notices WHERE endpoint = ?`, endpoint)
	return err
}

func (q *SQL) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := q.db.ExecContext(ctx, q.text(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

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

func each(rows *sql.Rows, err error, fn func() error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has its error
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func timeOf(micro sql.NullInt64) time.Time {
	if !micro.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micro.Int64)
}
