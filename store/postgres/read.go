package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// reader is store.Reader. Each call is one statement, and so a consistent snapshot.
type reader struct {
	texts  []string
	schema string
	// beginRead begins a call: it returns the target of queries and the bounded context. done ends
	// the call.
	beginRead func(ctx context.Context) (q querier, within context.Context, done func(), _ error)
	// planner: the planner's settings precede each query; otherwise the surrounding transaction has
	// them.
	planner bool
	// customPlan has the server plan the query for its arguments.
	customPlan bool
}

func readRows[T any](ctx context.Context, r *reader, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) ([]T, error) {
	q, within, done, err := r.beginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := queryRetrying(within, q, r, text, scan, args...)
	switch {
	case err == nil:
		return all, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, store.ErrCorrupt):
		return nil, err
	}
	return nil, fmt.Errorf("postgres: read: %w", explain(err))
}

// queryRetrying executes a query, and retries it after a lost race, as at an isolation above read
// committed. It does not retry in a transaction of the host, or once a part of the answer was read.
func queryRetrying[T any](ctx context.Context, q querier, r *reader, text string,
	scan func(pgx.CollectableRow) (T, error), args ...any,
) ([]T, error) {
	for try := 0; ; try++ {
		begun := false
		all, err := queryAfter(ctx, q, r.settings(), text, func(row pgx.CollectableRow) (T, error) {
			begun = true
			return scan(row)
		}, args...)
		if !lostRace(err) || begun || !r.planner || try == maxTries {
			return all, err
		}
	}
}

var settingsText = sql(`SELECT ` + indexPlans + `, ` + nestedLoops + `, ` + showWarnings)

// customPlanText precedes a query whose best plan depends on its arguments: a rare label is found
// by its index, a common one is not. A session would soon use one plan for both.
var customPlanText = sql(`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`)

// settings is the statement before a query; empty for none.
func (r *reader) settings() string {
	switch {
	case !r.planner:
		return ""
	case r.customPlan:
		return r.texts[customPlanText]
	}
	return r.texts[settingsText]
}

// queryAfter executes a query after the statement settings, unless empty, in one exchange and
// transaction.
func queryAfter[T any](ctx context.Context, q querier, settings, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) ([]T, error) {
	if settings == "" {
		rows, err := q.Query(ctx, text, args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, scan)
	}
	b := newBatch(2)
	b.Queue(settings)
	b.Queue(text, args...)
	results := q.SendBatch(ctx, b)
	_, err := results.Exec()
	var all []T
	if err == nil {
		rows, _ := results.Query() // CollectRows returns its error too
		all, err = pgx.CollectRows(rows, scan)
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	return all, err
}

func newBatch(statements int) *pgx.Batch {
	return &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, statements)}
}

