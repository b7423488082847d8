package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// changeFeeds calls do in a transaction. refused: nothing was changed.
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

func (s *Store) CreateFeed(ctx context.Context, f store.Feed) error {
	if err := f.Validate(); err != nil {
		return err
	}
	return s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		// Triggers of an earlier release may have recorded commits after the last cached position.
		if err := w.resetFeedState(); err != nil {
			return nil, err
		}
		n, err := w.feedState()
		if err != nil {
			return nil, err
		}
		if refused, err := w.checkFeeds(f); refused != nil || err != nil {
			return refused, err
		}
		made, err := w.exec(`INSERT INTO feeds (name, cursor, epoch, until, max_lag, lost) VALUES (?, ?, 0, 0, ?, 0)
			ON CONFLICT DO NOTHING`, f.Name, n.last, f.MaxLag.Microseconds())
		if err != nil {
			return nil, err
		}
		if made == 0 {
			return refuse.FeedExists(f.Name), nil
		}
		if err := w.resetFeedState(); err != nil {
			return nil, err
		}
		return nil, w.conn.run(dropNotingTriggers + dropPrunedTrigger + makeTriggers)
	})
}

// checkFeeds refuses the feed if there are f.Most feeds, none with its name.
func (w *writer) checkFeeds(f store.Feed) (refused, _ error) {
	if f.Most == 0 {
		return nil, nil
	}
	r, err := w.one(`SELECT count(*), coalesce(max(name = ?), 0) FROM feeds`, f.Name)
	if err == nil && r.int(0) >= int64(f.Most) && r.int(1) == 0 {
		return refuse.TooManyFeeds(f), nil
	}
	return nil, err
}

func (s *Store) DeleteFeed(ctx context.Context, name string) error {
	more := false
	err := s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		deleted, err := w.exec(`DELETE FROM feeds WHERE name = ?`, name)
		if err != nil {
			return nil, err
		}
		if deleted == 0 {
			return refuse.NoFeed(name), nil
		}
		if err := w.resetFeedState(); err != nil {
			return nil, err
		}
		more, err = w.deleteUnneeded()
		return nil, err
	})
	if err != nil || !more {
		return err
	}
	return s.deleteUnneeded(ctx)
}

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
					err = c.measureLag(&all[i], cursors[i], &s.writer.recent)
				}
			}
			return err
		})
	})
	return all, err
}

func (c *conn) measureLag(f *store.FeedStatus, cursor int64, recent *cache.Commits[notedCommit]) error {
	r, err := c.one(`SELECT coalesce(sum(min(size, position - ?)), 0) FROM noted WHERE position > ?`, cursor, cursor)
	if err != nil || r.int(0) == 0 {
		return err
	}
	f.Unacked = int(r.int(0))
	reader := feedReader{conn: c, recent: recent}
	page, err := reader.read(cursor, 1)
	if err == nil {
		f.Next = page.Commits[0].Events[0]
	}
	return err
}

// LeaseFeed implements store.FeedStore. Waiting readers only read.
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

// leased returns the feed's cursor. It refuses a lease that is not the latest, and a lost feed.
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

func (s *Store) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition,
	limit int) (page store.FeedPage,
	_ error,
) {
	from, ok := readPosition(after)
	if !ok {
		return page, store.InvalidPosition(l.Feed, after)
	}
	if err := store.ValidateLimit(limit); err != nil {
		return page, err
	}
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			_, refused, err := c.leased(l)
			if refused != nil || err != nil {
				return errors.Join(refused, err)
			}
			reader := feedReader{conn: c, recent: &s.writer.recent}
			page, err = reader.read(from, limit)
			return err
		})
	})
	if err != nil {
		return store.FeedPage{}, err
	}
	return page, nil
}

type feedReader struct {
	*conn

	recent *cache.Commits[notedCommit]
	runs   map[int64]runTail // by row, as far as read
}

type runTail struct {
	id string
	tail
}

func (f *feedReader) read(after int64, limit int) (page store.FeedPage, _ error) {
	noted, err := f.noted(after, limit+1)
	if err != nil {
		return page, err
	}
	page.Commits = make([]store.FeedCommit, 0, min(len(noted), limit))
	size := 0
	for i, n := range noted {
		if page.More = i == limit || size > store.MinPage; page.More {
			break
		}
		commit, err := f.commitOf(n)
		if err != nil {
			return page, err
		}
		for _, e := range commit.Events {
			size += len(e.Body)
		}
		page.Commits = append(page.Commits, commit)
	}
	return page, nil
}

