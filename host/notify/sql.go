package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// SQL is a Queue in the table interlude_notices of the host's database, with any driver. The host
// closes the database.
type SQL struct {
	// SQLite numbers parameters by their first appearance, so each statement names $1, $2, … in order.
	db *sql.DB
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
	q := &SQL{db}
	return q, q.migrate(ctx, Schema, `SELECT 1 FROM sqlite_master
	WHERE type = 'index' AND name = 'interlude_notices_next'`)
}

// OpenPostgreSQL returns the queue in a PostgreSQL database, in the first schema of its search
// path. It creates the table and its index if necessary, which requires the right to create tables,
// or ownership of the table.
func OpenPostgreSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	q := &SQL{db}
	return q, q.migrate(ctx, serialize+SchemaPostgreSQL, `SELECT 1 FROM pg_index i
	JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = to_regclass('interlude_notices') AND c.relname = 'interlude_notices_next'`)
}

// serialize is executed first, for processes that create the table at the same time.
const serialize = `SELECT pg_advisory_xact_lock(7243392511);
`

// migrate creates the table if it is missing, and its index, which tables of earlier versions lack.
// lookUp finds the index.
func (q *SQL) migrate(ctx context.Context, schema, lookUp string) error {
	var found int
	if q.db.QueryRowContext(ctx, lookUp).Scan(&found) == nil {
		return nil
	}
	err := q.inTx(ctx, func(tx *sql.Tx) error {
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
// over all notices. With "= 0" instead of "<= 0" it could use the index by due here, too, and would
// read all pending notices of the endpoint for each run if most notices are dead letters.
const first = `n.seq = (SELECT b.seq FROM interlude_notices b
	WHERE b.endpoint = n.endpoint AND b.run = n.run AND b.died <= 0 ORDER BY b.seq LIMIT 1)`

func (q *SQL) Add(ctx context.Context, endpoint string, entries []Entry, now time.Time) error {
	return q.inTx(ctx, func(tx *sql.Tx) error {
		for _, e := range entries {
			_, err := tx.ExecContext(ctx, `INSERT INTO interlude_notices
	(endpoint, run, seq, body, added, due, attempts, died, reason) VALUES ($1, $2, $3, $4, $5, $6, 0, 0, '')
	ON CONFLICT (endpoint, run, seq) DO UPDATE SET body = excluded.body, added = excluded.added, due = excluded.due,
		attempts = 0, died = 0, reason = '' WHERE interlude_notices.body <> excluded.body`,
				endpoint, e.RunID, e.Seq, e.Body, now.UnixMicro(), now.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Claim implements Queue. It is one statement, so concurrent callers get different notices: the
// second one finds a later due time. "died <= 0" keeps the planner from reading every due notice to
// find the chosen ones: it cannot use the index by due, so only the primary key remains. MATERIALIZED
// keeps a plan that was cached while the queue was empty from choosing again for each notice of a
// long queue.
func (q *SQL) Claim(ctx context.Context, endpoint string, now, until time.Time, n int) (claimed []Claimed,
	next time.Time, _ error,
) {
	rows, err := q.db.QueryContext(ctx, `WITH chosen AS MATERIALIZED (SELECT n.run, n.seq FROM interlude_notices n
		WHERE n.endpoint = $1 AND n.died = 0 AND n.due <= $2 AND `+first+` ORDER BY n.due, n.run LIMIT $3)
	UPDATE interlude_notices SET due = $4, attempts = attempts + 1
	WHERE endpoint = $5 AND died <= 0 AND due <= $6 AND (run, seq) IN (SELECT run, seq FROM chosen)
	RETURNING run, seq, attempts, body`, endpoint, now.UnixMicro(), n, until.UnixMicro(), endpoint, now.UnixMicro())
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
	err = q.db.QueryRowContext(ctx, `SELECT n.due FROM interlude_notices n
	WHERE n.endpoint = $1 AND n.died = 0 AND `+first+` ORDER BY n.due, n.run LIMIT 1`, endpoint).Scan(&due)
	if err != nil { // the claims are stored, and the next due time is only a hint
		return claimed, time.Time{}, nil //nolint:nilerr // as above
	}
	return claimed, timeOf(due), nil
}

func (q *SQL) Remove(ctx context.Context, endpoint string, key Key) error {
	_, err := q.exec(ctx, `DELETE FROM interlude_notices WHERE endpoint = $1 AND run = $2 AND seq = $3`, endpoint,
		key.RunID, key.Seq)
	return err
}

func (q *SQL) Retry(ctx context.Context, endpoint string, c Claimed, at time.Time, reason string) error {
	_, err := q.exec(ctx, `UPDATE interlude_notices SET due = $1, reason = $2
	WHERE endpoint = $3 AND run = $4 AND seq = $5 AND attempts = $6 AND died = 0`, at.UnixMicro(), reason, endpoint,
		c.RunID, c.Seq, c.Attempt)
	return err
}

func (q *SQL) Bury(ctx context.Context, endpoint string, c Claimed, now time.Time, reason string) error {
	_, err := q.exec(ctx, `UPDATE interlude_notices SET died = $1, reason = $2
	WHERE endpoint = $3 AND run = $4 AND seq = $5 AND attempts = $6 AND died = 0`, now.UnixMicro(), reason, endpoint,
		c.RunID, c.Seq, c.Attempt)
	return err
}

func (q *SQL) Dead(ctx context.Context, endpoint string, after Key, limit int) (dead []DeadLetter, _ error) {
	rows, err := q.db.QueryContext(ctx, `SELECT run, seq, body, attempts, died, reason FROM interlude_notices
	WHERE endpoint = $1 AND died > 0 AND (run > $2 OR run = $3 AND seq > $4) ORDER BY run, seq LIMIT $5`, endpoint,
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
	n, err := q.exec(ctx, `UPDATE interlude_notices SET died = 0, due = $1, attempts = 0
	WHERE endpoint = $2 AND run = $3 AND seq = $4 AND died > 0`, now.UnixMicro(), endpoint, key.RunID, key.Seq)
	if err == nil && n == 0 {
		return ErrNoDeadLetter
	}
	return err
}

func (q *SQL) Count(ctx context.Context, endpoint string) (c Count, _ error) {
	var oldest sql.NullInt64
	err := q.db.QueryRowContext(ctx, `SELECT count(CASE WHEN died = 0 THEN 1 END),
	count(CASE WHEN died > 0 THEN 1 END), count(DISTINCT CASE WHEN died = 0 THEN run END),
	min(CASE WHEN died = 0 THEN added END)
	FROM interlude_notices WHERE endpoint = $1`, endpoint).Scan(&c.Pending, &c.Dead, &c.Runs, &oldest)
	c.Oldest = timeOf(oldest)
	return c, err
}

func (q *SQL) Clear(ctx context.Context, endpoint string) error {
	_, err := q.exec(ctx, `DELETE FROM interlude_notices WHERE endpoint = $1`, endpoint)
	return err
}

func (q *SQL) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := q.db.ExecContext(ctx, statement, args...)
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