func readOne[T any](ctx context.Context, r *reader, id, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) (T, error) {
	all, err := readRows(ctx, r, text, scan, args...)
	if err == nil && len(all) == 0 {
		err = refuse.NotFound(id)
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// view is the columns of a row s of states for a reader: its record, and the departure time of the
// parking node, looked up only for parked runs. Statements that return runs add incarnationOf.
const view = `s.record, CASE WHEN s.owner IS NOT NULL AND NOT s.slot
	THEN (SELECT d.at FROM interlude.departed d WHERE d.id = s.owner) END`

func scanRun(row pgx.CollectableRow) (store.Run, error) {
	var record pgtype.DriverBytes // not copied: nothing decoded shares its memory
	var departed *int64
	var incarnation uint64
	if err := row.Scan(&record, &departed, &incarnation); err != nil {
		return store.Run{}, err
	}
	return decodeView(record, departed, incarnation)
}

func decodeView(record []byte, departed *int64, incarnation uint64) (store.Run, error) {
	run, err := store.Decode(record)
	run.Incarnation = incarnation
	run.ShowDeparture(departureTime(departed))
	return run, err
}

func departureTime(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return timeOf(*micros)
}

var (
	runText = sql(
		`SELECT ` + view + `, ` + incarnationOf + `
			FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`)
	identityText = sql(`SELECT identity FROM interlude.store`)
	specText     = sql(`SELECT spec FROM interlude.runs WHERE id = $1::text`)
	settledText  = sql(
		`SELECT t.record FROM interlude.runs r LEFT JOIN interlude.settled t ON t.run = r.n AND t.key = $2::bytea
			WHERE r.id = $1::text`)
	interactionText = sql(
		`SELECT t.record FROM interlude.runs r JOIN interlude.settled t ON t.run = r.n WHERE r.id = $1::text
			AND t.id = $2::bigint`)
	usageText = sql(`SELECT r.id, u.attempt, u.input, u.output, u.cost, u.worked FROM interlude.runs r
		LEFT JOIN interlude.usage u ON u.run = r.n WHERE r.id = $1::text ORDER BY u.attempt`)
	historyText = sql(pageOfHistory("t.id > $2::bigint", "t.id"))
	newestText  = sql(pageOfHistory("t.id < $2::bigint", "t.id DESC"))
	votedText   = sql(`SELECT s.record, (SELECT count(*) FROM interlude.voted v WHERE v.run = r.n),
			(SELECT t.record FROM interlude.voted v JOIN interlude.settled t ON t.run = v.run AND t.id = v.id
				WHERE v.run = r.n AND v.key = $2::bytea ORDER BY v.id LIMIT 1)
		FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`)
	votedAnywhereText = sql(
		`SELECT t.record FROM interlude.runs r LEFT JOIN interlude.settled t ON t.run = r.n
			AND position($2::bytea IN t.record) > 0 WHERE r.id = $1::text ORDER BY t.id`)
)

// pageOfHistory is the statement that reads a run and a page of its settled interactions, and no
// records beyond.
func pageOfHistory(after, order string) string {
	return `SELECT ` + view + `, ` + incarnationOf + `, ARRAY (SELECT p.record FROM (
			SELECT t.id, t.record,
				sum(octet_length(t.record)) OVER (ORDER BY ` + order + `) - octet_length(t.record) AS before
			FROM (SELECT t.id, t.record FROM interlude.settled t WHERE t.run = r.n AND ` + after + `
				ORDER BY ` + order + ` LIMIT $3::bigint) AS t
		) AS p WHERE p.before <= $4::bigint ORDER BY ` + strings.Replace(order, "t.", "p.", 1) + `)
		FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`
}

func (r *reader) Run(ctx context.Context, id string) (store.Run, error) {
	if !storable(id) {
		return store.Run{}, refuse.NotFound(id)
	}
	return readOne(ctx, r, id, r.texts[runText], scanRun, id)
}

func (r *reader) Identity(ctx context.Context) (string, error) {
	all, err := readRows(ctx, r, r.texts[identityText], pgx.RowTo[string])
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%w: the table store has %d rows, want one", store.ErrCorrupt, len(all))
	}
	if err != nil {
		return "", err
	}
	return all[0], nil
}

func (r *reader) Spec(ctx context.Context, id string) ([]byte, error) {
	if !storable(id) {
		return nil, refuse.NotFound(id)
	}
	return readOne(ctx, r, id, r.texts[specText], pgx.RowTo[[]byte], id)
}

func (r *reader) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	if !storable(id) {
		return interaction.Record{}, refuse.NotFound(id)
	}
	return readOne(ctx, r, id, r.texts[settledText], func(row pgx.CollectableRow) (record interaction.Record, _ error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return record, err
		}
		if body == nil {
			return record, refuse.NoReply(id)
		}
		return entry.DecodeSettled(body)
	}, id, []byte(key))
}

func (r *reader) Usage(ctx context.Context, id string) (turns []store.TurnUsage, _ error) {
	if !storable(id) {
		return nil, refuse.NotFound(id)
	}
	found, err := readRows(ctx, r, r.texts[usageText], func(row pgx.CollectableRow) (turn store.TurnUsage, _ error) {
		var attempt, input, output, cost, worked *int64 // NULL for a run without usage
		err := row.Scan(nil, &attempt, &input, &output, &cost, &worked)
		if err == nil && attempt != nil {
			turn = store.TurnUsage{Attempt: int(*attempt), Usage: usageFrom(*input, *output, *cost, *worked)}
		}
		return turn, err
	}, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, refuse.NotFound(id)
	}
	return slices.DeleteFunc(found, func(t store.TurnUsage) bool { return t.Attempt == 0 }), nil
}

func usageFrom(input, output, cost, worked int64) store.Usage {
	return store.Usage{InputTokens: input, OutputTokens: output, CostMicroUSD: cost,
		Worked: time.Duration(worked) * time.Microsecond}
}

func (r *reader) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	var found [][]byte
	var err error
	if storable(id) {
		found, err = readRows(ctx, r, r.texts[interactionText], pgx.RowTo[[]byte], id, number)
	}
	if err == nil && len(found) == 0 {
		err = refuse.NoInteraction(id, number)
	}
	if err != nil {
		return interaction.Record{}, err
	}
	return entry.DecodeSettled(found[0])
}

func (r *reader) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record,
	error) {
	type life struct {
		run     store.Run
		history []interaction.Record
	}
	if err := q.Validate(); err != nil {
		return store.Run{}, nil, err
	}
	text, after := historyText, int64(q.After)
	if q.Newest {
		text, after = newestText, cmp.Or(after, math.MaxInt64)
	}
	if !storable(id) {
		return store.Run{}, nil, refuse.NotFound(id)
	}
	l, err := readOne(ctx, r, id, r.texts[text], func(row pgx.CollectableRow) (l life, _ error) {
		var record []byte
		var departed *int64
		var incarnation uint64
		var settled [][]byte
		if err := row.Scan(&record, &departed, &incarnation, &settled); err != nil {
			return l, err
		}
		for _, body := range settled {
			one, err := entry.DecodeSettled(body)
			if err != nil {
				return l, err
			}
			l.history = append(l.history, one)
		}
		var err error
		l.run, err = decodeView(record, departed, incarnation)
		return l, err
	}, id, after, int64(q.Limit), store.MinPage)
	return l.run, l.history, err
}