func (c *conn) noted(after int64, limit int) (all []notedCommit, _ error) {
	err := c.each(context.Background(), func(r row) error {
		position := r.int(0) - r.int(1)
		for text := r.text(2); text != "" && len(all) < limit; {
			var of change
			var err error
			if of, text, err = readChange(text); err != nil {
				return fmt.Errorf("%w: the feed has %.80q: %w", ErrCorrupt, r.text(2), err)
			}
			if position++; position > after {
				all = append(all, notedCommit{position, of})
			}
		}
		if len(all) == limit {
			return errPageFull
		}
		return nil
	}, `SELECT position, size, commits FROM noted WHERE position > ? ORDER BY position LIMIT ? + 0`, after, int64(limit))
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return all, err
}

// commitOf returns a commit with its events, which are stored together: in the run's tail, or in
// one row of the log.
func (f *feedReader) commitOf(n notedCommit) (store.FeedCommit, error) {
	if c, ok := f.recent.Get(n); ok {
		return store.FeedCommit{Position: position(n.position), RunID: c.RunID, Events: c.Events}, nil
	}
	run, err := f.runOf(n.run)
	if err != nil {
		return store.FeedCommit{}, missingEvents(n, err)
	}
	from, lines := run.first, run.lines
	if from > n.first {
		r, err := f.one(`SELECT first, bodies FROM log WHERE k BETWEEN ? AND ? ORDER BY k LIMIT 1`,
			logKey(n.run, n.first), logKey(n.run, maxSeq))
		if err != nil {
			return store.FeedCommit{}, missingEvents(n, err)
		}
		from, lines = uint64(r.int(0)), r.blob(1)
	}
	events := store.EventsIn(lines, from, n.first, n.last)
	if len(events) != int(n.last-n.first+1) {
		return store.FeedCommit{}, missingEvents(n, errNoRow)
	}
	return store.FeedCommit{Position: position(n.position), RunID: run.id, Events: events}, nil
}

// runOf reads the run of a row, once for all of its commits in the page.
func (f *feedReader) runOf(row int64) (run runTail, _ error) {
	if run, read := f.runs[row]; read {
		return run, nil
	}
	r, err := f.one(`SELECT id, first, tail FROM runs WHERE n = ?`, row)
	if err != nil {
		return run, err
	}
	run = runTail{r.text(0), tail{uint64(r.int(1)), r.blob(2)}}
	if f.runs == nil {
		f.runs = make(map[int64]runTail)
	}
	f.runs[row] = run
	return run, nil
}

func missingEvents(n notedCommit, err error) error {
	if errors.Is(err, errNoRow) {
		return fmt.Errorf("%w: the feed names events %d to %d of row %d, which are not there", ErrCorrupt, n.first,
			n.last, n.run)
	}
	return err
}

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
			n, err := w.feedState()
			if err != nil {
				return nil, err
			}
			if at > n.last {
				return store.InvalidPosition(l.Feed, to), nil
			}
		}
		_, err = w.exec(`UPDATE feeds SET until = ?, cursor = ? WHERE name = ?`, now.Add(l.Length).UnixMicro(),
			max(at, cursor), l.Feed)
		if err == nil && at > cursor { // as many as this call acknowledges, and some older ones
			_, err = w.deleteAcknowledged(at - cursor + unneededPart)
		}
		return nil, err
	})
}

func (s *Store) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	return s.changeFeeds(ctx, func(w *writer) (refused, _ error) {
		_, err := w.exec(`UPDATE feeds SET until = 0 WHERE name = ? AND epoch = ?`, l.Feed, int64(l.Epoch))
		return nil, err
	})
}

func position(n int64) store.FeedPosition {
	if n == 0 {
		return ""
	}
	return store.FeedPosition(strconv.FormatInt(n, 10))
}

// readPosition parses a position. The empty one is 0.
func readPosition(p store.FeedPosition) (n int64, ok bool) {
	if p == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(string(p), 10, 64)
	return n, err == nil && n > 0 && position(n) == p
}
