package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// guard limits a race, which would never end with a broken store.
const guard = 2 * time.Minute

// race runs n goroutines at once, giving them the store's handles in turn, and waits for them.
func (w *world) race(n int, lane func(ctx context.Context, i int, s store.Store) error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, guard)
	defer cancel()
	handles := []store.Store{w.store, w.also()}
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return lane(ctx, i, handles[i%2]) })
	}
	require.NoError(w, g.Wait())
}

func one(ctx context.Context, s store.Store, c store.Commit) error {
	return s.Commit(ctx, []store.Commit{c})[0]
}

var raceCases = []promised{
	{
		"race/for each version of a run there is one winner",
		"Of any number of commits based on the same version exactly one is stored, and the others are ErrConflict; " +
			"no version is skipped or assigned twice (C8).",
		func(w *world) {
			const lanes, each = 8, 15
			first := w.running("a")
			var won [1 + lanes*each]atomic.Int32
			w.race(lanes, func(ctx context.Context, _ int, s store.Store) error {
				for done := 0; done < each; {
					r, err := s.Run(ctx, "a")
					if err != nil {
						return err
					}
					switch err := one(ctx, s, reported(r, r.UpdatedAt)); {
					case err == nil:
						won[r.Version+1-first.Version].Add(1)
						done++
					case !errors.Is(err, store.ErrConflict):
						return err
					}
				}
				return nil
			})
			for i := range lanes * each {
				require.EqualValues(w, 1, won[i+1].Load(), "version %d", first.Version+uint64(i)+1)
			}
			require.Equal(w, first.Version+lanes*each, w.load("a").Version)
			w.snapshot("a") // the events have no gap
		},
	},
	{
		"race/reply, timeout and cancel",
		"Of a reply, an automatic decision, a timeout and a cancel of one interaction exactly one is stored, and " +
			"the history says which (C5, C8, I1).",
		func(w *world) {
			for i := range 15 {
				id := fmt.Sprintf("run-%02d", i)
				r := w.until(id, w.now.Add(time.Minute))
				now := w.tick()
				decision := interaction.NewAutoDecision(r.Open[0]).Answer(now)
				auto, settled := Answered(r, now, ""), interaction.Settle(r.Open[0], decision, "", "")
				auto.Run.Answers, auto.Settled = []interaction.Answer{decision}, []interaction.Record{settled}
				rivals := []store.Commit{
					Answered(r, now, "k1"), Answered(r, now, "k2"), auto, ended(r, now, fsm.StateCanceled),
					ended(r, now, fsm.StateFailed),
				}
				var winner atomic.Int32
				var wins atomic.Int32
				w.race(len(rivals), func(ctx context.Context, i int, s store.Store) error {
					err := one(ctx, s, rivals[i])
					if err == nil {
						wins.Add(1)
						winner.Store(int32(i))
					} else if !errors.Is(err, store.ErrConflict) {
						return err
					}
					return nil
				})
				require.EqualValues(w, 1, wins.Load())
				got := w.snapshot(id)
				require.Equal(w, text(w, rivals[winner.Load()].Run), got.Run)
				require.Equal(w, []interaction.Record{rivals[winner.Load()].Settled[0]}, got.History)
				for _, c := range w.claim("n", 9) {
					w.commit(ended(c, w.tick(), fsm.StateSucceeded))
				}
			}
		},
	},
	{
		"race/for an id",
		"Of several submissions with one id exactly one is stored, the others are ErrExists.",
		func(w *world) {
			for i := range 10 {
				var made atomic.Int32
				w.race(4, func(ctx context.Context, lane int, s store.Store) error {
					err := one(ctx, s, Created(fmt.Sprintf("r%d", i), base, withPriority(lane)))
					if err == nil {
						made.Add(1)
					} else if !errors.Is(err, store.ErrExists) {
						return err
					}
					return nil
				})
				require.EqualValues(w, 1, made.Load())
			}
		},
	},
	{
		"race/each queued run is claimed once",
		"Nodes that claim at the same time never get the same run, and together get every run (E5, I2).",
		func(w *world) {
			const many, lanes = 200, 6
			w.pool("p", many, 0)
			for i := range many {
				w.commit(Created(fmt.Sprintf("r%03d", i), w.now, withKey(fmt.Sprint(i%5)), withPriority(i%3)))
			}
			for i := range lanes {
				w.join(fmt.Sprint("node-", i))
			}
			now := w.tick()
			var got [lanes][]string
			w.race(lanes, func(ctx context.Context, i int, s store.Store) error {
				for {
					claimed, err := s.Claim(ctx, store.ClaimRequest{Node: fmt.Sprint("node-", i), Now: now, Max: 1 + i,
						Start: Started(now)})
					if err != nil || len(claimed) == 0 {
						return err
					}
					for _, c := range claimed {
						got[i] = append(got[i], c.Run.ID)
					}
				}
			})
			owner := map[string]string{}
			for i, ids := range got {
				for _, id := range ids {
					require.Empty(w, owner[id], "run %s was claimed twice", id)
					owner[id] = fmt.Sprint("node-", i)
				}
			}
			require.Len(w, owner, many)
			for id, node := range owner {
				require.Equal(w, node, w.load(id).Owner)
			}
		},
	},
	{
		"race/two recoveries",
		"Concurrent recoveries of the same orphans settle each once (E6).",
		func(w *world) {
			for i := range 20 {
				w.running(fmt.Sprintf("r%02d", i))
			}
			w.expire("n")
			now := w.tick()
			var settled atomic.Int32
			w.race(4, func(ctx context.Context, _ int, s store.Store) error {
				for {
					runs, err := s.Orphans(ctx, 0, 7)
					if err != nil || len(runs) == 0 {
						return err
					}
					batch := make([]store.Commit, len(runs))
					for i, r := range runs {
						batch[i] = queuedAgain(r, now)
					}
					for _, err := range s.Commit(ctx, batch) {
						if err == nil {
							settled.Add(1)
						} else if !errors.Is(err, store.ErrConflict) {
							return err
						}
					}
				}
			})
			require.EqualValues(w, 20, settled.Load())
		},
	},
	{
		"race/capacity is never exceeded",
		"However many nodes claim, park, answer and finish at the same time, a reader never sees more slots in use " +
			"than the pool and its key allow; and all runs end (D1, D3, I3).",
		capacityRace,
	},
}

