package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The upgrade of a large database of an earlier version. Migration 3 writes every active run and
// builds an index: with states locked, both would stop all nodes for a minute per million runs. If
// states is large, its transaction only makes the columns; the rest follows in short transactions,
// while nodes of both versions serve:
//
//  1. the engines of the runs, in batches: ready runs first, since claims of this version find
//     runs by them;
//  2. the index, by CREATE INDEX CONCURRENTLY. Until then claims use the index of earlier versions;
//  3. removal of that index and of the trigger that fills the engine of a run that becomes ready,
//     which nodes of earlier versions do not.
//
// Until the last step the table filling has the rows of the table migrations from version 3, so
// that versions which would expect the index do not open the schema. Each step reads the state of
// the upgrade, so any process continues where another one was killed. Any number of processes may try.

// onlineSize is the size of states in bytes from which it is upgraded in this way, and fillRows the
// number of runs in a batch, which locks them for 20 ms or so.
const (
	onlineSize = 32 << 20
	fillRows   = 400
)

// upgrades are settings of tests.
type upgrades struct {
	size   int64 // instead of onlineSize
	rows   int64 // instead of fillRows
	before func()
}

func (u upgrades) withDefaults() upgrades {
	if u.rows == 0 {
		u.size, u.rows = onlineSize, fillRows
	}
	return u
}

const enginesVersion = 3

// scanning separates the statements of that migration that read all of states.
const scanning = "DROP INDEX interlude.states_ready;"

// onlineText is the migration's text without these statements.
func onlineText(text string) string {
	quick, _, _ := strings.Cut(text, scanning)
	return quick + `CREATE TRIGGER states_engine_later BEFORE UPDATE ON interlude.states FOR EACH ROW
			WHEN (NEW.ready AND NEW.engine IS NULL) EXECUTE FUNCTION interlude.name_engine();
		CREATE TABLE interlude.filling (version integer PRIMARY KEY, name text NOT NULL, oldest integer NOT NULL,
			sum text NOT NULL, last bigint NOT NULL DEFAULT 0);
		DO $$
		DECLARE
			home oid := (SELECT relnamespace FROM pg_catalog.pg_class
				WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
			made regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'filling');
			given record;
		BEGIN
			FOR given IN
				SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
				FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
				WHERE c.relnamespace = home AND c.relname = 'migrations' AND a.privilege_type = 'SELECT'
			LOOP
				EXECUTE format('GRANT SELECT ON %s TO %s', made, given.role);
			END LOOP;
		END
		$$`
}

func indexText(text string) string {
	_, index, _ := strings.Cut(text, "CREATE INDEX states_ready_engine")
	return "CREATE INDEX CONCURRENTLY IF NOT EXISTS states_ready_engine" + index
}

// isLarge reports whether a schema of this version is upgraded in steps.
func isLarge(ctx context.Context, q querier, schema string, version int, from int64) (large bool, _ error) {
	if version == 0 || version >= enginesVersion {
		return false, nil
	}
	err := q.QueryRow(ctx, inSchema(`SELECT pg_table_size('interlude.states') >= $1`, schema), from).Scan(&large)
	return large, err
}

type fillState struct {
	filling bool
	built   *bool // whether the index is usable; nil: it does not exist
	last    int64 // the run up to which the engines are written
}

func readFillState(ctx context.Context, q querier, schema string) (s fillState, _ error) {
	err := q.QueryRow(ctx, existsText, schema, "filling").Scan(&s.filling)
	if err == nil && s.filling {
		err = q.QueryRow(ctx, inSchema(`SELECT last, (SELECT i.indisvalid AND i.indisready FROM pg_catalog.pg_index i
			JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
			WHERE s.nspname = $1 AND c.relname = 'states_ready_engine')
			FROM interlude.filling WHERE version = $2`, schema), schema, enginesVersion).Scan(&s.last, &s.built)
	}
	if wasDropped(err) {
		return fillState{}, nil
	}
	return s, err
}

// existsText reports whether a schema has a table. Any role may ask.
const existsText = `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2)`

// wasDropped reports that the table filling was dropped after it was found.
func wasDropped(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "42P01"
}

