package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// TestJ4ClaimIsLimitedToTheNodesEngines: runs of an engine on only one of two nodes are all
// executed there, whichever node gets the hint. Runs of an engine without a node stay queued,
// visibly and for any time, until a node with it joins.
func TestJ4ClaimIsLimitedToTheNodesEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		var mu sync.Mutex
		executed := map[string][]string{} // by node, the runs' ids
		on := func(node string) engine.Engine {
			return agent{turn: func(_ context.Context, turn engine.Turn) (engine.Outcome, error) {
				mu.Lock()
				defer mu.Unlock()
				executed[node] = append(executed[node], turn.RunID)
				return finished(), nil
			}}
		}
		_, stopPlain := serveBeside(t, Config{Store: s, Engine: on("plain")})
		_, stopX := serveBeside(t, Config{Store: s, Engines: map[string]engine.Engine{"x": on("with x"),
			"w": on("with x")}})
		c := clientOf(t, s)
		submit := func(id, name string) {
			_, err := c.Submit(t.Context(), Spec{ID: id, Prompt: "x", Engine: name, Priority: len(name)})
			require.NoError(t, err)
		}
		nodes, err := s.Nodes(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, [][]string{{"default"}, {"w", "x"}}, [][]string{nodes[0].Engines, nodes[1].Engines})

		var ofX, plain []string
		queued := node.CommitTime(SystemClock{})
		for i := range 20 {
			ofX, plain = append(ofX, fmt.Sprint("x", i)), append(plain, fmt.Sprint("plain", i))
			submit(fmt.Sprint("new", i), "new")
			submit(ofX[i], "x")
			submit(plain[i], "")
		}
		pass(time.Hour)
		mu.Lock()
		require.ElementsMatch(t, ofX, executed["with x"])
		require.ElementsMatch(t, plain, executed["plain"])
		mu.Unlock()
		for _, id := range slices.Concat(ofX, plain) {
			in(t, c, id, fsm.StateSucceeded)
		}
		stats, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, []store.EngineSurvey{{Engine: "new", Queued: 20, OldestReady: queued}}, stats.Engines,
			"nobody has it: their age is that of the first")
		require.Zero(t, in(t, c, "new0", fsm.StateQueued).Attempt)

		_, stopNew := serveBeside(t, Config{Store: s, Engines: map[string]engine.Engine{"new": on("new")}})
		pass(time.Second)
		for i := range 20 {
			require.Equal(t, 1, in(t, c, fmt.Sprint("new", i), fsm.StateSucceeded).Attempt)
		}
		stats, err = c.Stats(t.Context())
		require.NoError(t, err)
		require.Empty(t, stats.Engines)
		stopNew()
		stopX()
		stopPlain()
	})
}

// TestJ4RunsWithoutEngineCostNoClaims: runs of a foreign engine, ready or whose not-before time
// comes, cause no more calls of the store than a poll does; each commit that is heard of costs one
// claim.
func TestJ4RunsWithoutEngineCostNoClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &asked{troubled: &troubled{cut: &cut{Store: newStore(t)}}}
		_, stop := serve(t, Config{Store: s, Engine: agent{}, Poll: time.Second})
		c := clientOf(t, s)
		const polls = 100
		spent := func() (claims, dues int) {
			pass(polls * time.Second)
			return len(s.asked()), s.looks()
		}
		spent()
		claims, dues := spent()
		require.LessOrEqual(t, dues, polls+1, "an idle node looks once a poll")

		const runs = 10
		for i := range runs {
			spec := Spec{ID: fmt.Sprint("r", i), Prompt: "x", Engine: "foreign"}
			if i%2 == 0 {
				spec.NotBefore = time.Now().Add(time.Duration(i) * time.Second)
			}
			_, err := c.Submit(t.Context(), spec)
			require.NoError(t, err)
			synctest.Wait()
		}
		moreClaims, moreDues := spent()
		require.LessOrEqual(t, moreClaims, claims+2*runs, "while they come")
		require.LessOrEqual(t, moreDues, dues+runs)

		moreClaims, moreDues = spent()
		require.LessOrEqual(t, moreClaims, claims+1, "while they stay")
		require.LessOrEqual(t, moreDues, dues+1)
		stats, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{runs, runs}, []int{stats.Queued, stats.Ready})
		stop()
	})
}

// asked also counts the queries for due runs.
type asked struct {
	*troubled
	dues int // guarded by troubled.mu
}

func (s *asked) Due(ctx context.Context, now time.Time, limit int) ([]Run, time.Time, error) {
	s.mu.Lock()
	s.dues++
	s.mu.Unlock()
	return s.Store.Due(ctx, now, limit)
}

// looks is how many there were since the last call of it.
func (s *asked) looks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.dues
	s.dues = 0
	return n
}

// Watch: the store has hints, so that each commit is heard of.
func (s *asked) Watch(fn func(store.Hint)) (stop func()) { return s.Store.(store.Watcher).Watch(fn) }

// TestJ4RecoveryWithoutTheEngineLosesNothing: E1, E4, E7, a node settles a dead node's runs of
// engines that it does not have: a repeatable turn goes back to the queue, with the warning that
// its worker's processes were not checked, and a wait is preserved. Neither is executed here.
func TestJ4RecoveryWithoutTheEngineLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		owner, stopOwner := serveBeside(t, Config{Store: s, Engines: map[string]engine.Engine{"x": asksOnce()}})
		_, err := owner.Submit(t.Context(), Spec{ID: "parked", Prompt: "x", Engine: "x"})
		require.NoError(t, err)
		synctest.Wait()
		in(t, owner.Client, "parked", fsm.StateWaitingUser)
		stopOwner()
		orphaned(t, s, 1, func(spec *Spec) { spec.Engine, spec.Repeatable = "x", true })

		c, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(slog.DiscardHandler)})
		pass(time.Hour)
		run := in(t, c.Client, "r0000", fsm.StateQueued)
		require.Equal(t, 1, run.Attempt)
		require.Contains(t, run.Warnings, fsm.WarnOrphanReapFailed)
		require.Equal(t, store.RecoveredWaiting, in(t, c.Client, "parked", fsm.StateWaitingUser).Recovery)
		stop()
	})
}
