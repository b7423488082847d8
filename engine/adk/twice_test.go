package adk_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/sqlite"
)

// What the engine is for: ADK by itself takes a confirmation as often as it comes. Two people who
// answer at one time are two payments.
func TestADKAloneAcceptsAConfirmationTwice(t *testing.T) {
	var shop till
	root, err := newClerk(&shop)(t.Context())
	require.NoError(t, err)
	r, err := runner.NewInMemory("shop", root)
	require.NoError(t, err)
	wanted := ""
	for ev, err := range r.Run(t.Context(), "ada", "1", genai.NewContentFromText("pay 5EUR", genai.RoleUser),
		agent.RunConfig{}) {
		require.NoError(t, err)
		if len(ev.LongRunningToolIDs) > 0 {
			wanted = ev.LongRunningToolIDs[0]
		}
	}
	require.NotEmpty(t, wanted)

	yes := func() *genai.Content {
		c := genai.NewContentFromFunctionResponse(toolconfirmation.FunctionCallName, map[string]any{"confirmed": true},
			genai.RoleUser)
		c.Parts[0].FunctionResponse.ID = wanted
		return c
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for _, err := range r.Run(t.Context(), "ada", "1", yes(), agent.RunConfig{}) {
				if err != nil {
					return
				}
			}
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
	{"agent", func(t *testing.T, shop *till) engine.Engine {
		t.Helper()
		e, err := adk.New(newClerk(shop), adk.Config{})
		require.NoError(t, err)
		return e
	}},
	{"workflow", func(t *testing.T, shop *till) engine.Engine {
		t.Helper()
		ask := requesting(session.RequestInput{Message: "Pay 5EUR?"})
		e, err := adk.New(newOffice(shop, ask), adk.Config{Ends: adk.EndsRun})
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
				run, err := first.Submit(t.Context(), lifecycle.Spec{Prompt: "pay 5EUR"})
				require.NoError(t, err)
				q := first.parked(t, run.ID)
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
