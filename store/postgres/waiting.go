package postgres

import (
	"context"
	"fmt"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/asked"
)

func (r *reader) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	q, err := q.Normal()
	if err != nil {
		return store.Page{}, err
	}
	text, args, err := waitingText(q)
	if err != nil || text == "" {
		return store.Page{}, err
	}
	searched := len(q.Labels) > 0 || q.ForkedFrom != "" || q.Parent != "" || !q.DueBefore.IsZero()
	found := &store.Found{Limit: q.Limit}
	if err := r.list(ctx, found, searched, text, args); err != nil {
		return store.Page{}, err
	}
	return q.NewPage(found)
}

// waitingText returns the statement that lists waiting runs; empty if nothing can match. It takes
// the first rows of each possible range, in its index's order, and of these the first.
func waitingText(q store.WaitingQuery) (string, []any, error) {
	var f filter
	c, err := f.cursor(q.Query)
	if err != nil || !f.columns(q.Query) {
		return "", nil, err
	}
	if !q.DueBefore.IsZero() {
		f.and("s.deadline IS NOT NULL AND s.deadline < $%d::bigint", q.DueBefore.UnixMicro())
	}
	f.args = append(f.args, q.Limit+1)
	limit := fmt.Sprintf(" LIMIT $%d::bigint", len(f.args))
	if q.Held { // few, and sorted
		since := askedSince("s.asked_at")
		return "SELECT " + view + " FROM interlude.runs r JOIN " + statesOf(q.Query) + " s ON s.n = r.n " +
				"WHERE s.asked_at IS NOT NULL" + f.text() + c.where("("+since+")", "s.id", "") + c.by(since, "s.id") +
				limit,
			f.args, nil
	}
	runs := ""
	if len(q.Labels) > 0 || q.ForkedFrom != "" || q.Parent != "" {
		runs = " JOIN interlude.runs r ON r.n = s.n"
	}
	anyone := "SELECT s.n, s.asked_at AS since, s.id FROM interlude.states s" + runs +
		" WHERE s.asked_at IS NOT NULL AND s.asked_at < " + addressed + f.text() +
		c.where("s.asked_at", "s.id", "") + c.by("s.asked_at", "s.id") + limit
	others := "SELECT s.n, s.asked_at - " + addressed + ", s.id FROM interlude.states s" + runs +
		" WHERE s.asked_at IS NOT NULL AND s.asked_at >= " + addressed + f.text() +
		c.where("s.asked_at", "s.id", " + "+addressed) + c.by("s.asked_at", "s.id") + limit
	if q.For != nil {
		f.args = append(f.args, bytesArray(asked.Of(q.For)))
		// a row left by an earlier question matches nothing
		others = "SELECT p.* FROM unnest($" + fmt.Sprint(len(f.args)) + "::bytea[]) AS w (principal) " +
			"CROSS JOIN LATERAL (" +
			"SELECT s.n, a.since, s.id FROM interlude.asked a JOIN interlude.states s ON s.n = a.run" + runs +
			" WHERE a.principal = w.principal AND s.asked_at IN (a.since, a.since + " + addressed + ")" + f.text() +
			c.where("a.since", "a.run_id", "") + c.by("a.since", "a.run_id") + limit + ") p"
	}
	return "SELECT " + view + " FROM (SELECT * FROM ((" + anyone + ") UNION (" + others + ")) AS u" +
			c.by("u.since", "u.id") + limit + ") AS w JOIN interlude.states s ON s.n = w.n" + c.by("w.since", "w.id"),
		f.args, nil
}

// askedColumns are updateTexts' arguments for the audience index: the runs to update, and their new
// rows.
type askedColumns struct {
	changed    []int64
	run, since []int64
	principal  [][]byte
	id         []string
}

func (a *askedColumns) add(p *pendingCommit) {
	if !asked.Changes(&p.Commit) {
		return
	}
	a.changed = append(a.changed, p.row)
	for _, principal := range asked.Principals(&p.Run) {
		a.run, a.since = append(a.run, p.row), append(a.since, p.Run.Open[0].AskedAt.UnixMicro())
		a.principal, a.id = append(a.principal, []byte(principal)), append(a.id, p.Run.ID)
	}
}

// askedText are the parts of a statement that update the index. first is the number of its first of
// five arguments.
func askedText(first int) string {
	rows := fmt.Sprintf("unnest($%d::bigint[], $%d::bigint[], $%d::bytea[], $%d::text[])", first+1, first+2, first+3,
		first+4) + " AS k (run, since, principal, run_id)"
	return `, gone AS (
			DELETE FROM interlude.asked a USING state
				WHERE a.run = state.n AND state.n = ANY ($` + fmt.Sprint(first) + `::bigint[])
				AND NOT EXISTS (SELECT FROM ` + rows + `
					WHERE k.run = a.run AND k.principal = a.principal AND k.since = a.since)
		), asked AS (
			INSERT INTO interlude.asked (principal, since, run_id, run) SELECT k.principal, k.since, k.run_id, k.run
				FROM ` + rows + ` JOIN state ON state.n = k.run ON CONFLICT DO NOTHING
		)`
}
