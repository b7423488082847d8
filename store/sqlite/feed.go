package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// While a feed exists, triggers note the commits of releases without feeds, which do not know of
// them. This release notes its commits itself, since counting the events in a trigger costs more than
// the rest of a commit. Its statements are such that the triggers need not even look, which would cost
// a quarter of it. It creates a run with 0 in the column slot, where earlier releases leave NULL; both
// mean no slot. Its updates do not name the column first, which those of earlier releases always do,
// unless it changes; then the trigger finds that the commit was noted just before. When a run is
// deleted, the feeds that have not acknowledged its last commit are lost.
const (
	makeTriggers = `CREATE TRIGGER IF NOT EXISTS feed_created AFTER INSERT ON runs WHEN new.slot IS NULL BEGIN
	INSERT OR ROLLBACK INTO feed (position, run, version, first, last)
		SELECT ` + nextPosition + `, new.n, new.version, 1, ` + lastOfNew + ` WHERE ` + lastOfNew + ` > 0;
END;
CREATE TRIGGER IF NOT EXISTS feed_changed AFTER UPDATE OF first ON runs
	WHEN NOT EXISTS (SELECT 1 FROM feed WHERE position = (SELECT max(position) FROM feed) AND run = new.n
		AND version = new.version) BEGIN
	INSERT OR ROLLBACK INTO feed (position, run, version, first, last, final)
		SELECT ` + nextPosition + `, new.n, new.version, ` + lastOfOld + ` + 1, ` + lastOfNew + `,
			CASE WHEN new.finished_at IS NOT NULL THEN 1 END
		WHERE ` + lastOfNew + ` > ` + lastOfOld + `;
END;
CREATE TRIGGER IF NOT EXISTS feed_pruned AFTER DELETE ON runs BEGIN
	UPDATE feeds SET lost = 1 WHERE lost = 0
		AND EXISTS (SELECT 1 FROM feed WHERE final = 1 AND run = old.n AND position > cursor);
END;`
	dropTriggers = `DROP TRIGGER IF EXISTS feed_created; DROP TRIGGER IF EXISTS feed_changed;
DROP TRIGGER IF EXISTS feed_pruned;`

	// A position is above every cursor and every commit that is noted, so that none is used again
	// while somebody could compare it with another.
	lastPosition = `max(coalesce((SELECT max(cursor) FROM feeds), 0), coalesce((SELECT max(position) FROM feed), 0))`
	nextPosition = lastPosition + ` + 1`
	// lastOf… is the number of a run's last event, from its tail: a line each, the first of which
	// has the number first.
	lastOfNew = `(new.first - 1 + (length(new.tail) > 0) * (1 + length(new.tail)
			- length(CAST(replace(CAST(new.tail AS TEXT), char(10), '') AS BLOB))))`
	lastOfOld = `(old.first - 1 + (length(old.tail) > 0) * (1 + length(old.tail)
			- length(CAST(replace(CAST(old.tail AS TEXT), char(10), '') AS BLOB))))`
)

// notes is what a transaction knows of the feeds: whether it notes commits, whether it notes the
// creation of runs, too, because no trigger does, and the position of the last commit.
type notes struct {
	needed  bool
	created bool
	last    int64
}

// notes returns them for the transaction. Like everything in the cache they are those of the file:
// the cache is emptied when somebody else has written to it.
func (w *writer) notes() (*notes, error) {
	if w.cache.notes == nil {
		// A file whose feeds another release has made may have triggers that look at all runs.
		r, err := w.one(`SELECT coalesce(sum(lost = 0), 0), ` + lastPosition + `, NOT EXISTS (SELECT 1 FROM sqlite_schema
			WHERE name = 'feed_created' AND instr(sql, 'WHEN new.slot IS NULL') = 0) FROM feeds`)
		if err != nil {
			return nil, err
		}
		w.cache.notes = &notes{needed: r.int(0) > 0, last: r.int(1), created: r.int(2) != 0}
	}
	return w.cache.notes, nil
}

