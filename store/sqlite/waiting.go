package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/asked"
	"github.com/interlude-go/interlude/store/internal/entry"
)

func (s *Store) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	var page store.Page
	rows := s.unfilled.rows() // before the snapshot, which has no more of them
	err = s.readOn(ctx, s.listers, func(c *conn) error {
		return c.snapshot(func() error {
			page, err = c.waiting(ctx, q, rows)
			return err
		})
	})
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

// waitRange is a part of the waiting runs, in the order of an index.
type waitRange struct {
	from  string         // the tables
	at    string         // the column with the time of the run's questions
	shift int64          // added to the times in that column
	id    string         // the column of the run's id
	where []string       // the conditions
	args  []driver.Value // of the conditions
}

// asksAnyone are the runs with a question for everybody, asksSome the others: see entry.Addressed.
var (
	asksAnyone = waitRange{from: "runs", at: "asked_at", id: "id", where: []string{"asked_at < ?"},
		args: []driver.Value{entry.Addressed}}
	asksSome = waitRange{from: "runs", at: "asked_at", id: "id", shift: entry.Addressed,
		where: []string{"asked_at >= ?"}, args: []driver.Value{entry.Addressed}}
)

// asks are the runs that ask this principal. The second condition excludes rows left by earlier
// questions.
func asks(principal string) waitRange {
	return waitRange{from: "asked CROSS JOIN runs ON runs.n = asked.run", at: "since", id: "run_id",
		where: []string{"principal = ?", "(asked_at = since + ? OR asked_at = since)"},
		args:  []driver.Value{principal, entry.Addressed}}
}

// since is the time of a run's questions, in either range of asked_at. It sorts a range of few
// runs.
var since = fmt.Sprintf("CASE WHEN asked_at >= %[1]d THEN asked_at - %[1]d ELSE asked_at END", entry.Addressed)

// waitRanges returns the ranges of all possible matches. For a rare label, held runs, or runs due
// soon, one range of few runs is enough.
func (c *conn) waitRanges(q store.WaitingQuery, rarest int64, having int) ([]waitRange, error) {
	few := waitRange{at: since, id: "id", where: []string{"asked_at IS NOT NULL"}}
	if having <= fewRuns {
		few.from = "labels AS l CROSS JOIN runs ON runs.n = l.run"
		few.where, few.args = append(few.where, "l.label = ?"), []driver.Value{rarest}
		return []waitRange{few}, nil
	}
	if q.Held {
		few.from = "runs INDEXED BY runs_delayed"
		return []waitRange{few}, nil
	}
	if !q.DueBefore.IsZero() {
		r, err := c.one(`SELECT count(*) FROM (SELECT 1 FROM runs WHERE deadline IS NOT NULL AND deadline < ? LIMIT ? + 0)`,
			q.DueBefore.UnixMicro(), int64(fewRuns+1))
		if err != nil {
			return nil, err
		}
		if r.int(0) <= fewRuns {
			few.from = "runs INDEXED BY runs_deadline"
			return []waitRange{few}, nil
		}
	}
	if q.For == nil {
		return []waitRange{asksAnyone, asksSome}, nil
	}
	ranges := []waitRange{asksAnyone}
	for _, principal := range asked.Of(q.For) {
		ranges = append(ranges, asks(principal))
	}
	return ranges, nil
}

type waitPlace struct {
	at  int64
	id  string
	row int64
}

// waiting returns a page of the waiting runs. It finds the places of the first runs of each range,
// and loads the first of all. A run with only the same hash of a label is left out.
func (c *conn) waiting(ctx context.Context, q store.WaitingQuery, unindexed rowRange) (page store.Page, _ error) {
	labels := hashLabels(q.Labels, q.ForkedFrom, q.Parent)
	rarest, having, err := c.rarest(unindexed.narrowing(q.Query, labels))
	if err != nil || having == 0 {
		return page, err
	}
	ranges, err := c.waitRanges(q, rarest, having)
	if err != nil {
		return page, err
	}
	var places []waitPlace
	for _, part := range ranges {
		if places, err = c.appendPlaces(ctx, places, part, q, labels, unindexed); err != nil {
			return page, err
		}
	}
	slices.SortFunc(places, func(a, b waitPlace) int {
		if q.Newest {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id))
	})
	places = slices.Compact(places) // a run may ask several principals of one person
	found := &store.Found{Limit: q.Limit}
	for i, more := 0, true; more && i < len(places); i++ {
		var run store.Run
		r, err := c.one(`SELECT `+view+` FROM runs WHERE n = ?`, places[i].row)
		if err == nil {
			err = r.view(0, &run)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return page, err
		}
		more = found.Add(run, len(r.blob(0)))
	}
	return q.NewPage(found)
}

// appendPlaces appends the places of a range's first runs, one more than the limit.
func (c *conn) appendPlaces(ctx context.Context, places []waitPlace, part waitRange, q store.WaitingQuery,
	labels []int64, unindexed rowRange) ([]waitPlace, error) {
	f, err := filterOf(q.Query, part.at, part.id, part.shift)
	if err != nil {
		return nil, err
	}
	f.and(strings.Join(part.where, " AND "), part.args...)
	if !q.DueBefore.IsZero() {
		f.and("deadline IS NOT NULL AND deadline < ?", q.DueBefore.UnixMicro())
	}
	f.hasLabels(labels, unindexed, func(int64) bool { return false })
	text := "SELECT " + part.at + ", runs.id, runs.n FROM " + part.from + " WHERE " + f.text() +
		orderOf(q.Query, part.at, part.id) + limited
	err = c.each(ctx, func(r row) error {
		places = append(places, waitPlace{r.int(0) - part.shift, r.text(1), r.int(2)})
		return nil
	}, text, append(f.args, int64(q.Limit+1))...)
	return places, err
}

// updateAsked deletes and inserts the run's rows of the table asked. prev is the replaced record;
// nil for a new run.
func (w *writer) updateAsked(row int64, prev *store.Run, e *entry.Entry) error {
	if !asked.Changes(&e.Commit) {
		return nil
	}
	after := asked.Principals(&e.Run)
	if prev != nil && len(prev.Open) > 0 {
		for _, principal := range asked.Principals(prev) {
			if slices.Contains(after, principal) {
				continue
			}
			if _, err := w.exec(`DELETE FROM asked WHERE principal = ? AND since = ? AND run_id = ?`, principal,
				prev.Open[0].AskedAt.UnixMicro(), prev.ID); err != nil {
				return err
			}
		}
	}
	for _, principal := range after {
		if _, err := w.exec(`INSERT OR IGNORE INTO asked (principal, since, run_id, run) VALUES (?, ?, ?, ?)`, principal,
			e.Run.Open[0].AskedAt.UnixMicro(), e.Run.ID, row); err != nil {
			return err
		}
	}
	return nil
}
