package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// A trigger records the commits for feeds (migration 6) while a feed is not lost (migration 9).
// Creating and deleting feeds enables and disables it.

var (
	// lockFeedsText serializes the creation and deletion of feeds. It waits for transactions that
	// acknowledge or prune.
	lockFeedsText = sql(`LOCK TABLE interlude.feeds IN SHARE ROW EXCLUSIVE MODE`)
	// createFeedText starts the feed with the current transactions, whose commits are not visible
	// yet.
	createFeedText = sql(`INSERT INTO interlude.feeds (name, place, run, last, epoch, until, max_lag, lost)
		SELECT $1::text, ` + horizon + ` - 1, $3::bigint, $3::bigint, 0, 0, $2::bigint, false
		WHERE $4::bigint = 0 OR (SELECT count(*) FROM interlude.feeds) < $4::bigint
		ON CONFLICT (name) DO NOTHING`)
	// feedsFullText returns whether there are at least this many feeds, none with the name.
	feedsFullText = sql(`SELECT count(*) >= $2::bigint AND NOT coalesce(bool_or(name = $1::text), false)
		FROM interlude.feeds`)
	deleteFeedText  = sql(`DELETE FROM interlude.feeds WHERE name = $1::text`)
	switchFeedsText = sql(`SELECT interlude.switch_feeds()`)
	// anyLostText returns whether a feed is lost, and whether all are; false for both without
	// feeds.
	anyLostText = sql(`SELECT coalesce(bool_or(lost), false), coalesce(bool_and(lost), false) FROM interlude.feeds`)
	// deleteUnneededText deletes up to a number of rows of feed after a place, in order, and
	// returns the last one and their number. It deletes rows acknowledged by every feed that is not
	// lost; all rows without a feed.
	deleteUnneededText = sql(`WITH lowest AS MATERIALIZED (
			SELECT place, run, last FROM (
				SELECT place, run, last FROM interlude.feeds WHERE NOT lost
				UNION ALL
				SELECT $5::bigint, $5::bigint, $5::bigint
			) AS all_cursors ORDER BY place, run, last LIMIT 1
		), part AS MATERIALIZED (
			SELECT place, run, last FROM interlude.feed WHERE (place, run, last) > ($1::bigint, $2::bigint, $3::bigint)
				AND (place, run, last) <= (SELECT place, run, last FROM lowest)
			ORDER BY place, run, last LIMIT $4::bigint
		), deleted AS (
			DELETE FROM interlude.feed f USING part p WHERE (f.place, f.run, f.last) = (p.place, p.run, p.last)
		)
		SELECT place, run, last, count(*) OVER () FROM part ORDER BY place DESC, run DESC, last DESC LIMIT 1`)
)

func (s *Store) CreateFeed(ctx context.Context, f store.Feed) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if err := s.checkFeeds(ctx, f); err != nil { // without the lock, which blocks writers
		return err
	}
	made, err := s.changeFeeds(ctx, createFeedText, f.Name, f.MaxLag.Microseconds(), int64(math.MaxInt64), f.Most)
	if err == nil && made == 0 {
		if err = s.checkFeeds(ctx, f); err == nil {
			err = refuse.FeedExists(f.Name)
		}
	}
	return err
}

// checkFeeds returns an error if there are f.Most feeds, none with f's name.
func (s *Store) checkFeeds(ctx context.Context, f store.Feed) error {
	if f.Most == 0 {
		return nil
	}
	full, err := readRows(ctx, &s.reader, s.texts[feedsFullText], pgx.RowTo[bool], f.Name, f.Most)
	if err == nil && full[0] {
		err = refuse.TooManyFeeds(f)
	}
	return err
}

func (s *Store) DeleteFeed(ctx context.Context, name string) error {
	if !storable(name) {
		return refuse.NoFeed(name)
	}
	deleted, err := s.changeFeeds(ctx, deleteFeedText, name)
	if err == nil && deleted == 0 {
		err = refuse.NoFeed(name)
	}
	if err == nil {
		err = s.deleteUnneeded(ctx)
	}
	return err
}

