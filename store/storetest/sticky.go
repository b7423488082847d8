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
		"sticky/is tried again without room for all",
		"A queued run that holds its slot and whose Start failed is tried again some claims later, even if each " +
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

// claimsOfOne makes this many claims of one run each for node "n", and ends each started run. Start
// fails for the broken ones. It returns the ids of the started ones.
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