// note notes a commit that changes the run of the row, before the row is updated. Noted is false if
// nothing needs it.
func (w *writer) note(row int64, e *entry.Entry) (noted bool, _ error) {
	if len(e.Events) == 0 {
		return false, nil
	}
	n, err := w.notes()
	if err != nil || !n.needed {
		return false, err
	}
	n.last++
	_, err = w.exec(`INSERT INTO feed (position, run, version, first, last, final) VALUES (?, ?, ?, ?, ?, ?)`, n.last,
		row,
		int64(e.Run.Version), int64(e.FirstSeq()), int64(e.Run.Seq), flagColumn(e.Run.State.Terminal()))
	w.countRow(0)
	return err == nil, err
}

// slotOfNew is what the column slot of a run has that is created: 0 if noteCreated will note it.
func (w *writer) slotOfNew(e *entry.Entry) (driver.Value, error) {
	n, err := w.notes()
	if err == nil && n.needed && n.created && len(e.Events) > 0 {
		return int64(0), nil
	}
	return nil, err
}

// noteCreated notes that the run of the row was created, or counts the row by which a trigger has
// noted it.
func (w *writer) noteCreated(row int64, e *entry.Entry) error {
	n, err := w.notes()
	if err != nil {
		return err
	}
	if n.created {
		_, err = w.note(row, e)
		return err
	}
	if n.needed && len(e.Events) > 0 {
		n.last++
		w.countRow(0)
	}
	return nil
}

// forgetNoted deletes the commits that every feed has acknowledged.
func (w *writer) forgetNoted() error {
	_, err := w.exec(`DELETE FROM feed WHERE position <= coalesce((SELECT min(cursor) FROM feeds WHERE lost = 0),
		9223372036854775807)`)
	return err
}

// changeFeeds calls do in a transaction. Refused is why nothing was changed.
func (s *Store) changeFeeds(ctx context.Context, do func(w *writer) (refused, err error)) error {
	var refused error
	err := s.write(ctx, 1, func(w *writer) (_ []store.Hint, err error) {
		refused, err = do(w)
		return nil, err
	})
	if err != nil {
		return err
	}
	return refused
}

// CreateFeed implements store.FeedStore.
func (s *Store) CreateFeed(ctx context.Context, f store.Feed) error {
	if err := f.Check(); err != nil {
		return err
	}
	return s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		n, err := w.notes()
		if err != nil {
			return nil, err
		}
		made, err := w.exec(`INSERT INTO feeds (name, cursor, epoch, until, max_lag, lost) VALUES (?, ?, 0, 0, ?, 0)
			ON CONFLICT DO NOTHING`, f.Name, n.last, f.MaxLag.Microseconds())
		if err != nil {
			return nil, err
		}
		if made == 0 {
			return refuse.FeedExists(f.Name), nil
		}
		w.cache.notes = nil
		return nil, w.conn.run(dropTriggers + makeTriggers)
	})
}

// DeleteFeed implements store.FeedStore.
func (s *Store) DeleteFeed(ctx context.Context, name string) error {
	return s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		deleted, err := w.exec(`DELETE FROM feeds WHERE name = ?`, name)
		if err != nil {
			return nil, err
		}
		if deleted == 0 {
			return refuse.NoFeed(name), nil
		}
		w.cache.notes = nil
		if err := w.forgetNoted(); err != nil {
			return nil, err
		}
		more, err := w.exists(`SELECT 1 FROM feeds`)
		if err == nil && !more {
			err = w.conn.run(dropTriggers)
		}
		return nil, err
	})
}