// fill executes the steps of an upgrade until the last. It retries a step that waits too long.
func fill(ctx context.Context, db txStarter, schema string, o upgrades) error {
	o = o.withDefaults()
	for {
		if o.before != nil {
			o.before()
		}
		began := time.Now()
		state, err := readFillState(ctx, db, schema)
		if err == nil && !state.filling {
			return nil
		}
		busy := false
		if err == nil {
			busy, err = fillStep(ctx, db, schema, o.rows, state)
		}
		pause := max(time.Since(began), time.Millisecond)
		var e *pgconn.PgError
		switch {
		case lostRace(err) || errors.As(err, &e) && e.Code == lockNotAvailable || wasDropped(err):
			pause = time.Second // longer than the other transactions need to continue
		case err != nil:
			return err
		case busy:
			pause = time.Second
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// fillStep executes one step, unless another process does (busy).
func fillStep(ctx context.Context, db txStarter, schema string, rows int64, state fillState) (busy bool, err error) {
	if state.last >= 0 {
		return inStep(ctx, db, schema, func(tx pgx.Tx) error { return fillBatch(ctx, tx, schema, rows) })
	}
	switch {
	case state.built == nil: // a second process waits here for the first
		_, err := db.Exec(ctx, inSchema(indexText(migrations[enginesVersion-1].text), schema))
		return false, err
	case !*state.built:
		return inStep(ctx, db, schema, func(tx pgx.Tx) error {
			// The process that builds the index has this lock until it is killed.
			_, err := tx.Exec(ctx, inSchema(`LOCK TABLE interlude.states IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`, schema))
			if err == nil {
				state, err = readFillState(ctx, tx, schema)
			}
			if err == nil && state.built != nil && !*state.built {
				_, err = tx.Exec(ctx, inSchema(`DROP INDEX interlude.states_ready_engine`, schema))
			}
			return err
		})
	}
	return inStep(ctx, db, schema, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, inSchema(`DROP TRIGGER states_engine_later ON interlude.states;
			DROP INDEX interlude.states_ready;
			INSERT INTO interlude.migrations (version, name, oldest, sum)
				SELECT version, name, oldest, sum FROM interlude.filling;
			DROP TABLE interlude.filling`, schema), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// inStep executes a step in a transaction that waits for locks less long than other transactions
// notice, and that no other process executes (busy).
func inStep(ctx context.Context, db txStarter, schema string, step func(tx pgx.Tx) error) (busy bool, _ error) {
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		var free bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended($1::text, 0))
			AND set_config('lock_timeout', $2::text, true) <> ''
			AND set_config('idle_in_transaction_session_timeout', '60s', true) <> ''`, migrationsLock(schema),
			tableWait).Scan(&free); err != nil {
			return err
		}
		if busy = !free; busy {
			return nil
		}
		state, err := readFillState(ctx, tx, schema)
		if err != nil || !state.filling { // another process was faster
			return err
		}
		return step(tx)
	})
	return busy, err
}

// fillBatch writes the engines of the next runs.
func fillBatch(ctx context.Context, tx pgx.Tx, schema string, rows int64) error {
	const engine = `UPDATE interlude.states SET engine = interlude.engine_of(record)
		WHERE engine IS NULL AND finished_at IS NULL AND `
	if _, err := tx.Exec(ctx, `SELECT set_config('enable_seqscan', 'off', true)`); err != nil {
		return err
	}
	ready, err := tx.Exec(ctx, inSchema(engine+`n = ANY (ARRAY (SELECT n FROM interlude.states WHERE ready
		AND engine IS NULL LIMIT $1))`, schema), rows)
	if err != nil || ready.RowsAffected() > 0 {
		return err
	}
	var last, until int64
	err = tx.QueryRow(ctx, inSchema(`SELECT f.last, coalesce(max(s.n), -1) FROM interlude.filling f LEFT JOIN LATERAL (
			SELECT n FROM interlude.states WHERE n > f.last ORDER BY n LIMIT $1) s ON true
		WHERE version = $2 GROUP BY f.last`, schema), rows, enginesVersion).Scan(&last, &until)
	if err == nil {
		_, err = tx.Exec(ctx, inSchema(engine+`n > $1 AND n <= $2`, schema), last, until)
	}
	if err == nil {
		_, err = tx.Exec(ctx, inSchema(`UPDATE interlude.filling SET last = $1 WHERE version = $2`, schema), until,
			enginesVersion)
	}
	return err
}

func migrationsLock(schema string) string { return "interlude migrations of " + schema }

// fillInBackground continues an upgrade until the store is closed. A role that does not own the
// tables leaves it to the others.
func (s *Store) fillInBackground() {
	for {
		err := fill(s.live, s.pool, s.o.Schema, s.o.upgrades)
		if err == nil || errors.Is(explain(err), ErrRights) {
			return
		}
		select {
		case <-s.live.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// recordedText reads the applied migrations, including an upgrade that has not ended.
func recordedText(filling bool) string {
	if !filling {
		return `SELECT version, name, oldest, sum FROM interlude.migrations ORDER BY version`
	}
	return fmt.Sprintf(`%s UNION ALL %s ORDER BY version`, `SELECT version, name, oldest, sum FROM interlude.migrations`,
		`SELECT version, name, oldest, sum FROM interlude.filling`)
}
