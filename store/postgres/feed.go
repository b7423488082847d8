package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// A trigger records the commits for feeds (feed_notes.go); they are read and acknowledged here.

const (
	// horizon is the lowest transaction under way: every row of feed below it can be read.
	horizon = `pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text::bigint`
	// beyond is above every transaction that the snapshot knows.
	beyond = `pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint`
)

var (
	feedsText = sql(`SELECT c.name, c.max_lag, c.until, c.lost, f.unacked, n.bodies, n.first FROM interlude.feeds c
		LEFT JOIN LATERAL (
			SELECT count(*) AS unacked FROM interlude.feed f WHERE NOT c.lost
				AND (f.place, f.run, f.last) > (c.place, c.run, c.last)
		) f ON true
		LEFT JOIN LATERAL (
			SELECT e.bodies, e.first FROM interlude.feed f JOIN interlude.events e ON e.run = f.run AND e.last = f.last
				WHERE NOT c.lost AND (f.place, f.run, f.last) > (c.place, c.run, c.last)
				ORDER BY f.place, f.run, f.last LIMIT 1
		) n ON true
		ORDER BY c.name`)

	// leaseFeedText returns no row for an unknown feed. A cursor beyond every transaction comes
	// from another server, whose transaction numbers are meaningless here.
	leaseFeedText = sql(`WITH leased AS (
			UPDATE interlude.feeds SET epoch = epoch + 1, until = ` + serverMicros + ` + $2::bigint
				WHERE name = $1::text AND NOT lost AND until <= ` + serverMicros + ` RETURNING epoch
		)
		SELECT (SELECT epoch FROM leased), c.lost, c.place, c.run, c.last, c.place >= ` + beyond + `
			OR EXISTS (SELECT FROM interlude.feed f WHERE f.place >= ` + beyond + ` + 1000000)
		FROM interlude.feeds c WHERE c.name = $1::text`)
	renewFeedText = sql(`UPDATE interlude.feeds SET until = ` + serverMicros + ` + $3::bigint
		WHERE name = $1::text AND epoch = $2::bigint RETURNING lost, true`)
	// ackFeedText moves a feed's cursor, and deletes rows below all cursors. It locks all feeds:
	// concurrent acknowledgements would otherwise use each other's old cursors, and never delete
	// some rows. The deletion begins at the previous lowest cursor, so that deleted rows are not
	// scanned.
	ackFeedText = sql(`WITH locked AS MATERIALIZED (
			SELECT name, epoch, lost, place, run, last FROM interlude.feeds ORDER BY name FOR NO KEY UPDATE
		), mine AS MATERIALIZED (
			SELECT m.*, (m.place, m.run, m.last) >= ($4::bigint, $5::bigint, $6::bigint) OR EXISTS (
				SELECT FROM interlude.feed f WHERE (f.place, f.run, f.last) = ($4::bigint, $5::bigint, $6::bigint)
			) AS valid FROM locked m WHERE m.name = $1::text AND m.epoch = $2::bigint
		), next AS MATERIALIZED (
			SELECT name, $4::bigint AS place, $5::bigint AS run, $6::bigint AS last FROM mine WHERE valid AND NOT lost
				AND (place, run, last) < ($4::bigint, $5::bigint, $6::bigint)
		), moved AS (
			UPDATE interlude.feeds c SET until = ` + serverMicros + ` + $3::bigint, place = coalesce(n.place, c.place),
				run = coalesce(n.run, c.run), last = coalesce(n.last, c.last)
			FROM mine m LEFT JOIN next n ON true WHERE c.name = m.name AND m.valid AND NOT m.lost
		), lowest AS MATERIALIZED (
			SELECT place, run, last FROM locked WHERE NOT lost ORDER BY place, run, last LIMIT 1
		), common AS MATERIALIZED (
			SELECT place, run, last FROM (
				SELECT place, run, last FROM next
				UNION ALL
				SELECT place, run, last FROM locked WHERE NOT lost AND name <> $1::text
			) AS all_cursors ORDER BY place, run, last LIMIT 1
		), forgotten AS (
			DELETE FROM interlude.feed f
			WHERE (f.place, f.run, f.last) > (SELECT place, run, last FROM lowest)
				AND (f.place, f.run, f.last) <= (SELECT place, run, last FROM common)
				AND EXISTS (SELECT FROM next)
		)
		SELECT lost, valid FROM mine`)
	releaseFeedText = sql(`UPDATE interlude.feeds SET until = 0 WHERE name = $1::text AND epoch = $2::bigint`)

	// readFeedText returns a row without a commit for an empty page.
	readFeedText = sql(`SELECT c.lost, EXISTS (SELECT FROM interlude.feed WHERE place >= ` + horizon + `),
			f.place, f.run, f.last
		FROM interlude.feeds c LEFT JOIN LATERAL (
			SELECT place, run, last FROM interlude.feed
			WHERE (place, run, last) > ($3::bigint, $4::bigint, $5::bigint) AND place < ` + horizon + `
			ORDER BY place, run, last LIMIT $6::bigint
		) f ON true
		WHERE c.name = $1::text AND c.epoch = $2::bigint ORDER BY f.place, f.run, f.last`)
	// feedEventsText returns the events of the first of the given commits, in the given order, as
	// many as fit a page. It does not read the bodies of the rest.
	feedEventsText = sql(`SELECT id, first, bodies FROM (
			SELECT v.n, r.id, e.first, e.bodies,
				sum(octet_length(e.bodies)) OVER (ORDER BY v.n) - octet_length(e.bodies) AS before
			FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS v (run, last, n)
			LEFT JOIN interlude.events e ON e.run = v.run AND e.last = v.last
			LEFT JOIN interlude.runs r ON r.n = v.run
		) f WHERE before IS NULL OR before <= $3::bigint ORDER BY n`)
)