// Feeds implements store.FeedStore.
func (s *Store) Feeds(ctx context.Context) (all []store.FeedStatus, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			var cursors []int64
			err := c.each(context.Background(), func(r row) error {
				f := store.FeedStatus{Feed: store.Feed{Name: r.text(0),
					MaxLag: time.Duration(r.int(1)) * time.Microsecond},
					Leased: r.time(2), Lost: r.int(3) != 0}
				if f.Leased.UnixMicro() == 0 {
					f.Leased = time.Time{}
				}
				all, cursors = append(all, f), append(cursors, r.int(4))
				return nil
			}, `SELECT name, max_lag, until, lost, cursor FROM feeds ORDER BY name`)
			for i := range all {
				if err == nil && !all[i].Lost {
					err = c.measureLag(&all[i], cursors[i])
				}
			}
			return err
		})
	})
	return all, err
}

// measureLag sets what a feed has not acknowledged.
func (c *conn) measureLag(f *store.FeedStatus, cursor int64) error {
	r, err := c.one(`SELECT count(*) FROM feed WHERE position > ?`, cursor)
	if err != nil || r.int(0) == 0 {
		return err
	}
	f.Unacked = int(r.int(0))
	noted, err := c.noted(cursor, 1)
	if err == nil {
		events, err := c.eventsOf(noted[0])
		if err != nil {
			return err
		}
		f.Next = events[0]
	}
	return err
}

// LeaseFeed implements store.FeedStore. Readers that wait only read.
func (s *Store) LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (store.FeedLease,
	bool, error,
) {
	l := store.FeedLease{Feed: name, Length: length}
	lease := func(c *conn) (free bool, refused, _ error) {
		r, err := c.one(`SELECT epoch, until, lost, cursor FROM feeds WHERE name = ?`, name)
		switch {
		case errors.Is(err, errNoRow):
			return false, refuse.NoFeed(name), nil
		case err != nil:
			return false, nil, err
		case r.int(2) != 0:
			return false, refuse.LostFeed(name), nil
		}
		l.Epoch, l.Cursor = uint64(r.int(0))+1, position(r.int(3))
		return r.int(1) <= now.UnixMicro(), nil, nil
	}
	free := false
	err := s.read(ctx, func(c *conn) (err error) {
		var refused error
		free, refused, err = lease(c)
		return errors.Join(refused, err)
	})
	if err != nil || !free {
		return store.FeedLease{}, false, err
	}
	err = s.changeFeeds(ctx, func(w *writer) (refused, err error) {
		if free, refused, err = lease(w.conn); !free || refused != nil || err != nil {
			return refused, err
		}
		_, err = w.exec(`UPDATE feeds SET epoch = ?, until = ? WHERE name = ?`, int64(l.Epoch),
			now.Add(length).UnixMicro(), name)
		return nil, err
	})
	if err != nil || !free {
		return store.FeedLease{}, false, err
	}
	return l, true, nil
}

// leased returns the feed's cursor if the lease is its last one.
func (c *conn) leased(l store.FeedLease) (cursor int64, refused, _ error) {
	r, err := c.one(`SELECT cursor, lost FROM feeds WHERE name = ? AND epoch = ?`, l.Feed, int64(l.Epoch))
	switch {
	case errors.Is(err, errNoRow):
		return 0, refuse.StaleFeed(l.Feed), nil
	case err != nil:
		return 0, nil, err
	case r.int(1) != 0:
		return 0, refuse.LostFeed(l.Feed), nil
	}
	return r.int(0), nil, nil
}

// ReadFeed implements store.FeedStore.
func (s *Store) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition,
	limit int) (page store.FeedPage,
	_ error,
) {
	from, ok := readPosition(after)
	if !ok {
		return page, store.InvalidPosition(l.Feed, after)
	}
	if err := store.CheckLimit(limit); err != nil {
		return page, err
	}
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			_, refused, err := c.leased(l)
			if refused != nil || err != nil {
				return errors.Join(refused, err)
			}
			noted, err := c.noted(from, limit+1)
			if err != nil {
				return err
			}
			size := 0
			for i, n := range noted {
				if page.More = i == limit || size > store.MinPage; page.More {
					return nil
				}
				events, err := c.eventsOf(n)
				if err != nil {
					return err
				}
				for _, e := range events {
					size += len(e.Body)
				}
				page.Commits = append(page.Commits, store.FeedCommit{Position: position(n.position), RunID: n.id,
					Events: events})
			}
			return nil
		})
	})
	if err != nil {
		return store.FeedPage{}, err
	}
	return page, nil
}

