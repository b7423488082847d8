package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

func (w *world) nodes() []string {
	w.Helper()
	nodes, err := w.store.Nodes(w.ctx)
	require.NoError(w, err)
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.ID
	}
	return all
}

var registryCases = []promised{
	{
		"registry/nodes are listed as they joined",
		"Nodes are listed by id, each with its identity, the length of its lease and the end of its lease.",
		func(w *world) {
			w.join("b", "a")
			require.NoError(w, w.store.Join(w.ctx, store.Node{ID: "z", Lease: 90 * time.Second}, w.now))
			require.Equal(w, []string{"a", "b", "n", "z"}, w.nodes())
			nodes, err := w.store.Nodes(w.ctx)
			require.NoError(w, err)
			require.Equal(w, "process of a", nodes[0].Identity)
			require.Equal(w, lease, nodes[0].Lease)
			require.False(w, nodes[0].Until.IsZero())
			require.Equal(w, 90*time.Second, nodes[3].Lease)
			require.Equal(w, time.UTC, nodes[3].Until.Location())
		},
	},
	{
		"registry/an id joins once",
		"Joining with the id of a registered node is ErrExists, and does not change that node.",
		func(w *world) {
			require.ErrorIs(w, w.store.Join(w.ctx, store.Node{ID: "n", Identity: "impostor", Lease: time.Minute},
				w.tick()), store.ErrExists)
			nodes, err := w.store.Nodes(w.ctx)
			require.NoError(w, err)
			require.Len(w, nodes, 1)
			require.Equal(w, "process of n", nodes[0].Identity)
			require.Equal(w, lease, nodes[0].Lease)
		},
	},
	{
		"registry/a node needs an id and a lease",
		"Joining without an id or a lease, or with a text that is not UTF-8 or contains NUL, is ErrInvalid; no " +
			"call returns such a node.",
		func(w *world) {
			require.ErrorIs(w, w.store.Join(w.ctx, store.Node{Lease: lease}, w.now), store.ErrInvalid)
			require.ErrorIs(w, w.store.Join(w.ctx, store.Node{ID: "x"}, w.now), store.ErrInvalid)
			require.ErrorIs(w, w.store.Join(w.ctx, store.Node{ID: "x", Lease: -1}, w.now), store.ErrInvalid)
			for _, text := range []string{"\x00", "x\x00y", "\xff", "\xed\xa0\x80"} {
				require.ErrorIs(w, w.store.Join(w.ctx, store.Node{ID: text, Lease: lease}, w.now), store.ErrInvalid)
				require.ErrorIs(w, w.store.Join(w.ctx, store.Node{ID: "x", Identity: text, Lease: lease}, w.now),
					store.ErrInvalid)
				require.ErrorIs(w, second(w.store.Renew(w.ctx, text, w.now)), store.ErrStaleEpoch)
				require.ErrorIs(w, second(w.store.Claim(w.ctx, store.ClaimRequest{Node: text, Now: w.now, Max: 1,
					Start: Started(w.now)})), store.ErrStaleEpoch)
				gone, err := w.store.Expire(w.ctx, base, text)
				require.NoError(w, err)
				require.Empty(w, gone)
			}
			require.Equal(w, []string{"n"}, w.nodes())
		},
	},
	{
		"registry/renewing extends the lease",
		"A renewed lease ends later: the node is not expired at the earlier end.",
		func(w *world) {
			before, err := w.store.Nodes(w.ctx)
			require.NoError(w, err)
			w.now = w.now.Add(lease / 2)
			_, err = w.store.Renew(w.ctx, "n", w.now)
			require.NoError(w, err)
			after, err := w.store.Nodes(w.ctx)
			require.NoError(w, err)
			require.False(w, after[0].Until.Before(before[0].Until))
			gone, err := w.store.Expire(w.ctx, base.Add(lease+time.Minute))
			require.NoError(w, err)
			require.Empty(w, gone)
		},
	},
	{
		"registry/Renew lists all held runs",
		"However many runs with a slot a node owns, Renew lists each of them: a worker whose run is not listed " +
			"stops it.",
		func(w *world) {
			w.pool("p", 2*store.MaxBatch, 0)
			const many = store.MaxBatch + 100
			batch := make([]store.Commit, many)
			for i := range batch {
				batch[i] = Created(fmt.Sprintf("r%04d", i), w.now)
			}
			for _, part := range [][]store.Commit{batch[:store.MaxBatch], batch[store.MaxBatch:]} {
				for _, err := range w.store.Commit(w.ctx, part) {
					require.NoError(w, err)
				}
			}
			require.Len(w, w.claim("n", store.MaxBatch), store.MaxBatch)
			require.Len(w, w.claim("n", store.MaxBatch), many-store.MaxBatch)
			holds, err := w.store.Renew(w.ctx, "n", w.now)
			require.NoError(w, err)
			require.Len(w, holds, many)
		},
	},
	{
		"registry/expiring by time",
		"Expire removes exactly the nodes whose lease has ended, and returns them.",
		func(w *world) {
			for _, id := range []string{"dead-1", "dead-2"} {
				require.NoError(w, w.store.Join(w.ctx, store.Node{ID: id, Identity: "process of " + id,
					Lease: time.Microsecond}, w.now))
			}
			gone, err := w.store.Expire(w.ctx, w.now.Add(time.Second))
			require.NoError(w, err)
			require.Len(w, gone, 2)
			require.ElementsMatch(w, []string{"dead-1", "dead-2"}, []string{gone[0].ID, gone[1].ID})
			require.Equal(w, "process of "+gone[0].ID, gone[0].Identity)
			require.Equal(w, []string{"n"}, w.nodes())
		},
	},
	{
		"registry/expiring the silent",
		"On a store.Local, ExpireSilent removes those of the given nodes that have not renewed their lease since " +
			"they were read, and those given without an end, whatever the time; and updates the departures (J9).",
		func(w *world) {
			local, ok := w.store.(store.Local)
			if !ok {
				return // its processes may run on several machines
			}
			w.waiting("parked")
			w.join("a", "b", "c")
			seen, err := w.store.Nodes(w.ctx)
			require.NoError(w, err)
			_, err = w.store.Renew(w.ctx, "b", w.tick())
			require.NoError(w, err)
			late := w.now.Add(10 * lease)
			gone, err := local.ExpireSilent(w.ctx, late, seen[:2])
			require.NoError(w, err)
			require.Equal(w, seen[:1], gone)
			require.Equal(w, []string{"b", "c", "n"}, w.nodes())
			gone, err = local.ExpireSilent(w.ctx, late, []store.Node{{ID: "b"}, {ID: "stranger"}})
			require.NoError(w, err)
			require.Len(w, gone, 1)
			require.Empty(w, w.departures())
			gone, err = local.ExpireSilent(w.ctx, late, []store.Node{{ID: "n"}})
			require.NoError(w, err)
			require.Len(w, gone, 1)
			require.Equal(w, []string{"c"}, w.nodes())
			require.Equal(w, map[string]time.Time{"n": late}, w.departures())
			gone, err = local.ExpireSilent(w.ctx, late, nil)
			require.NoError(w, err)
			require.Empty(w, gone)
		},
	},
}