// capacityRace drives runs through all their turns on many nodes, while readers check the capacity.
func capacityRace(w *world) {
	const runs, lanes, capacity, keyCapacity = 36, 5, 4, 2
	w.pool("p", capacity, keyCapacity)
	for i := range runs {
		w.commit(Created(fmt.Sprintf("r%02d", i), w.now, withKey([]string{"", "a", "b"}[i%3])))
	}
	for i := range lanes {
		w.join(fmt.Sprint("node-", i))
	}
	now := w.tick()
	var over atomic.Int32
	w.race(lanes+1, func(ctx context.Context, i int, s store.Store) error {
		for over.Load() < runs {
			if i == lanes {
				if err := withinCapacity(ctx, s, capacity, keyCapacity); err != nil {
					return err
				}
				continue
			}
			claimed, err := s.Claim(ctx, store.ClaimRequest{Node: fmt.Sprint("node-", i), Now: now, Max: 1 + i%2,
				Start: Started(now)})
			if err != nil {
				return err
			}
			for _, c := range claimed {
				if err := turn(ctx, s, c.Run, now); err != nil {
					return err
				}
				if c.Run.Attempt == 3 {
					over.Add(1)
				}
			}
		}
		return nil
	})
	require.Empty(w, w.held())
	page, err := w.store.Runs(w.ctx, store.Query{States: []fsm.State{fsm.StateSucceeded}, Limit: store.MaxBatch})
	require.NoError(w, err)
	require.Len(w, page.Runs, runs)
}

// turn executes a claimed run as a node does: the first turn is interrupted, the second asks and is
// answered, the third ends the run. Every other question keeps its process and slot.
func turn(ctx context.Context, s store.Store, r store.Run, now time.Time) error {
	switch r.Attempt {
	case 1:
		return one(ctx, s, queuedAgain(r, now))
	case 2:
		c := Asked(r, now, r.ID[2]%2 == 0, now)
		if err := one(ctx, s, c); err != nil {
			return err
		}
		return one(ctx, s, Answered(c.Run, now, "k"))
	}
	return one(ctx, s, ended(r, now, fsm.StateSucceeded))
}

// withinCapacity counts the slots in use at one moment in two ways, and compares them with the
// bounds.
func withinCapacity(ctx context.Context, s store.Store, capacity, keyCapacity int) error {
	pools, err := s.Pools(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if p.Held > capacity {
			return fmt.Errorf("pool %s: %d slots are held of %d", p.Name, p.Held, capacity)
		}
	}
	page, err := s.Runs(ctx, store.Query{Limit: store.MaxBatch})
	if err != nil {
		return err
	}
	held, byKey := 0, map[string]int{}
	for _, r := range page.Runs {
		if !r.Slot {
			continue
		}
		held++
		byKey[r.Key]++
		if held > capacity || r.Key != "" && byKey[r.Key] > keyCapacity {
			return fmt.Errorf("%d slots are held of %d, %d of %d by key %s", held, capacity, byKey[r.Key], keyCapacity,
				r.Key)
		}
	}
	return nil
}
