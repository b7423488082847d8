package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/interlude-go/interlude/store"
)

func (r *reader) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	text, args, err := runsListText(q)
	if err != nil || text == "" {
		return store.Page{}, err
	}
	found := &store.Found{Limit: q.Limit}
	err = r.list(ctx, found, len(q.Labels) > 0 || q.ForkedFrom != "" || q.Parent != "", text, args)
	if err != nil {
		return store.Page{}, err
	}
	return found.NewPage(q)
}

// list finds the runs of a listing. With planned, the server plans the statement for its arguments,
// since the planner knows whether few or many runs have a label, an origin or a parent. indexPlans
// excludes the label index's type.
func (r *reader) list(ctx context.Context, found *store.Found, planned bool, text string, args []any) error {
	on := *r
	if planned {
		on.customPlan = true
		if !on.planner { // in a transaction of the host: a newly parsed statement has no plan yet
			args = append([]any{pgx.QueryExecModeDescribeExec}, args...)
		}
	}
	_, err := readRows(ctx, &on, inSchema(pageOf(text), r.schema), func(row pgx.CollectableRow) (
		none struct{}, _ error) {
		var record pgtype.DriverBytes
		var departed *int64
		var incarnation uint64
		if err := row.Scan(&record, &departed, &incarnation); err != nil {
			return none, err
		}
		run, err := decodeView(record, departed, incarnation)
		found.Add(run, len(record))
		return none, err
	}, args...)
	return err
}

// pageOf is a statement for the first rows of another one: as many records as fit a page of runs,
// and one more. Later rows are not read.
func pageOf(text string, more ...string) string {
	columns := strings.Join(append([]string{"record", "departed"}, more...), ", ")
	return "SELECT " + columns + ", " + incarnationOf + " FROM (SELECT *, sum(octet_length(record)) " +
		"OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS before FROM (" + text + ") AS found (" + columns +
		")) AS found WHERE before IS NULL OR before <= " + strconv.Itoa(store.MaxPage)
}

type filter struct {
	where []string
	args  []any
}

// and adds a condition, with %d as the number of its argument.
func (f *filter) and(clause string, arg any) {
	f.args = append(f.args, arg)
	f.where = append(f.where, fmt.Sprintf(clause, len(f.args)))
}

// cursor has the parts of a statement that continue a listing after a place.
type cursor struct {
	order, compare string
	// at and id are the first arguments; empty at the beginning.
	at, id string
}

func (f *filter) cursor(q store.Query) (c cursor, _ error) {
	c = cursor{order: "", compare: ">"}
	if q.Newest {
		c.order, c.compare = " DESC", "<"
	}
	if q.After != "" {
		at, err := store.ReadCursor(q.After)
		if err != nil {
			return c, err
		}
		f.args = append(f.args, at.At.UnixMicro(), at.ID)
		c.at, c.id = "$1::bigint", "$2::text"
	}
	return c, nil
}

// where is the condition on the columns that order a range, the first of which is a time; shift is
// added to the place's time, for times stored with an offset. It is empty at the beginning.
func (c cursor) where(at, id, shift string) string {
	if c.at == "" {
		return ""
	}
	return " AND (" + at + ", " + id + ") " + c.compare + " (" + c.at + shift + ", " + c.id + ")"
}

func (c cursor) by(at, id string) string {
	return " ORDER BY " + at + c.order + ", " + id + c.order
}

// runsListText is the statement that lists runs; empty if nothing can match.
func runsListText(q store.Query) (string, []any, error) {
	var f filter
	c, err := f.cursor(q)
	if err != nil || !f.columns(q) {
		return "", nil, err
	}
	f.args = append(f.args, q.Limit+1)
	return "SELECT " + view + " FROM interlude.runs r JOIN " + statesOf(q) + " s ON s.n = r.n " +
		"WHERE r.created_at IS NOT NULL" +
		f.text() + c.where("r.created_at", "r.id", "") + c.by("r.created_at", "r.id") +
		fmt.Sprintf(" LIMIT $%d", len(f.args)), f.args, nil
}

// statesOf is the table of states, or of held ones: the planner would walk in the listing's order
// past all runs that are not held.
func statesOf(q store.Query) string {
	if !q.Held {
		return "interlude.states"
	}
	return "(SELECT * FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > " + heldRange +
		" OFFSET 0)"
}

// text is the conditions, each after an AND.
func (f *filter) text() string {
	if len(f.where) == 0 {
		return ""
	}
	return " AND " + strings.Join(f.where, " AND ")
}

// columns adds a query's conditions on columns of runs, r, and states, s, and reports whether
// anything can match.
func (f *filter) columns(q store.Query) bool {
	if !storable(q.Pool) {
		return false
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
	if labels := labelTexts(q.Labels, q.ForkedFrom, q.Parent); labels != nil {
		f.and("r.labels @> $%d::text[]", labels)
	}
	return true
}