type place struct{ place, run, last int64 }

func (p place) position() store.FeedPosition {
	const most = 3 * len("-9223372036854775808.")
	text := append(strconv.AppendInt(make([]byte, 0, most), p.place, 10), '.')
	text = append(strconv.AppendInt(text, p.run, 10), '.')
	return store.FeedPosition(strconv.AppendInt(text, p.last, 10))
}

// readPlace parses a position. The empty one is before everything.
func readPlace(feed string, p store.FeedPosition) (at place, _ error) {
	if p == "" {
		return at, nil
	}
	parts := strings.Split(string(p), ".")
	for i, to := range []*int64{&at.place, &at.run, &at.last} {
		if len(parts) != 3 {
			break
		}
		*to, _ = strconv.ParseInt(parts[i], 10, 64) // anything but a result of position is found below
	}
	if at.place <= 0 || at.position() != p {
		return at, store.InvalidPosition(feed, p)
	}
	return at, nil
}

func (r *reader) Feeds(ctx context.Context) ([]store.FeedStatus, error) {
	return readRows(ctx, r, r.texts[feedsText], func(row pgx.CollectableRow) (f store.FeedStatus, _ error) {
		var lag, until int64
		var bodies []byte
		var first *uint64
		err := row.Scan(&f.Name, &lag, &until, &f.Lost, &f.Unacked, &bodies, &first)
		f.MaxLag = time.Duration(lag) * time.Microsecond
		if until != 0 {
			f.Leased = timeOf(until)
		}
		if first != nil {
			f.Next = store.EventsIn(bodies, *first, *first, *first)[0]
		}
		return f, err
	})
}

func (s *Store) LeaseFeed(ctx context.Context, name string, length time.Duration, _ time.Time) (store.FeedLease, bool,
	error,
) {
	type found struct {
		epoch         *uint64
		lost, foreign bool
		cursor        place
	}
	var all []found
	var err error
	if storable(name) {
		all, err = readRows(ctx, &s.reader, s.texts[leaseFeedText], func(row pgx.CollectableRow) (f found, _ error) {
			return f, row.Scan(&f.epoch, &f.lost, &f.cursor.place, &f.cursor.run, &f.cursor.last, &f.foreign)
		}, name, length.Microseconds())
	}
	l := store.FeedLease{Feed: name, Length: length}
	switch {
	case err != nil:
		return l, false, err
	case len(all) == 0:
		return l, false, refuse.NoFeed(name)
	case all[0].lost:
		return l, false, refuse.LostFeed(name)
	case all[0].foreign:
		return l, false, fmt.Errorf("%w: its cursor is of another server, whose transactions had other numbers; this "+
			"one was restored from a dump: delete the feeds and create them again", refuse.LostFeed(name))
	case all[0].epoch == nil:
		return l, false, nil
	}
	l.Epoch, l.Cursor = *all[0].epoch, all[0].cursor.position()
	return l, true, nil
}

func (s *Store) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition,
	limit int) (page store.FeedPage,
	_ error,
) {
	from, err := readPlace(l.Feed, after)
	if err == nil {
		err = store.ValidateLimit(limit)
	}
	if err != nil {
		return page, err
	}
	var noted []place
	leased, lost := false, false
	if storable(l.Feed) {
		_, err = readRows(ctx, &s.reader, s.texts[readFeedText], func(row pgx.CollectableRow) (none struct{}, _ error) {
			leased = true
			var at, run, last *int64
			err := row.Scan(&lost, &page.Held, &at, &run, &last)
			if err == nil && at != nil {
				noted = append(noted, place{*at, *run, *last})
			}
			return none, err
		}, l.Feed, int64(l.Epoch), from.place, from.run, from.last, limit+1)
	}
	switch {
	case err != nil:
		return store.FeedPage{}, err
	case !leased:
		return store.FeedPage{}, refuse.StaleFeed(l.Feed)
	case lost:
		return store.FeedPage{}, refuse.LostFeed(l.Feed)
	}
	if page.More = len(noted) > limit; page.More {
		noted = noted[:limit]
	}
	if page.Commits, err = s.feedCommits(ctx, l.Feed, noted); err != nil {
		return store.FeedPage{}, err
	}
	page.More = page.More || len(page.Commits) < len(noted)
	return page, nil
}

