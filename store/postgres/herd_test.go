package postgres_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// farApart is a clock for nodes that share announced runs. Its short timers take a hundred times as long,
// so that a node has claimed a run before the next node looks, even on a busy machine. Its long timers
// are shorter: in a recovery pass a node learns how many nodes there are.
type farApart struct{ lifecycle.SystemClock }

func (c farApart) Timer(d time.Duration) (<-chan time.Time, func()) {
	if d < time.Second {
		return c.SystemClock.Timer(100 * d)
	}
	return c.SystemClock.Timer(d / 10)
}

// TestClaimsDoNotGrowWithNodes: R4, a turn takes the lock of its pool about once, however many nodes
// there are. The nodes do not poll, so that hints cause every claim.
func TestClaimsDoNotGrowWithNodes(t *testing.T) {
	const nodes, runs = 6, 12
	w, s := newWorld(t, postgres.Options{})
	require.NoError(t, second(s.Expire(t.Context(), noon, "n"))) // it would have its turn, and look for nothing
	stores, served := make([]*postgres.Store, nodes), make([]*lifecycle.Lifecycle, nodes)
	for i := range served {
		stores[i] = w.open(postgres.Options{}, "pool_max_conns=4")
		served[i] = serving(t, lifecycle.Config{Store: stores[i], Engine: shipper, Poll: time.Hour, Clock: farApart{},
			Logger: slog.New(slog.DiscardHandler)})
	}
	front, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: w.open(postgres.Options{})})
	require.NoError(t, err)
	defer front.Close()
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
	claims := func(by func(i int) *lifecycle.Client) (n uint64) {
		for _, s := range stores {
			n -= s.Counters().Claims
		}
		for i := range runs {
			trip(by(i))
		}
		for _, s := range stores {
			n += s.Counters().Claims
		}
		return n
	}
	trip(served[0].Client) // every listener is there
	require.LessOrEqual(t, claims(func(i int) *lifecycle.Client { return served[i%nodes].Client }), uint64(2*runs*3/2),
		"the process that commits work claims it")
	for begun := time.Now(); claims(func(int) *lifecycle.Client { return front }) > 2*runs*3/2; {
		require.Less(t, time.Since(begun), patience, "one node claims what a front end commits")
	}
}

// R4: a claim that leaves the run that it found to other nodes says whether a ready run waits for a
// slot: only then does the node react to slots that other nodes free. It also says that no suspect is
// ready, which saves an idle node a second look.
func TestClaimThatLooksSaysWhatItSaw(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoNotify: true, NoListen: true})
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: "small", Capacity: 1}))
	type seen struct {
		found               string
		drained, noSuspects bool
	}
	look := func() (got seen) {
		claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon.Add(time.Minute), Max: 9,
			Engines: []string{"e"}, Found: &got.found, Drained: &got.drained, NoSuspects: &got.noSuspects,
			Start: start})
		require.NoError(t, err)
		require.Empty(t, claimed)
		return got
	}
	submit := func(id, pool string) {
		c := created(id)
		c.Run.Pool, c.Run.Engine = pool, "e"
		w.commit(s, c)
	}
	require.Equal(t, seen{drained: true, noSuspects: true}, look())
	submit("a", "small")
	require.Equal(t, seen{found: "a", drained: true, noSuspects: true}, look())
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	submit("b", "small")
	require.Equal(t, seen{noSuspects: true}, look(), "the pool is full")
	submit("c", "p")
	got := look()
	require.NotEmpty(t, got.found)
	require.False(t, got.drained, "b waits for a slot")
}