// Voted implements store.Reader. Where voted lacks votes, which an earlier release wrote, it reads
// the questions that may have the key.
func (r *reader) Voted(ctx context.Context, id, key string) (found interaction.Record, _ error) {
	if !storable(id) {
		return found, refuse.NotFound(id)
	}
	var indexed int64
	var run, body []byte
	_, err := readOne(ctx, r, id, r.texts[votedText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		return none, row.Scan(&run, &indexed, &body)
	}, id, []byte(key))
	if err != nil {
		return found, err
	}
	if body != nil && key != "" {
		return entry.DecodeSettled(body)
	}
	current, err := store.Decode(run)
	switch {
	case err != nil:
		return found, err
	case indexed == int64(entry.SettledVotes(&current)):
		return found, refuse.NoReply(id)
	}
	return r.votedAnywhere(ctx, id, key)
}

func (r *reader) votedAnywhere(ctx context.Context, id, key string) (found interaction.Record, _ error) {
	has := false
	_, err := readOne(ctx, r, id, r.texts[votedAnywhereText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var body pgtype.DriverBytes
		if err := row.Scan(&body); err != nil || body == nil || has {
			return none, err
		}
		one, err := entry.DecodeSettled(body)
		if err == nil && one.Question.VoteWithKey(key) != nil {
			found, has = one, true
		}
		return none, err
	}, id, entry.VoteKey(key))
	if err == nil && !has {
		err = refuse.NoReply(id)
	}
	return found, err
}

// eventsText does not read the bodies of events beyond a page.
var eventsText = sql(`SELECT e.first, e.bodies FROM interlude.runs r LEFT JOIN LATERAL (
		SELECT first, last, bodies, sum(octet_length(bodies)) OVER (ORDER BY last) - octet_length(bodies) AS before
			FROM (
			SELECT first, last, bodies FROM interlude.events WHERE run = r.n AND last > $2::bigint
				ORDER BY last LIMIT $3::bigint
		) AS part
	) e ON e.before <= $4::bigint WHERE r.id = $1::text ORDER BY e.last`)

func (r *reader) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	if err := store.ValidateLimit(limit); err != nil {
		return nil, err
	}
	if !storable(id) {
		return nil, refuse.NotFound(id)
	}
	page := store.EventPage{After: min(after, maxSeq), Limit: limit}
	_, err := readOne(ctx, r, id, r.texts[eventsText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var first *uint64
		var bodies []byte
		err := row.Scan(&first, &bodies)
		if err == nil && first != nil {
			page.Add(*first, bodies)
		}
		return none, err
	}, id, int64(page.After), limit, store.MinPage)
	return page.Events, err
}

const maxSeq = 1<<63 - 1

var (
	dueText = sql(pageOf(`(SELECT `+view+`, NULL::bigint FROM interlude.states s WHERE s.deadline IS NOT NULL
		AND s.deadline <= $1::bigint ORDER BY s.deadline, s.id LIMIT $2::bigint)
		UNION ALL
		(SELECT `+view+`, NULL::bigint FROM interlude.states s WHERE s.delayed_until IS NOT NULL
		AND s.delayed_until > `+heldRange+` AND s.delayed_until <= $1::bigint + `+heldFrom+`
		ORDER BY s.delayed_until LIMIT $2::bigint)
		UNION ALL
		(SELECT NULL::bytea, NULL::bigint, least(
			(SELECT deadline FROM interlude.states WHERE deadline IS NOT NULL AND deadline > $1::bigint
				AND deadline < `+keptText+` ORDER BY deadline LIMIT 1),
			(SELECT delayed_until FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > $1::bigint
				AND delayed_until < `+heldRange+` ORDER BY delayed_until LIMIT 1)))`, "next") + " OR record IS NULL")
	// orphansText reads at most as many rows as there are slots.
	orphansText = sql(pageOf(`SELECT ` + view + ` FROM interlude.states s
		WHERE s.slot AND NOT EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = s.owner)
		ORDER BY s.pool, s.key, s.id LIMIT $2::bigint OFFSET $1::bigint`))
)

func (r *reader) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, _ error) {
	if err := store.ValidateLimit(limit); err != nil {
		return nil, next, err
	}
	_, err := readRows(ctx, r, r.texts[dueText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var record []byte
		var departed, at *int64
		var incarnation uint64
		if err := row.Scan(&record, &departed, &at, &incarnation); err != nil {
			return none, err
		}
		if record == nil {
			if at != nil {
				next = timeOf(*at)
			}
			return none, nil
		}
		run, err := decodeView(record, departed, incarnation)
		due = append(due, run)
		return none, err
	}, now.UnixMicro(), int64(limit))
	if err != nil {
		return nil, time.Time{}, err
	}
	return due[:min(limit, len(due))], next, nil
}

func (r *reader) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	if err := store.ValidateSkip(skip, limit); err != nil {
		return nil, err
	}
	return readRows(ctx, r, r.texts[orphansText], scanRun, int64(skip), int64(limit))
}
