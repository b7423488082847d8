package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// restarts returns the two ways in which a durable store is reopened, by name.
func (w *world) restarts() map[string]func(testing.TB, store.Store) store.Store {
	return map[string]func(testing.TB, store.Store) store.Store{"reopened": w.harness.Reopen,
		"crashed": w.harness.Crash}
}

type state struct {
	Runs    map[string]runSnapshot
	Waiting []string
	Due     []string
	Next    time.Time
	Orphans []string
	Nodes   []store.Node
	Gone    []store.Departure
	Pools   []store.PoolUse
}

func (w *world) state() state {
	w.Helper()
	s := state{Runs: map[string]runSnapshot{}}
	for _, id := range w.pages(w.runs, store.Query{Limit: 50}, nil) {
		s.Runs[id] = w.snapshot(id)
	}
	s.Waiting = w.pages(w.waits, store.Query{Limit: 50}, nil)
	s.Due, s.Next = w.due(w.now, 99)
	s.Orphans = w.orphans(99)
	var err error
	s.Nodes, err = w.store.Nodes(w.ctx)
	require.NoError(w, err)
	s.Gone, err = w.store.Departures(w.ctx)
	require.NoError(w, err)
	s.Pools, err = w.store.Pools(w.ctx)
	require.NoError(w, err)
	return s
}

var durableCases = []promised{
	{
		"durable/everything survives a restart",
		"Acknowledged data survive a close of the store and the death of its process: runs, events, history, keys, " +
			"slots, deadlines, nodes, pools (E1 to E5).",
		func(w *world) {
			w.pool("q/1", 3, 2)
			w.join("other")
			w.finished("over")
			w.running("busy", inPool("q/1"), withKey("k"))
			w.until("due", w.now.Add(time.Second))
			w.until("later", w.now.Add(time.Hour))
			w.sticking("sticky", submitted)
			w.commit(Answered(w.waiting("answered"), w.tick(), "key"))
			w.submit("held", notBefore(w.now.Add(time.Minute)))
			w.submit("fresh", withLabels(map[string]string{"a": "b"}))
			w.submit("theirs", withPriority(5))
			require.Equal(w, []string{"theirs"}, w.claimed("other", 1))
			w.expire("other")
			before := w.state()
			require.Len(w, before.Runs, 9)
			for name, restart := range w.restarts() {
				w.store = restart(w, w.store)
				require.Equal(w, before, w.state(), name)
				got, err := w.store.Settled(w.ctx, "answered", "key")
				require.NoError(w, err)
				require.Equal(w, "key", got.Key)
			}
		},
	},
	{
		"durable/an accepted reply is executed once after a restart",
		"After a restart, new and answered runs in the queue are claimed once each, in their order (E5, I9).",
		func(w *world) {
			for name, restart := range w.restarts() {
				parked := w.waiting(name + "-answered")
				w.submit(name + "-fresh")
				w.commit(Answered(parked, w.tick(), "k"))
				w.store = restart(w, w.store)
				runs := w.claim("n", 9)
				require.Equal(w, []string{name + "-fresh", name + "-answered"}, ids(runs))
				require.NotEmpty(w, runs[1].Answers)
				w.store = restart(w, w.store)
				require.Empty(w, w.claim("n", 9))
				for _, r := range runs {
					w.commit(fenced(ended(r, w.tick(), fsm.StateSucceeded), "n", r.Epoch))
				}
			}
		},
	},
	{
		"durable/slots and fences outlive the process",
		"After a restart the same slots are held, the same workers are fenced off, and epochs continue (I2, " +
			"section D).",
		func(w *world) {
			w.pool("p", 1, 0)
			r := w.running("a")
			w.submit("b")
			for _, restart := range w.restarts() {
				w.store = restart(w, w.store)
				require.Equal(w, map[string]int{"p": 1}, w.held())
				require.Empty(w, w.claim("n", 9))
				stale := r
				w.commit(queuedAgain(r, w.tick()))
				w.commit(ended(w.start("n"), w.tick(), fsm.StateCanceled)) // b was queued earlier
				r = w.start("n")
				require.Equal(w, stale.Epoch+1, r.Epoch)
				w.store = restart(w, w.store)
				w.refused(store.ErrStaleEpoch, fenced(reported(stale, w.tick()), "n", stale.Epoch))
				w.submit("b" + fmt.Sprint(r.Epoch))
			}
		},
	},
	{
		"durable/no acknowledged commit is lost",
		"Every acknowledged commit of many concurrent callers survives the death of the process, whichever other " +
			"commits shared its flush (F8).",
		func(w *world) {
			const lanes, each = 8, 10
			var mu sync.Mutex
			var acknowledged []string
			w.race(lanes, func(ctx context.Context, i int, s store.Store) error {
				for j := range each {
					id := fmt.Sprintf("r%d-%d", i, j)
					if err := one(ctx, s, Created(id, base)); err != nil {
						return err
					}
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
				}
				return nil
			})
			w.store = w.harness.Crash(w, w.store)
			require.ElementsMatch(w, acknowledged, w.pages(w.runs, store.Query{Limit: 50}, nil))
			for _, id := range acknowledged {
				w.snapshot(id)
			}
		},
	},
}
