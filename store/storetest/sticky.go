package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// sticking creates a run, starts it on node "n" and parks it so that it keeps its slot.
func (w *world) sticking(id string, change ...func(*store.Run)) store.Run {
	w.Helper()
	return w.commit(Asked(w.running(id, change...), w.tick(), true, time.Time{}))
}

var stickyCases = []promised{
	{
		"sticky/holds its slot while it waits",
		"A parked run whose process lives keeps its slot: no other run gets it (D3, D4).",
		func(w *world) {
			w.pool("p", 1, 0)
			w.sticking("a")
			w.submit("b")
			require.Empty(w, w.claim("n", 9))
			require.Equal(w, map[string]int{"p": 1}, w.held())
		},
	},
	{
		"sticky/its next turn needs no new slot",
		"A queued run that holds its slot is started although the pool is full, and its slot counts once (D4).",
		func(w *world) {
			w.pool("p", 1, 1)
			parked := w.sticking("a", withKey("k"))
			w.submit("b", withKey("k"))
			w.commit(Answered(parked, w.tick(), ""))
			require.Equal(w, map[string]int{"p": 1}, w.held())
			require.Equal(w, []string{"a"}, w.claimed("n", 9))
			require.Equal(w, map[string]int{"p": 1}, w.held())
		},
	},
	{
		"sticky/belongs to the node that holds its process",
		"Only its owner claims a queued run that holds its slot (D4).",
		func(w *world) {
			w.join("a", "z")
			w.commit(Answered(w.sticking("run"), w.tick(), ""))
			require.Empty(w, w.claim("a", 9))
			require.Empty(w, w.claim("z", 9))
			require.Equal(w, []string{"run"}, w.claimed("n", 9))
		},
	},
	{
		"sticky/comes before all others",
		"A node's own sticky runs are started first, oldest first, before runs of higher priority.",
		func(w *world) {
			a, b := w.sticking("a"), w.sticking("b")
			w.submit("urgent", withPriority(99))
			w.commit(Answered(b, w.tick(), ""))
			w.commit(Answered(a, w.tick(), ""))
			require.Equal(w, []string{"b"}, w.claimed("n", 1))
			require.Equal(w, []string{"a", "urgent"}, w.claimed("n", 9))
		},
	},
	{
		"sticky/gives its slot up once",
		"When a parked sticky run ends, its slot becomes free for exactly one run (D3, D6: slots never leak, and " +
			"are never counted twice).",
		func(w *world) {
			w.pool("p", 2, 0)
			a, b := w.sticking("a"), w.sticking("b")
			for _, id := range []string{"c", "d", "e"} {
				w.submit(id)
			}
			w.commit(ended(a, w.tick(), fsm.StateFailed))
			require.Equal(w, []string{"c"}, w.claimed("n", 9))
			w.commit(ended(w.commit(Answered(b, w.tick(), "")), w.tick(), fsm.StateCanceled))
			require.Equal(w, []string{"d"}, w.claimed("n", 9))
			require.Equal(w, map[string]int{"p": 2}, w.held())
		},
	},
	{
		"sticky/is not started by a node that expired",
		"A queued sticky run whose owner is gone is started by no node; it is an orphan until recovery settles it " +
			"(E3).",
		func(w *world) {
			w.join("other")
			w.commit(Answered(w.sticking("a"), w.tick(), ""))
			w.expire("n")
			require.Empty(w, w.claim("other", 9))
			orphans, err := w.store.Orphans(w.ctx, 0, 9)
			require.NoError(w, err)
			require.Equal(w, []string{"a"}, ids(orphans))
		},
	},
	{
		"sticky/lets a run whose Start fails hold up no other",
		"A queued run that holds its slot and whose Start fails does not take claim after claim of a node with room " +
			"for one run: the node's other sticky runs and the ready ones are started meanwhile. It is tried again " +
			"when there is room, or some claims later (I3).",
		func(w *world) {
			first, second := w.sticking("first"), w.sticking("second")
			w.commit(Answered(first, w.tick(), ""))
			w.commit(Answered(second, w.tick(), ""))
			broken := map[string]bool{"first": true}
			w.submit("ready")
			require.ElementsMatch(w, []string{"second", "ready"}, w.claimsOfOne(3, broken),
				"at most one claim is in vain")

			for i := range 8 {
				w.submit(fmt.Sprint("next", i))
			}
			require.Len(w, w.claimsOfOne(8, broken), 8, "the next claims prefer the others")

			delete(broken, "first")
			require.Equal(w, []string{"first"}, w.claimsOfOne(2, broken), "nothing else is left")
		},
	},
	{
		"sticky/is tried again though there is no room for all",
		"A queued run that holds its slot and whose Start failed is tried again some claims later, also when each " +
			"claim finds others (I3).",
		func(w *world) {
			w.commit(Answered(w.sticking("first"), w.tick(), ""))
			require.Empty(w, w.claimsOfOne(1, map[string]bool{"first": true}))
			const most = 100
			for i := range most {
				w.submit(fmt.Sprint("next", i))
			}
			require.Contains(w, w.claimsOfOne(most, nil), "first")
		},
	},
}

// claimsOfOne makes this many claims of one run each for the node "n", and ends each started run.
// Start fails for the broken ones. It returns the ids of the started ones.
func (w *world) claimsOfOne(claims int, broken map[string]bool) (started []string) {
	w.Helper()
	for range claims {
		now := w.tick()
		claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: now, Max: 1,
			Start: func(r store.Run, spec []byte) (store.Commit, error) {
				if broken[r.ID] {
					return store.Commit{}, errCannotStart
				}
				return Started(now)(r, spec)
			}})
		if err != nil {
			require.ErrorIs(w, err, errCannotStart)
		}
		for _, c := range claimed {
			started = append(started, c.Run.ID)
			w.commit(ended(c.Run, w.tick(), fsm.StateSucceeded))
		}
	}
	return started
}

var errCannotStart = errors.New("cannot be started")
