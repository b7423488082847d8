package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// listing is an order in which runs are listed.
type listing struct {
	column, id string
	key        func(*store.Run) time.Time
}

var (
	byCreation = listing{"r.created_at", "r.id", func(r *store.Run) time.Time { return r.CreatedAt }}
	byQuestion = listing{"s.asked_at", "s.id", func(r *store.Run) time.Time { return r.Pending.AskedAt }}
)

// Runs implements store.Reader.
func (r *reader) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return r.list(ctx, q, byCreation)
}

// Inbox implements store.Reader.
func (r *reader) Inbox(ctx context.Context, q store.Query) (store.Page, error) {
	return r.list(ctx, q, byQuestion)
}

// list pages through the runs.
func (r *reader) list(ctx context.Context, q store.Query, l listing) (page store.Page, _ error) {
	q, err := q.Normal()
	if err != nil {
		return page, err
	}
	text, args, err := l.text(q)
	if err != nil {
		return page, err
	}
	if text == "" {
		return page, nil
	}
	planned := *r
	// Runs with the labels may be few among many, as the planner knows. Their index is of a kind
	// that indexPlans excludes.
	if len(q.Labels) > 0 || q.ForkedFrom != "" {
		planned.customPlan = true
		if !planned.planner { // in a transaction of the host's own: a statement that is parsed anew has no plan yet
			args = append([]any{pgx.QueryExecModeDescribeExec}, args...)
		}
	}
	runs, err := readRows(ctx, &planned, inSchema(text, r.schema), scanRun, args...)
	if err != nil {
		return page, err
	}
	return store.NewPage(runs, q.Limit, l.key), nil
}

// filter is the conditions of a query and their arguments.
type filter struct {
	where []string
	args  []any
}

// and adds a condition, in which %d stands for the number of its argument.
func (f *filter) and(clause string, arg any) {
	f.args = append(f.args, arg)
	f.where = append(f.where, fmt.Sprintf(clause, len(f.args)))
}

// text is the statement of a query; empty when nothing can match it.
func (l listing) text(q store.Query) (string, []any, error) {
	f := filter{where: []string{l.column + " IS NOT NULL"}}
	order, compare := "", ">"
	if q.Newest {
		order, compare = " DESC", "<"
	}
	if q.After != "" {
		c, err := store.ReadCursor(q.After)
		if err != nil {
			return "", nil, err
		}
		f.args = append(f.args, c.At.UnixMicro())
		f.and("("+l.column+", "+l.id+") "+compare+" ($1, $%d)", c.ID)
	}
	if !storable(q.Pool) {
		return "", nil, nil
	}
	if q.Pool != "" {
		f.and("s.pool = $%d", q.Pool)
	}
	if q.Key != "" {
		f.and("s.key = $%d", []byte(q.Key))
	}
	if len(q.States) > 0 {
		states := make([]string, len(q.States))
		for i, state := range q.States {
			states[i] = string(state)
			if !storable(states[i]) {
				states[i] = ""
			}
		}
		f.and("s.state = ANY ($%d::text[])", states)
	}
	// The planner would rather walk in the listing's order, and pass over all runs that are not
	// held.
	states := "interlude.states"
	if q.Held {
		states = "(SELECT * FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > " + heldRange +
			" OFFSET 0)"
	}
	if labels := labelTexts(q.Labels, q.ForkedFrom); labels != nil {
		f.and("r.labels @> $%d::text[]", labels)
	}
	f.args = append(f.args, q.Limit+1)
	return fmt.Sprintf("SELECT "+view+" FROM interlude.runs r JOIN "+states+" s ON s.n = r.n WHERE %s "+
		"ORDER BY %s%s, %s%s LIMIT $%d",
		strings.Join(f.where, " AND "), l.column, order, l.id, order, len(f.args)), f.args, nil
}
