package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"
	"time"

	"github.com/interlude-go/interlude/store"
)

// listing is an order in which runs are listed.
type listing struct {
	column string
	key    func(*store.Run) time.Time
}

var (
	byCreation = listing{"created_at", func(r *store.Run) time.Time { return r.CreatedAt }}
	byQuestion = listing{"asked_at", func(r *store.Run) time.Time { return r.Pending.AskedAt }}
)

// Runs implements store.Reader.
func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, byCreation)
}

// Inbox implements store.Reader.
func (s *Store) Inbox(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, byQuestion)
}

// list pages through the runs in the order of a time column. It has connections of its own: one
// that has to walk far holds up other listings only.
func (s *Store) list(ctx context.Context, q store.Query, l listing) (page store.Page, _ error) {
	q, err := q.Normal()
	if err != nil {
		return page, err
	}
	err = s.readOn(ctx, s.listers, func(c *conn) error {
		return c.snapshot(func() error {
			page.Runs, err = c.list(ctx, q, l)
			return err
		})
	})
	if err != nil {
		return store.Page{}, err
	}
	if len(page.Runs) > q.Limit {
		page.Next = l.cursor(&page.Runs[q.Limit-1])
		page.Runs = page.Runs[:q.Limit]
	}
	return page, nil
}

// cursor is the place behind a run.
func (l listing) cursor(r *store.Run) string { return store.Cursor{At: l.key(r), ID: r.ID}.String() }

// list returns the runs of a page, and one more if there is one. What has a column is filtered by
// the database; labels are found by their hashes and checked here, so that what only looks alike is
// left out and made up for by what follows.
func (c *conn) list(ctx context.Context, q store.Query, l listing) (page []store.Run, _ error) {
	labels := hashLabels(q.Labels)
	rarest, having, err := c.rarest(labels)
	if err != nil || having == 0 {
		return nil, err
	}
	order := " ORDER BY " + l.column + ", id"
	if q.Newest {
		order = " ORDER BY " + l.column + " DESC, id DESC"
	}
	const limit = " LIMIT ? + 0"
	for want := q.Limit + 1; ; {
		f, err := filtered(q, l.column)
		if err != nil {
			return nil, err
		}
		var some []store.Run
		if having <= fewRuns {
			f.having(labels, func(hash int64) bool { return hash == rarest })
			some, err = c.byLabel(ctx, rarest, f, order, limit, int64(want))
		} else {
			f.having(labels, func(int64) bool { return false })
			some, err = c.records(ctx, "SELECT record FROM runs WHERE "+f.text()+order+limit,
				append(f.args, int64(want))...)
		}
		if err != nil {
			return nil, err
		}
		for i := range some {
			if len(labels) == 0 || q.Matches(&some[i]) {
				page = append(page, some[i])
			}
		}
		if len(some) < want || len(page) > q.Limit {
			return page, nil
		}
		q.After = l.cursor(&some[len(some)-1])
	}
}

// filter is the conditions of a query and their arguments.
type filter struct {
	where []string
	args  []driver.Value
}

func (f *filter) and(clause string, args ...driver.Value) {
	f.where, f.args = append(f.where, clause), append(f.args, args...)
}

func (f *filter) text() string { return strings.Join(f.where, " AND ") }

// filtered are the conditions of a query on columns.
func filtered(q store.Query, column string) (f filter, _ error) {
	f.and(column + " IS NOT NULL")
	if q.After != "" {
		c, err := store.ReadCursor(q.After)
		if err != nil {
			return f, err
		}
		compare := ">"
		if q.Newest {
			compare = "<"
		}
		f.and("("+column+", id) "+compare+" (?, ?)", c.At.UnixMicro(), c.ID)
	}
	if q.Pool != "" {
		f.and("pool = ?", q.Pool)
	}
	if q.Key != "" {
		f.and("key = ?", q.Key)
	}
	if len(q.States) > 0 {
		states := make([]driver.Value, len(q.States))
		for i, state := range q.States {
			states[i] = string(state)
		}
		f.and("state IN (?"+strings.Repeat(", ?", len(states)-1)+")", states...)
	}
	return f, nil
}
