package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// serving runs a node until the test ends.
func serving(t testing.TB, config lifecycle.Config) *lifecycle.Lifecycle {
	t.Helper()
	lc, err := lifecycle.New(config)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(t.Context()) }()
	t.Cleanup(func() { // the context has ended
		require.NoError(t, <-served)
		lc.Close()
	})
	return lc
}

// serve runs a node on the store until the test ends.
func (w *world) serve(s *postgres.Store, poll time.Duration) *lifecycle.Lifecycle {
	w.Helper()
	return serving(w.TB, lifecycle.Config{Store: s, Engine: shipper, Poll: poll, Logger: slog.New(slog.DiscardHandler)})
}

// asked follows a run, until it asks.
func (w *world) asked(c *lifecycle.Client, id string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	for e, err := range c.Events(ctx, id, 0) {
		require.NoError(w, err)
		if e.Type == fcmp.TypeInputRequired {
			return
		}
	}
	require.FailNow(w, id+" asks nothing")
}

// C8: a host submits, replies and cancels on one node, in transactions with its own rows, and
// another node executes the runs after the commit, and never rolled-back ones. With notifications
// no node polls (the interval is an hour); without them polling is enough.
func TestHostsTransactionsOnTwoNodes(t *testing.T) {
	for name, c := range map[string]struct {
		o    postgres.Options
		poll time.Duration
	}{
		"woken by notifications": {postgres.Options{}, time.Hour},
		"by polling alone":       {postgres.Options{NoNotify: true, NoListen: true}, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := newWorld(t, c.o)
			b := w.open(c.o)
			w.orders()
			if !c.o.NoListen {
				w.hearsOf(a, hints(t, b))
				w.hearsOf(b, hints(t, a))
			}
			w.serve(b, c.poll)
			front, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: a, Poll: c.poll})
			require.NoError(t, err)
			defer front.Close()

			pool := w.hostPool()

			// in does something in a transaction together with an order, and commits or rolls back.
			in := func(commit bool, do func(c *lifecycle.Client) error) {
				t.Helper()
				name, rollBack := fmt.Sprintf("order-%d", time.Now().UnixNano()), errors.New("roll back")
				err := a.Transact(t.Context(), pool, func(tx pgx.Tx, in store.Store) error {
					w.order(tx, name)
					require.NoError(t, do(front.On(in)))
					if !commit {
						return rollBack
					}
					return nil
				})
				if !commit {
					require.ErrorIs(t, err, rollBack)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, commit, w.ordered(name))
			}
			submit := func(id string) func(*lifecycle.Client) error {
				return func(c *lifecycle.Client) error {
					first, err := c.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "x"})
					if err != nil {
						return err
					}
					again, err := c.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "x"})
					require.Equal(t, first, again, "the same submission, in the same transaction")
					return err
				}
			}
			in(false, submit("never"))
			in(true, submit("answered"))
			in(true, submit("canceled"))
			w.asked(front, "answered")
			w.asked(front, "canceled")
			_, err = front.Get(t.Context(), "never")
			require.ErrorIs(t, err, lifecycle.ErrNotFound)

			reply := func(c *lifecycle.Client) error {
				receipt, err := c.Reply(t.Context(), "answered", interaction.Reply{ID: 1, Text: "yes", Key: "key"})
				require.False(t, receipt.Replayed)
				return err
			}
			stop := func(c *lifecycle.Client) error { return c.Cancel(t.Context(), "canceled", "not needed") }
			in(false, reply)
			in(false, stop)
			for _, id := range []string{"answered", "canceled"} {
				run, err := front.Get(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, fsm.StateWaitingUser, run.State)
			}
			in(true, reply)
			in(true, stop)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			answered, err := front.Wait(ctx, "answered")
			require.NoError(t, err)
			require.Equal(t, "shipped", answered.FinalText)
			canceled, err := front.Wait(ctx, "canceled")
			require.NoError(t, err)
			require.Equal(t, fsm.StateCanceled, canceled.State)
			events := 0
			for e, err := range front.Events(ctx, "answered", 0) {
				require.NoError(t, err)
				events++
				require.EqualValues(t, events, e.Seq)
			}
			require.EqualValues(t, answered.Seq, events)
		})
	}
}
