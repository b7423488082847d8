package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// reader is store.Reader. Each call is one statement, and so of one moment (I10).
type reader struct {
	texts []string
	// on begins a call: where to ask, and within what bounds. Done ends it.
	on     func(ctx context.Context) (q querier, within context.Context, done func(), _ error)
	schema string
	// steady says that the planner is told what steady tells it, for each question.
	steady bool
	// fresh says that it plans a question for its arguments, and does not use a plan that was made
	// for any.
	fresh bool
}

// collect asks one question.
func collectRows[T any](ctx context.Context, r *reader, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) ([]T, error) {
	q, within, done, err := r.on(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := asked(within, q, r, text, scan, args...)
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

// asked asks once more what lost against another transaction, as a statement can where the default
// isolation is higher than read committed, unless it is in a transaction of the host's own, or part
// of the answer was there already.
func asked[T any](ctx context.Context, q querier, r *reader, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) ([]T, error) {
	for try := 0; ; try++ {
		begun := false
		all, err := ask(ctx, q, r.steadied(), text, func(row pgx.CollectableRow) (T, error) {
			begun = true
			return scan(row)
		}, args...)
		if !again(err) || begun || !r.steady || try == maxTries {
			return all, err
		}
	}
}

// steadyText goes before a question, in the transaction that the two are.
var steadyText = sql(`SELECT ` + steady + `, ` + nested + `, ` + heard)

// freshText goes before a question whose plan depends on what is asked for: a rare label is found
// by its index, a common one is not. A session that has asked a few times would use one plan for
// both from then on.
var freshText = sql(`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`)

func (r *reader) steadied() string {
	switch {
	case !r.steady: // the settings of the transaction are the host's
		return ""
	case r.fresh:
		return r.texts[freshText]
	}
	return r.texts[steadyText]
}

// ask sends a question, and before it, in the same exchange, another statement if there is one.
func ask[T any](ctx context.Context, q querier, before, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) ([]T, error) {
	if before == "" {
		rows, err := q.Query(ctx, text, args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, scan)
	}
	b := &pgx.Batch{}
	b.Queue(before)
	b.Queue(text, args...)
	results := q.SendBatch(ctx, b)
	_, err := results.Exec()
	var all []T
	if err == nil {
		rows, _ := results.Query() // CollectRows tells its error too
		all, err = pgx.CollectRows(rows, scan)
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	return all, err
}

// one asks for one row of a run.
func one[T any](ctx context.Context, r *reader, id, text string, scan func(pgx.CollectableRow) (T, error),
	args ...any) (T, error) {
	all, err := collectRows(ctx, r, text, scan, args...)
	if err == nil && len(all) == 0 {
		err = unknown(id)
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

func scanRun(row pgx.CollectableRow) (store.Run, error) {
	var record []byte
	if err := row.Scan(&record); err != nil {
		return store.Run{}, err
	}
	return store.Decode(record)
}

func readRecord(body []byte) (r interaction.Record, _ error) {
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%w: settled interaction: %w", store.ErrCorrupt, err)
	}
	return r, nil
}

var (
	runText = sql(
		`SELECT s.record FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`)
	identityText = sql(`SELECT identity FROM interlude.store`)
	specText     = sql(`SELECT spec FROM interlude.runs WHERE id = $1::text`)
	settledText  = sql(
		`SELECT t.record FROM interlude.runs r LEFT JOIN interlude.settled t ON t.run = r.n AND t.key = $2::bytea
			WHERE r.id = $1::text`)
	interactionText = sql(
		`SELECT t.record FROM interlude.runs r JOIN interlude.settled t ON t.run = r.n WHERE r.id = $1::text
			AND t.id = $2::bigint`)
	historyText = sql(
		`SELECT s.record, ARRAY (SELECT t.record FROM interlude.settled t WHERE t.run = r.n ORDER BY t.id)
		FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`)
)

// Run implements store.Reader.
func (r *reader) Run(ctx context.Context, id string) (store.Run, error) {
	if !storable(id) {
		return store.Run{}, unknown(id)
	}
	return one(ctx, r, id, r.texts[runText], func(row pgx.CollectableRow) (store.Run, error) {
		var record []byte
		if err := row.Scan(&record); err != nil {
			return store.Run{}, err
		}
		return store.Decode(record)
	}, id)
}

// Identity implements store.Identified.
func (r *reader) Identity(ctx context.Context) (string, error) {
	all, err := collectRows(ctx, r, r.texts[identityText], pgx.RowTo[string])
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%w: the table store has %d rows, want one", store.ErrCorrupt, len(all))
	}
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Spec implements store.Reader.
func (r *reader) Spec(ctx context.Context, id string) ([]byte, error) {
	if !storable(id) {
		return nil, unknown(id)
	}
	return one(ctx, r, id, r.texts[specText], pgx.RowTo[[]byte], id)
}

// Settled implements store.Reader.
func (r *reader) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	if !storable(id) {
		return interaction.Record{}, unknown(id)
	}
	return one(ctx, r, id, r.texts[settledText], func(row pgx.CollectableRow) (record interaction.Record, _ error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return record, err
		}
		if body == nil {
			return record, fmt.Errorf("%w: no reply of run %s has the key", store.ErrNotFound, id)
		}
		return readRecord(body)
	}, id, []byte(key))
}

// Interaction implements store.InteractionReader.
func (r *reader) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	var found [][]byte
	var err error
	if storable(id) {
		found, err = collectRows(ctx, r, r.texts[interactionText], pgx.RowTo[[]byte], id, number)
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: run %.128s has settled no interaction %d", store.ErrNotFound, id, number)
	}
	if err != nil {
		return interaction.Record{}, err
	}
	return readRecord(found[0])
}

// History implements store.Reader.
func (r *reader) History(ctx context.Context, id string) (store.Run, []interaction.Record, error) {
	type life struct {
		run     store.Run
		history []interaction.Record
	}
	if !storable(id) {
		return store.Run{}, nil, unknown(id)
	}
	l, err := one(ctx, r, id, r.texts[historyText], func(row pgx.CollectableRow) (l life, _ error) {
		var record []byte
		var settled [][]byte
		if err := row.Scan(&record, &settled); err != nil {
			return l, err
		}
		for _, body := range settled {
			one, err := readRecord(body)
			if err != nil {
				return l, err
			}
			l.history = append(l.history, one)
		}
		var err error
		l.run, err = store.Decode(record)
		return l, err
	}, id)
	return l.run, l.history, err
}
