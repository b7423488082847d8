package flow_test

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

// moments are the points of a transaction at which a host is killed.
var moments = []string{"begun", "booked", "recorded", "committed"}

// self kills the test's own process when one of its transactions reaches a moment.
type self struct {
	at            string
	number        int64 // of the transaction
	begun, booked atomic.Int64
}

func (s *self) passes(n int64, at string) {
	if n != s.number || at != s.at {
		return
	}
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// killing is a transaction in which the host is killed.
func killing[Tx any](s *self, in flow.Transaction[Tx]) flow.Transaction[Tx] {
	return func(ctx context.Context, do func(tx Tx, view any) error) error {
		n := s.begun.Add(1)
		err := in(ctx, func(tx Tx, view any) error {
			s.passes(n, "begun")
			err := do(tx, view)
			s.passes(n, "recorded")
			return err
		})
		s.passes(n, "committed")
		return err
	}
}

// steps is the number of a book's steps on each side of its question.
const steps = 3

// books is a function each of whose steps inserts a row into the host's table. Each attempt draws a
// new random word, which is in the row and is the result of the step. The table has no unique key:
// if a step had its effect twice, there would be two rows.
func books[Tx any](s *self, in flow.Transaction[Tx],
	insert func(ctx context.Context, tx Tx, key, word string) error,
) engine.Engine {
	book := func(ctx context.Context, tx Tx) (string, error) {
		word := crand.Text()
		err := insert(ctx, tx, flow.Key(ctx), word)
		s.passes(s.booked.Add(1), "booked")
		return word, err
	}
	return flow.New("books", func(c *flow.Ctx, _ string) (string, error) {
		var words []string
		for range 2 {
			for range steps {
				word, err := flow.StepIn(c, "book", killing(s, in), book, flow.Policy{Retries: 10})
				if err != nil {
					return "", err
				}
				words = append(words, word)
			}
			more := engine.Question{Kind: engine.OpenText, Prompt: "More?"}
			if _, err := flow.Ask[string](c, "more", more); err != nil {
				return "", err
			}
		}
		return strings.Join(words, " "), nil
	})
}

// books is the engine of a host with this store.
func (h host) books(ctx context.Context, s store.Store) (engine.Engine, error) {
	victim := &self{at: h.Moment, number: h.Transaction}
	switch s := s.(type) {
	case *sqlite.Store:
		db, err := openBooks(h.Store)
		return books(victim, s.Transactions(db), func(ctx context.Context, tx *sql.Tx, key, word string) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO booked (key, word) VALUES (?, ?)`, key, word)
			return err
		}), err
	case *postgres.Store:
		pool, err := pgxpool.New(ctx, h.Store)
		return books(victim, s.Transactions(pool), func(ctx context.Context, tx pgx.Tx, key, word string) error {
			_, err := tx.Exec(ctx, `INSERT INTO booked (key, word) VALUES ($1, $2)`, key, word)
			return err
		}), err
	}
	return nil, fmt.Errorf("a %T has no transactions", s)
}

// openBooks opens the host's own handle of the store's file.
func openBooks(name string) (*sql.DB, error) {
	return sql.Open("sqlite", name+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(full)")
}

// M1 J9: hosts are killed in the middle of the transactions that their steps share with the
// journal. Each step has left one row, and its result is that row's.
func TestM1StepsInTheHostsTransactionHappenOnceOnSQLite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs.db")
	opened(t.Context(), t, name) // before the file has other tables
	db, err := openBooks(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), `CREATE TABLE booked (key TEXT, word TEXT)`)
	require.NoError(t, err)
	killBooks(t, name, func() (keys, words []string) {
		rows, err := db.QueryContext(t.Context(), `SELECT key, word FROM booked`)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		for rows.Next() {
			var key, word string
			require.NoError(t, rows.Scan(&key, &word))
			keys, words = append(keys, key), append(words, word)
		}
		require.NoError(t, rows.Err())
		return keys, words
	})
}

func TestM1StepsInTheHostsTransactionHappenOnceOnPostgreSQL(t *testing.T) {
	name := pgtest.DSN(t)
	pool, err := pgxpool.New(t.Context(), name)
	require.NoError(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `CREATE TABLE booked (key text, word text)`)
	require.NoError(t, err)
	killBooks(t, name, func() (keys, words []string) {
		rows, err := pool.Query(t.Context(), `SELECT key, word FROM booked`)
		require.NoError(t, err)
		var key, word string
		_, err = pgx.ForEachRow(rows, []any{&key, &word}, func() error {
			keys, words = append(keys, key), append(words, word)
			return nil
		})
		require.NoError(t, err)
		return keys, words
	})
}

// killBooks kills one host after the other, each at a moment of an early transaction. Then it
// compares the rows with the results of the runs.
func killBooks(t *testing.T, name string, rows func() (keys, words []string)) {
	t.Helper()
	d := newDrill(t, name, time.Duration(60+5**kills)*time.Second)
	var runs []string
	for n := range *kills + 1 {
		h, last := d.host, n == *kills
		if !last {
			h.Moment, h.Transaction = moments[n%len(moments)], 1+sample.N(int64(steps))
		}
		host := d.start(h)
		for range 3 {
			id := fmt.Sprintf("book-%d", len(runs))
			runs = append(runs, id)
			submit(d.ctx, t, d.client, lifecycle.Spec{ID: id, Engine: "books", Prompt: "x"})
		}
		if last {
			d.awaitEnds(runs)
			d.kill(host)
		} else {
			d.awaitDeath(host, h.Moment)
		}
	}
	var want []string
	for _, id := range runs {
		run, err := d.client.Get(d.ctx, id)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateSucceeded, run.State, "%s: %+v", id, run.Error)
		want = append(want, strings.Fields(run.FinalText)...)
	}
	keys, words := rows()
	require.ElementsMatch(t, want, words, "each row is the result of a step, and each result a row")
	slices.Sort(keys)
	require.Len(t, slices.Compact(keys), len(runs)*2*steps, "each step has one")
	t.Logf("%d steps of %d runs, %d hosts killed", len(words), len(runs), *kills)
}
