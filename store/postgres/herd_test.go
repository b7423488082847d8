package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres"
)

// TestClaimsDoNotGrowWithNodes: R4, a turn takes the lock of its pool about once, however many nodes
// there are. The nodes do not poll, so that hints cause every claim.
func TestClaimsDoNotGrowWithNodes(t *testing.T) {
	const nodes, runs = 6, 12
	w, _ := newWorld(t, postgres.Options{})
	stores, served := make([]*postgres.Store, nodes), make([]*lifecycle.Lifecycle, nodes)
	for i := range served {
		stores[i] = w.open(postgres.Options{}, "pool_max_conns=4")
		served[i] = w.serve(stores[i], time.Hour)
	}
	front, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: w.open(postgres.Options{})})
	require.NoError(t, err)
	defer front.Close()
	locking := func() (n uint64) {
		for _, s := range stores {
			n += s.Counters().Claims
		}
		return n
	}
	trip := func(by *lifecycle.Client) {
		run, err := by.Submit(t.Context(), lifecycle.Spec{Prompt: "x"})
		require.NoError(t, err)
		for e, err := range by.Events(t.Context(), run.ID, 0) {
			require.NoError(t, err)
			if e.Type == "user.input.required" {
				_, err = by.Reply(t.Context(), run.ID, interaction.Reply{ID: 1, Text: "yes"})
				require.NoError(t, err)
			}
		}
		run, err = by.Wait(t.Context(), run.ID)
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State)
	}
	trip(served[0].Client) // every listener is there
	before := locking()
	for i := range runs {
		trip(served[i%nodes].Client)
	}
	require.LessOrEqual(t, locking()-before, uint64(2*runs*3/2), "the process that commits work claims it")
	before = locking()
	for range runs {
		trip(front)
	}
	// The nodes look one by one; on a busy machine the next one may look before the first has claimed.
	require.Less(t, locking()-before, uint64(2*runs*nodes/2), "few nodes claim what a front end commits")
}
