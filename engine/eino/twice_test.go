package eino_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/lifecycle/effecttest"
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

// The reason for the engine: Eino itself resumes a checkpoint repeatedly. Two people who answer
// concurrently cause two payments.
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

// stores has functions that open the same stored data again.
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

// engines are ways to pay; each starting host makes its own.
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

// C5 C8 I1 I9 J6 N11: with concurrent answers and any failure of the host, the tool runs once per
// accepted answer.
func TestEachAcceptedAnswerIsPaidOnce(t *testing.T) {
	for _, s := range stores {
		for _, e := range engines {
			t.Run(s.name+" "+e.name, func(t *testing.T) {
				effecttest.Run(t, effecttest.Harness{Open: s.open, Prompt: "Pay 5 EUR.",
					Agent: func(t *testing.T) (func() engine.Engine, func() int) {
						t.Helper()
						var shop till
						newEngine := func() engine.Engine { return e.make(t, &shop) }
						return newEngine, func() int { return int(shop.paid.Load()) }
					}})
			})
		}
	}
}