// feedCommits returns the commits at these places; if their events are large, only the first ones.
// Recent commits of this process come from the cache.
func (s *Store) feedCommits(ctx context.Context, feed string, at []place) ([]store.FeedCommit, error) {
	s.cache.feeds.Store(true)
	commits := make([]store.FeedCommit, len(at))
	var missing []int // indexes of at
	var runs, lasts []int64
	for i, p := range at {
		commits[i].Position = p.position()
		if c, ok := s.cache.events.Get(commitKey{p.run, p.last}); ok {
			commits[i].RunID, commits[i].Events = c.RunID, c.Events
			continue
		}
		missing, runs, lasts = append(missing, i), append(runs, p.run), append(lasts, p.last)
	}
	if len(missing) > 0 {
		found, pruned := 0, false
		scan := func(row pgx.CollectableRow) (none struct{}, _ error) {
			var id *string
			var first *uint64
			var bodies []byte
			if err := row.Scan(&id, &first, &bodies); err != nil {
				return none, err
			}
			if id == nil || first == nil {
				pruned = true
				return none, nil
			}
			c := &commits[missing[found]]
			c.RunID, c.Events = *id, store.EventsIn(bodies, *first, *first, uint64(lasts[found]))
			found++
			return none, nil
		}
		_, err := readRows(ctx, &s.reader, s.texts[feedEventsText], scan, runs, lasts, store.MinPage)
		switch {
		case err != nil:
			return nil, err
		case pruned:
			return nil, fmt.Errorf("%w: runs were pruned just now, or by an earlier release, which does not wait for "+
				"feeds: delete the feed and create it again", refuse.LostFeed(feed))
		case found < len(missing):
			commits = commits[:missing[found]]
		}
	}
	size := 0
	for i := range commits {
		if size > store.MinPage {
			return commits[:i], nil
		}
		for _, e := range commits[i].Events {
			size += len(e.Body)
		}
	}
	return commits, nil
}

func (s *Store) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, _ time.Time) error {
	at, err := readPlace(l.Feed, to)
	if err != nil {
		return err
	}
	type answer struct{ lost, valid bool }
	text, args := renewFeedText, []any{l.Feed, int64(l.Epoch), l.Length.Microseconds()}
	if to != "" {
		text, args = ackFeedText, append(args, at.place, at.run, at.last)
	}
	var all []answer
	if storable(l.Feed) {
		all, err = readRows(ctx, &s.reader, s.texts[text], func(row pgx.CollectableRow) (a answer, _ error) {
			return a, row.Scan(&a.lost, &a.valid)
		}, args...)
	}
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return refuse.StaleFeed(l.Feed)
	case all[0].lost:
		return refuse.LostFeed(l.Feed)
	case !all[0].valid:
		return store.InvalidPosition(l.Feed, to)
	}
	return nil
}

func (s *Store) ReleaseFeed(ctx context.Context, l store.FeedLease) error {
	if !storable(l.Feed) {
		return nil
	}
	_, err := s.change(ctx, releaseFeedText, l.Feed, int64(l.Epoch))
	return err
}

func (t *txStore) CreateFeed(context.Context, store.Feed) error { return ErrInTransaction }

func (t *txStore) DeleteFeed(context.Context, string) error { return ErrInTransaction }

func (t *txStore) Feeds(ctx context.Context) ([]store.FeedStatus, error) { return t.reader.Feeds(ctx) }

func (t *txStore) LeaseFeed(context.Context, string, time.Duration, time.Time) (store.FeedLease, bool, error) {
	return store.FeedLease{}, false, ErrInTransaction
}

// ReadFeed returns ErrInTransaction: a transaction may read an old snapshot.
func (t *txStore) ReadFeed(context.Context, store.FeedLease, store.FeedPosition, int) (store.FeedPage, error) {
	return store.FeedPage{}, ErrInTransaction
}

func (t *txStore) AckFeed(context.Context, store.FeedLease, store.FeedPosition, time.Time) error {
	return ErrInTransaction
}

func (t *txStore) ReleaseFeed(context.Context, store.FeedLease) error { return ErrInTransaction }