// notedCommit is a row of the table feed, with what the row of its run has: the run's id, and the
// events of its tail.
type notedCommit struct {
	position, run int64
	first, last   uint64
	id            string
	tail          tail
}

// noted returns up to limit commits after the position.
func (c *conn) noted(after int64, limit int) (all []notedCommit, _ error) {
	err := c.each(context.Background(), func(r row) error {
		all = append(all, notedCommit{r.int(0), r.int(1), uint64(r.int(2)), uint64(r.int(3)), r.text(4),
			tail{uint64(r.int(5)), r.blob(6)}})
		return nil
	}, `SELECT position, run, feed.first, feed.last, runs.id, runs.first, runs.tail FROM feed
		LEFT JOIN runs ON runs.n = feed.run WHERE position > ? ORDER BY position LIMIT ? + 0`, after, int64(limit))
	return all, err
}

// eventsOf returns the events of a commit. They stand together: in the run's tail, or in one row of
// the log.
func (c *conn) eventsOf(n notedCommit) ([]store.Event, error) {
	from, lines := n.tail.first, n.tail.lines
	if from > n.first {
		r, err := c.one(`SELECT first, bodies FROM log WHERE k BETWEEN ? AND ? ORDER BY k LIMIT 1`,
			logKey(n.run, n.first),
			logKey(n.run, maxSeq))
		if err != nil {
			return nil, c.missingEvents(n, err)
		}
		from, lines = uint64(r.int(0)), r.blob(1)
	}
	events := store.EventsIn(lines, from, n.first, n.last)
	if len(events) != int(n.last-n.first+1) {
		return nil, c.missingEvents(n, errNoRow)
	}
	return events, nil
}

func (c *conn) missingEvents(n notedCommit, err error) error {
	if errors.Is(err, errNoRow) {
		return fmt.Errorf("%w: the feed names events %d to %d of row %d, which are not there", ErrCorrupt, n.first,
			n.last,
			n.run)
	}
	return err
}

// AckFeed implements store.FeedStore.
func (s *Store) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	at, ok := readPosition(to)
	if !ok {
		return store.InvalidPosition(l.Feed, to)
	}
	return s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		cursor, refused, err := w.leased(l)
		if refused != nil || err != nil {
			return refused, err
		}
		if at > cursor {
			n, err := w.notes()
			if err != nil {
				return nil, err
			}
			if at > n.last {
				return store.InvalidPosition(l.Feed, to), nil
			}
		}
		_, err = w.exec(`UPDATE feeds SET until = ?, cursor = ? WHERE name = ?`, now.Add(l.Length).UnixMicro(),
			max(at, cursor), l.Feed)
		if err == nil && at > cursor {
			err = w.forgetNoted()
		}
		return nil, err
	})
}

// ReleaseFeed implements store.FeedStore.
func (s *Store) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	return s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		_, err := w.exec(`UPDATE feeds SET until = 0 WHERE name = ? AND epoch = ?`, l.Feed, int64(l.Epoch))
		return nil, err
	})
}

// pruneWaits is a condition on a row of runs: a feed needs the run that is to be pruned. It takes
// the time before which runs are pruned.
const pruneWaits = `EXISTS (SELECT 1 FROM feeds WHERE lost = 0 AND runs.finished_at >= ? - max_lag
	AND EXISTS (SELECT 1 FROM feed WHERE final = 1 AND feed.run = runs.n AND position > cursor))`

func position(n int64) store.FeedPosition {
	if n == 0 {
		return ""
	}
	return store.FeedPosition(strconv.FormatInt(n, 10))
}

// readPosition reads a position. The empty one is 0.
func readPosition(p store.FeedPosition) (n int64, ok bool) {
	if p == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(string(p), 10, 64)
	return n, err == nil && n > 0 && position(n) == p
}