// tidyLostFeeds deletes the leftovers of lost feeds. If all feeds are lost, it first stops the
// recording.
func (s *Store) tidyLostFeeds(ctx context.Context) error {
	type lost struct{ one, all bool }
	found, err := readRows(ctx, &s.reader, s.texts[anyLostText], func(row pgx.CollectableRow) (l lost, _ error) {
		return l, row.Scan(&l.one, &l.all)
	})
	if err == nil && found[0].all {
		err = s.stopNoting(ctx)
	}
	if err != nil || !found[0].one {
		return err
	}
	return s.deleteUnneeded(ctx)
}

// stopNoting disables the trigger, unless a feed needs it. It waits at most feedLockWait for
// transactions that have written events. If one stays open, commits are still recorded, and the
// next Prune retries.
func (s *Store) stopNoting(ctx context.Context) error {
	within, done, err := s.beginCall(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.changeFeedsOnce(within, anyLostText) // changes no feed
	var e *pgconn.PgError
	switch {
	case err == nil || lostRace(err) || errors.As(err, &e) && e.Code == lockNotAvailable:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return writeError(err)
}

const unneededPart = 5000

// deleteUnneeded deletes the rows that no feed needs, in parts. Each part begins after the previous
// one, so that deleted rows are not scanned. It ends with the first part that is not full, or it
// might never finish while commits are recorded.
func (s *Store) deleteUnneeded(ctx context.Context) error {
	var at place
	for deleted := unneededPart; deleted == unneededPart; {
		deleted = 0
		scan := func(row pgx.CollectableRow) (none struct{}, _ error) {
			return none, row.Scan(&at.place, &at.run, &at.last, &deleted)
		}
		_, err := readRows(ctx, &s.reader, s.texts[deleteUnneededText], scan, at.place, at.run, at.last, unneededPart,
			int64(math.MaxInt64))
		if err != nil {
			return err
		}
	}
	return nil
}

// The lock wait of one attempt to change the feeds. Later writers of events wait too. It exceeds
// the second after which the server checks for deadlocks, and asks an autovacuum to yield.
const (
	feedLockWait  = "1500ms"
	feedLockPause = time.Second
)

// changeFeeds executes a statement that creates or deletes a feed, and returns the number of
// changed feeds. It waits until no other transaction has uncommitted events, in attempts of
// feedLockWait with pauses, so that writers of events can proceed.
func (s *Store) changeFeeds(ctx context.Context, text statement, args ...any) (int64, error) {
	within, done, err := s.beginCall(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	for try := 0; ; try++ {
		changed, err := s.changeFeedsOnce(within, text, args...)
		var e *pgconn.PgError
		switch {
		case err == nil:
			return changed, nil
		case errors.As(err, &e) && e.Code == lockNotAvailable:
			select {
			case <-time.After(feedLockPause):
			case <-within.Done():
			}
			if within.Err() != nil && ctx.Err() == nil {
				return 0, fmt.Errorf("postgres: change the feeds: %w: a transaction that has written events is still "+
					"open: "+
					"%w", ErrTimeout, err)
			}
		}
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.As(err, &e) && e.Code == lockNotAvailable:
		case !lostRace(err) || try >= maxTries:
			return 0, writeError(err)
		}
	}
}

func (s *Store) changeFeedsOnce(ctx context.Context, text statement, args ...any) (changed int64, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	clearReplicationWarning(conn.Conn().PgConn())
	b := newBatch(6)
	b.Queue(beginText)
	b.Queue(s.texts[guardText], feedLockWait)
	b.Queue(s.texts[lockFeedsText])
	b.Queue(s.texts[text], args...)
	b.Queue(s.texts[switchFeedsText])
	b.Queue(commitText)
	results := conn.SendBatch(ctx, b)
	for i := 0; i < b.Len() && err == nil; i++ {
		var tag pgconn.CommandTag
		if tag, err = results.Exec(); i == 3 {
			changed = tag.RowsAffected()
		}
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = acknowledgmentError(conn.Conn().PgConn())
	}
	if err != nil {
		s.cache.clearIfDisconnected(err)
		rollBack(ctx, conn.Conn())
	}
	return changed, err
}
