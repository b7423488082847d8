package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

var claimCases = []promised{
	{
		"claim/returns record and spec in one commit",
		"Start gets the specification and the record with slot, owner and the next epoch; its commit is stored, " +
			"and Claim returns it (D5).",
		func(w *world) {
			c := Created("a", w.tick())
			w.commit(c)
			now := w.tick()
			var given store.Run
			var spec []byte
			claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: now, Max: 5,
				Start: func(r store.Run, s []byte) (store.Commit, error) {
					given, spec = r.Clone(), bytes.Clone(s)
					return Started(now)(r, s)
				}})
			require.NoError(w, err)
			require.Len(w, claimed, 1)
			require.Equal(w, c.Spec, spec)
			require.Equal(w, c.Spec, claimed[0].Spec)

			want := c.Run
			want.Slot, want.Owner, want.Epoch = true, "n", 1
			require.Equal(w, text(w, want), text(w, given), "Start sees the stored record, with slot, owner and epoch")
			next, err := Started(now)(want, nil)
			require.NoError(w, err)
			require.Equal(w, text(w, next.Run), text(w, claimed[0].Run))
			got := w.snapshot("a")
			require.Equal(w, text(w, next.Run), got.Run)
			require.Equal(w, append(c.Events, next.Events...), got.Events)
		},
	},
	{
		"claim/says when nothing is left",
		"A claim that leaves no ready run of its engines says so, but not while a full pool, its limit or a " +
			"failure of Start holds one back, and not when it is refused.",
		func(w *world) {
			w.pool("small", 1, 0)
			start := func(r store.Run, spec []byte) (store.Commit, error) { return Started(w.now)(r, spec) }
			fail := func(store.Run, []byte) (store.Commit, error) { return store.Commit{}, errors.New("not now") }
			drained := func(limit int) (is bool) {
				w.claimInto(&is, "n", limit, start)
				return is
			}
			refused := func(node string, start func(store.Run, []byte) (store.Commit, error)) {
				var is bool
				require.Error(w, w.claimInto(&is, node, 9, start))
				require.False(w, is)
			}
			e, f := w.sticking("e"), w.sticking("f")
			require.True(w, drained(9), "nothing is queued")
			w.submit("other", ofEngine("other"))
			w.submit("later", notBefore(w.now.Add(time.Hour)))
			require.True(w, drained(9), "what is queued is not for this claim")
			w.submit("a")
			w.submit("b")
			refused("stranger", start)
			refused("n", fail)
			require.False(w, drained(1), "b is left")
			require.True(w, drained(9), "b was the last")
			w.submit("c", inPool("small"))
			require.True(w, drained(9), "the pool has a slot for c")
			w.submit("d", inPool("small"))
			require.False(w, drained(9), "the pool is full")
			w.commit(ended(w.load("c"), w.tick(), "succeeded"))
			require.True(w, drained(9), "d was the last")
			w.commit(Answered(e, w.tick(), ""))
			w.commit(Answered(f, w.tick(), ""))
			require.False(w, drained(1), "f is left, which holds its slot")
			require.True(w, drained(9), "f was the last")
		},
	},
	{
		"claim/refuses an incomplete request",
		"A claim without a node, without Start or with a Max below 1 is ErrInvalid.",
		func(w *world) {
			w.submit("a")
			for _, req := range []store.ClaimRequest{
				{Now: w.now, Max: 1, Start: Started(w.now)},
				{Node: "n", Now: w.now, Start: Started(w.now)},
				{Node: "n", Now: w.now, Max: -1, Start: Started(w.now)},
				{Node: "n", Now: w.now, Max: 1},
			} {
				_, err := w.store.Claim(w.ctx, req)
				require.ErrorIs(w, err, store.ErrInvalid)
			}
			require.Equal(w, fsm.StateQueued, w.load("a").State)
		},
	},
	{
		"claim/skips a run whose Start fails",
		"If Start fails for a run, the run is unchanged and takes no slot, and Claim's error includes that error; " +
			"the other runs are started (I3).",
		func(w *world) {
			w.pool("p", 2, 0)
			for _, id := range []string{"a", "b"} {
				w.submit(id)
			}
			before := w.snapshot("a")
			missing := errors.New("workspace is missing")
			now := w.tick()
			claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: now, Max: 2,
				Start: func(r store.Run, spec []byte) (store.Commit, error) {
					if r.ID == "a" {
						return store.Commit{}, missing
					}
					return Started(now)(r, spec)
				}})
			require.ErrorIs(w, err, missing)
			require.ErrorContains(w, err, "a", "the error names the run")
			require.Len(w, claimed, 1)
			require.Equal(w, "b", claimed[0].Run.ID)
			require.Equal(w, before, w.snapshot("a"))
			require.Equal(w, []string{"a"}, w.claimed("n", 2), "its slot is free")
		},
	},
	{
		"claim/a run whose Start fails delays no other",
		"A run whose Start fails does not take the only slot of claim after claim, in a pool with or without a " +
			"capacity by key: the next claim starts the run behind it. It is tried again later (I3).",
		func(w *world) {
			for keyCapacity := range 2 {
				pool := fmt.Sprintf("p%d", keyCapacity)
				w.pool(pool, 1, keyCapacity)
				first, second := pool+"-a", pool+"-b"
				w.submit(first, inPool(pool), withKey("x"), withPriority(1))
				w.submit(second, inPool(pool), withKey("y"))
				broken := errors.New("cannot be started")
				claim := func() ([]store.Claimed, error) {
					now := w.tick()
					return w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: now, Max: 1,
						Start: func(r store.Run, spec []byte) (store.Commit, error) {
							if r.ID == first && broken != nil {
								return store.Commit{}, broken
							}
							return Started(now)(r, spec)
						}})
				}
				claimed, err := claim()
				require.ErrorIs(w, err, broken)
				require.Empty(w, claimed)
				claimed, err = claim()
				require.NoError(w, err)
				require.Len(w, claimed, 1)
				require.Equal(w, second, claimed[0].Run.ID)
				w.commit(ended(claimed[0].Run, w.tick(), fsm.StateSucceeded))

				broken = nil
				for tries := 0; len(w.claimed("n", 1)) == 0; tries++ {
					require.Less(w, tries, 2, "a claim that finds nothing else forgives")
				}
				require.Equal(w, fsm.StateRunning, w.load(first).State)
				w.commit(ended(w.load(first), w.tick(), fsm.StateSucceeded))
			}
		},
	},
	{
		"claim/a run whose Start fails delays no other pool",
		"A run whose Start fails takes at most one of many claims of a node that has room for one run, while " +
			"another pool has ready runs (I3).",
		func(w *world) {
			w.pool("other", 1, 0)
			w.submit("broken", inPool("other"))
			for i := range 8 {
				w.submit(fmt.Sprint("next", i))
			}
			require.Len(w, w.claimsOfOne(9, map[string]bool{"broken": true}), 8)
		},
	},
	{
		"claim/refuses a commit of Start that contradicts the record",
		"A commit of Start that changes owner, epoch or version, or that no commit may contain, is not stored; the " +
			"run is unchanged.",
		func(w *world) {
			w.submit("a")
			before := w.snapshot("a")
			for name, damage := range map[string]func(c *store.Commit){
				"owner":       func(c *store.Commit) { c.Run.Owner = "other" },
				"epoch":       func(c *store.Commit) { c.Run.Epoch++ },
				"version":     func(c *store.Commit) { c.Expect++; c.Run.Version++ },
				"another run": func(c *store.Commit) { c.Run.ID = "b" },
				"no slot":     func(c *store.Commit) { c.Run.Slot = false },
				"event gap":   func(c *store.Commit) { c.Events = nil },
				"a key":       func(c *store.Commit) { c.Run.Key = "x" },
			} {
				claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1,
					Start: func(r store.Run, spec []byte) (store.Commit, error) {
						c, err := Started(w.now)(r, spec)
						damage(&c)
						return c, err
					}})
				require.ErrorIs(w, err, store.ErrInvalid, name)
				require.Empty(w, claimed, name)
				require.Equal(w, before, w.snapshot("a"), name)
			}
			require.Equal(w, []string{"a"}, w.claimed("n", 1))
		},
	},
	{
		"claim/starts no run before its not-before time",
		"A run is not started before its not-before time, and meanwhile delays no other run.",
		func(w *world) {
			at := w.now.Add(time.Hour)
			w.submit("later", notBefore(at), withPriority(9))
			w.submit("now")
			require.Equal(w, []string{"now"}, w.claimed("n", 10))
			w.now = at.Add(-time.Second - time.Microsecond)
			require.Empty(w, w.claim("n", 10), "a microsecond early")
			w.now = at.Add(-time.Second)
			require.Equal(w, []string{"later"}, w.claimed("n", 10), "at its time")
		},
	},
}
