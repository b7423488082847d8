package flow_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// J6 M1: on each store a fork of a function's run has the journal as of the question, also after
// its source has continued, and is pruned.
func TestJ6ForksHaveTheJournal(t *testing.T) {
	for name, newStore := range map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.New() },
		"SQLite": func(t *testing.T) store.Store {
			s, _ := opened(t.Context(), t, filepath.Join(t.TempDir(), "runs.db"))
			return s
		},
		"PostgreSQL": func(t *testing.T) store.Store {
			s, _ := opened(t.Context(), t, pgtest.DSN(t))
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { forksHaveTheJournal(t, newStore(t)) })
	}
}

func forksHaveTheJournal(t *testing.T, s store.Store) {
	t.Helper()
	var mu sync.Mutex
	var keys []string // guarded by mu; of the steps that were executed
	effect := func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, flow.Key(ctx))
		return flow.Key(ctx), nil
	}
	agent := flow.New("trip", func(c *flow.Ctx, _ string) (said string, err error) {
		for _, name := range []string{"a", "b"} {
			if _, err := flow.Step(c, name, effect); err != nil {
				return "", err
			}
			answer, err := flow.Ask[string](c, name, engine.Question{Kind: engine.OpenText, Prompt: name + "?"})
			if err != nil {
				return "", err
			}
			said += answer
		}
		return said, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lc, stop := served(ctx, t, s, agent)
	reply := func(id string, number int, text string) {
		for {
			run, err := lc.Get(ctx, id)
			require.NoError(t, err)
			if run.OpenQuestion(number) != nil {
				break
			}
			rest(ctx)
		}
		_, err := lc.Reply(ctx, id, lifecycle.Reply{ID: number, Text: text})
		require.NoError(t, err)
	}
	submit(ctx, t, lc.Client, lifecycle.Spec{ID: "source", Prompt: "x"})
	reply("source", 1, "x")
	reply("source", 2, "y")
	run, err := lc.Wait(ctx, "source")
	require.NoError(t, err)
	require.Equal(t, "xy", run.FinalText)

	stop()
	for _, number := range []int{1, 2} {
		_, err := lc.Fork(ctx, "source", lifecycle.At{ID: fmt.Sprintf("fork-%d", number), Question: number,
			Answer: lifecycle.Reply{Text: "z"}})
		require.NoError(t, err)
	}
	_, err = lc.Prune(ctx, time.Now().Add(time.Minute))
	require.NoError(t, err)
	_, err = lc.Get(ctx, "source")
	require.ErrorIs(t, err, lifecycle.ErrNotFound)
	lc, stop = served(ctx, t, s, agent)
	defer stop()
	reply("fork-1", 1, "w")
	for id, want := range map[string]string{"fork-1": "zw", "fork-2": "xz"} {
		run, err := lc.Wait(ctx, id)
		require.NoError(t, err)
		require.Equal(t, want, run.FinalText, id)
	}
	require.Equal(t, []string{"source/1/a", "source/3/b", "fork-1/3/b"}, keys)
}

// served has the agent served on the store until stop is called.
func served(ctx context.Context, t *testing.T, s store.Store, agent engine.Engine) (
	_ *lifecycle.Lifecycle, stop func()) {
	t.Helper()
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: agent, Forgiving: true,
		OnInterrupt: lifecycle.Repeat, Poll: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(lc.Close)
	ctx, cancel := context.WithCancel(ctx)
	end := make(chan error, 1)
	go func() { end <- lc.Serve(ctx) }()
	return lc, func() {
		cancel()
		require.NoError(t, <-end)
	}
}
