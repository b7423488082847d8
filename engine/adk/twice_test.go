package adk_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/lifecycle/effecttest"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/sqlite"
)

// The reason for the engine: ADK itself accepts every confirmation. Two people who answer
// concurrently cause two payments.
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

// engines are ways to pay; each host makes its own.
var engines = []struct {
	name string
	make func(t *testing.T, shop *till) func() engine.Engine
}{
	{"agent", func(t *testing.T, shop *till) func() engine.Engine {
		t.Helper()
		return making(t, newClerk(shop), adk.Config{})
	}},
	{"agent with the host's sessions", func(t *testing.T, shop *till) func() engine.Engine {
		t.Helper()
		return making(t, newClerk(shop), adk.Config{Sessions: session.InMemoryService()})
	}},
	{"workflow", func(t *testing.T, shop *till) func() engine.Engine {
		t.Helper()
		ask := requesting(session.RequestInput{Message: "Pay 5EUR?"})
		return making(t, newOffice(shop, ask), adk.Config{Ends: adk.EndsRun})
	}},
}

func making(t *testing.T, newAgent func(context.Context) (agent.Agent, error), cfg adk.Config) func() engine.Engine {
	t.Helper()
	return func() engine.Engine {
		e, err := adk.New(newAgent, cfg)
		require.NoError(t, err)
		return e
	}
}

// C5 C8 I1 I9 J6 N11: with concurrent answers and any failure of the host, the tool runs once per
// accepted answer.
func TestEachAcceptedAnswerIsPaidOnce(t *testing.T) {
	for _, s := range stores {
		for _, e := range engines {
			t.Run(s.name+" "+e.name, func(t *testing.T) {
				effecttest.Run(t, effecttest.Harness{Open: s.open, Prompt: "pay 5EUR", Always: e.name == "workflow",
					Agent: func(t *testing.T) (func() engine.Engine, func() int) {
						t.Helper()
						var shop till
						return e.make(t, &shop), func() int { return int(shop.paid.Load()) }
					}})
			})
		}
	}
}
