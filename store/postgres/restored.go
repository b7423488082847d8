package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The incarnation marks events, so that none has the id of an event that a restore or a failover has
// undone (fcmp.Event.ID). It is a number in the table store, next to the server's timeline. Each
// statement that writes events compares both with the server's, so a process that knows an old
// number writes nothing until it has read the new one.

// timelineText is the timeline of a primary: the first eight digits of a WAL file's name. Some
// managed servers have no such function: see loadIncarnation.
const timelineText = `substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8)`

// isCurrent is a condition for statements that write events. The argument with this number is the
// incarnation of the events.
func isCurrent(argument int) string {
	return fmt.Sprintf(`(SELECT incarnation = $%d::bigint AND timeline = `+timelineText+`
		FROM interlude.store ORDER BY identity LIMIT 1)`, argument)
}

const (
	incarnationOf = `(SELECT incarnation FROM interlude.store ORDER BY identity LIMIT 1)`
	// timelineChanged is true on a primary with another timeline than the stored one.
	timelineChanged = `(SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN false
		ELSE timeline <> ` + timelineText + ` END FROM interlude.store ORDER BY identity LIMIT 1)`
)

var (
	incarnationText     = sql(`SELECT ` + incarnationOf + `, ` + timelineChanged)
	observeTimelineText = sql(`SELECT interlude.observe_timeline()`)
)

// loadIncarnation reads the incarnation, and has the database raise it if the server's timeline has
// changed. It reports whether it was another one before.
func (s *Store) loadIncarnation(ctx context.Context, q querier) (changed bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout) // transactions may have all connections
	defer cancel()
	for range maxTries {
		var n uint64
		var moved bool
		if err := q.QueryRow(ctx, s.texts[incarnationText]).Scan(&n, &moved); err != nil {
			return false, err
		}
		if !moved {
			return s.incarnation.Swap(n) != n, nil
		}
		if _, err := q.Exec(ctx, s.texts[observeTimelineText]); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("%w: the server's timeline changes", ErrSerialization)
}

// openIncarnation is loadIncarnation before the first write. On a server without timelineText the
// statements leave the timeline out: only Restored raises the incarnation there.
func (s *Store) openIncarnation(ctx context.Context) error {
	_, err := s.loadIncarnation(ctx, s.pool)
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "0A000" || strings.HasPrefix(e.Code, "42")) { // or undefined, or no right
		for i, text := range s.texts {
			s.texts[i] = strings.ReplaceAll(text, timelineText, "timeline")
		}
		_, err = s.loadIncarnation(ctx, s.pool)
	}
	if errors.As(err, &e) && (e.Code == "25006" || e.Code == "42501") {
		return nil // the process can only read
	}
	return err
}

// Restored marks the events that are stored from now on with a new incarnation (fcmp.Event.ID),
// because the database was restored: events that it lacks may have been sent, and new ones get their
// numbers. Stores do the same by themselves when the server's timeline has changed, after a
// restore to a point in time or a promotion. Call it, with the migrating role, after every other
// restore (a dump, a snapshot of a disk), and if the server hides its timeline
// (docs/tutorials/restore.md), before hosts serve. Stores that are open use the incarnation from their
// next commit on, and refuse commits on records that they read before (store.ErrConflict), except in
// a host's transaction above read committed that began before. Restored waits for the end of
// transactions that have written events. A second call does no harm. An empty schema means
// "interlude".
//
// Releases that do not know incarnations refuse to open the schema afterwards, with ErrNewer; end
// their processes before.
func Restored(ctx context.Context, dsn, schema string) error {
	if err := Migrate(ctx, dsn, schema); err != nil {
		return err
	}
	err := withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, text := range []string{
				`LOCK TABLE interlude.events IN SHARE ROW EXCLUSIVE MODE`,
				`UPDATE interlude.store SET incarnation = greatest(incarnation + 1, ` + serverMicros + `)`,
				`UPDATE interlude.migrations SET oldest = version WHERE name = '0011_incarnation.sql'`,
			} {
				if _, err := tx.Exec(ctx, inSchema(text, schema)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("postgres: restored: %w", explain(err))
	}
	return nil
}
