package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Runs implements store.Reader.
func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, "created_at", func(r *store.Run) time.Time { return r.CreatedAt })
}

// Inbox implements store.Reader.
func (s *Store) Inbox(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, "asked_at", func(r *store.Run) time.Time { return r.Pending.AskedAt })
}

// list pages through the runs in the order of a time column. What has a column is filtered by the database.
func (s *Store) list(ctx context.Context, q store.Query, column string, key func(*store.Run) time.Time) (page store.Page, _ error) {
	q, err := q.Normal()
	if err != nil {
		return page, err
	}
	f, err := filtered(q, column)
	if err != nil {
		return page, err
	}
	order := ""
	if q.Newest {
		order = " DESC"
	}
	query := "SELECT record FROM runs WHERE " + strings.Join(f.where, " AND ") + " ORDER BY " + column + order + ", id" + order + " LIMIT ? + 0"
	err = s.read(ctx, func(c *conn) error {
		runs, err := c.records(ctx, query, append(f.args, int64(q.Limit+1))...)
		if len(runs) > q.Limit {
			last := &runs[q.Limit-1]
			page.Next = store.Cursor{At: key(last), ID: last.ID}.String()
			runs = runs[:q.Limit]
		}
		page.Runs = runs
		return err
	})
	return page, err
}

// filter is the conditions of a query and their arguments.
type filter struct {
	where []string
	args  []driver.Value
}

func (f *filter) and(clause string, args ...driver.Value) {
	f.where, f.args = append(f.where, clause), append(f.args, args...)
}

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
	for k, v := range q.Labels {
		f.and("EXISTS (SELECT 1 FROM json_each(CAST(record AS TEXT), '$.labels') AS l WHERE l.key = ? AND l.value = ?)", k, v)
	}
	return f, nil
}
