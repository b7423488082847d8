package eino_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/sqlite"
)

// shelf is a checkpoint store as a host of plain Eino would write it.
type shelf struct{ kept sync.Map }

func (s *shelf) Get(_ context.Context, id string) ([]byte, bool, error) {
	body, found := s.kept.Load(id)
	if !found {
		return nil, false, nil
	}
	return body.([]byte), true, nil
}

func (s *shelf) Set(_ context.Context, id string, body []byte) error {
	s.kept.Store(id, body)
	return nil
}

// What the engine is for: Eino by itself resumes a checkpoint as often as it is asked to. Two
// people who answer at one time are two payments.
func TestEinoAloneResumesACheckpointTwice(t *testing.T) {
	var shop till
	g, err := paying(t, &shop).Compile(t.Context(), compose.WithCheckPointStore(&shelf{}))
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), "5 EUR", compose.WithCheckPointID("1"))
	info, interrupted := compose.ExtractInterruptInfo(err)
	require.True(t, interrupted)

	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			ctx := compose.ResumeWithData(t.Context(), info.InterruptContexts[0].ID, "yes")
			_, _ = g.Invoke(ctx, "", compose.WithCheckPointID("1"))
		})
	}
	both.Wait()
	require.EqualValues(t, 2, shop.paid.Load())
}

// stores are those that a run is parked in; opening one again finds what was stored.
var stores = []struct {
	name string
	open func(t *testing.T) func() store.Store
}{
	{"memory", func(*testing.T) func() store.Store {
		st := memory.New()
		return func() store.Store { return st }
	}},
	{"sqlite", func(t *testing.T) func() store.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "runs.db")
		return func() store.Store {
			st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, st.Close()) })
			return st
		}
	}},
}

// engines are ways to pay; each makes one anew, as a host that starts does.
var engines = []struct {
	name string
	make func(t *testing.T, shop *till) engine.Engine
}{
	{"graph", func(t *testing.T, shop *till) engine.Engine {
		t.Helper()
		e, err := eino.Compile(t.Context(), paying(t, shop), eino.GraphConfig[string, string]{
			Input: func(context.Context, eino.Start) (string, error) { return "5 EUR", nil },
		})
		require.NoError(t, err)
		return e
	}},
	{"agent", func(t *testing.T, shop *till) engine.Engine {
		t.Helper()
		e, err := eino.NewAgent(newClerk(shop, "5 EUR"), eino.Config{})
		require.NoError(t, err)
		return e
	}},
}

// host is one process that executes runs: a store, an engine, folders.
type host struct {
	*lifecycle.Lifecycle
	stop func()
}

func newHost(t *testing.T, st store.Store, e engine.Engine, dir string) *host {
	t.Helper()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: st, Engine: e, Dir: dir, Poll: 10 * time.Millisecond, Grace: -1, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	h := &host{Lifecycle: lc, stop: func() {}}
	t.Cleanup(func() { h.stop(); lc.Close() })
	return h
}

// serve executes runs until stop is called.
func (h *host) serve(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-served)
	})
}

// parked waits for the run's next question.
func (h *host) parked(t *testing.T, id string) interaction.Question {
	t.Helper()
	for ev, err := range h.Events(t.Context(), id, 0) {
		require.NoError(t, err)
		if ev.Type != fcmp.TypeInputRequired {
			continue
		}
		q, err := h.Pending(t.Context(), id)
		require.NoError(t, err)
		if q != nil {
			return *q
		}
	}
	t.Fatal("the run ended and asked nothing")
	return interaction.Question{}
}

// C5, C8, I1: of two people who answer at one time one is accepted, and the tool runs once.
// I9: the same when the host dies between the reply and the turn that it leads to.
func TestOfTwoRepliesOneIsAcceptedAndPaid(t *testing.T) {
	for _, s := range stores {
		for _, e := range engines {
			t.Run(s.name+" "+e.name, func(t *testing.T) {
				var shop till
				open, dir := s.open(t), t.TempDir()
				first := newHost(t, open(), e.make(t, &shop), dir)
				first.serve(t)
				run, err := first.Submit(t.Context(), lifecycle.Spec{Prompt: "Pay 5 EUR."})
				require.NoError(t, err)
				q := first.parked(t, run.ID)
				require.Equal(t, "Pay 5 EUR?", q.Prompt)
				require.Equal(t, interaction.ChooseOne, q.Kind)
				require.Len(t, q.Options, 2)
				first.stop() // before the reply, so that the turn cannot begin before the host is gone

				answered := make([]error, 2)
				var both sync.WaitGroup
				for i := range answered {
					both.Go(func() {
						_, answered[i] = first.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes",
							Actor: lifecycle.Actor{ID: string(rune('a' + i))}})
					})
				}
				both.Wait()
				if answered[0] != nil {
					answered[0], answered[1] = answered[1], answered[0]
				}
				require.NoError(t, answered[0])
				require.ErrorIs(t, answered[1], lifecycle.ErrSettled)
				require.Zero(t, shop.paid.Load())

				second := newHost(t, open(), e.make(t, &shop), dir)
				second.serve(t)
				ended, err := second.Wait(t.Context(), run.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateSucceeded, ended.State, "%+v", ended.Error)
				require.Equal(t, 2, ended.Attempt)
				require.EqualValues(t, 1, shop.paid.Load())
			})
		}
	}
}
