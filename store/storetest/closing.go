package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

var closingCases = []promised{
	{
		"close/later calls return ErrClosed",
		"After Close every call returns ErrClosed, as does each entry of a batch, and nothing hangs; closing " +
			"again is harmless.",
		func(w *world) {
			w.submit("a")
			s := w.store
			require.NoError(w, s.Close())
			require.NoError(w, s.Close())
			errs := s.Commit(w.ctx, []store.Commit{Created("b", w.now), Created("c", w.now)})
			require.Len(w, errs, 2)
			for name, err := range map[string]error{
				"Commit 1": errs[0], "Commit 2": errs[1],
				"Claim": second(s.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1,
					Start: Started(w.now)})),
				"Prune": second(s.Prune(w.ctx, w.now, 1)), "Run": second(s.Run(w.ctx, "a")),
				"Spec": second(s.Spec(w.ctx, "a")),
				"Runs": second(s.Runs(w.ctx, store.Query{})), "Waiting": second(s.Waiting(w.ctx, store.WaitingQuery{})),
				"Events":  second(s.Events(w.ctx, "a", 0, 1)),
				"History": third(s.History(w.ctx, "a", store.HistoryQuery{Limit: 1})),
				"Settled": second(s.Settled(w.ctx, "a", "k")), "Voted": second(s.Voted(w.ctx, "a", "k")),
				"Due": third(s.Due(w.ctx, w.now, 1)), "Orphans": second(s.Orphans(w.ctx, 0, 1)),
				"Join":   s.Join(w.ctx, store.Node{ID: "x", Lease: lease}, w.now),
				"Renew":  second(s.Renew(w.ctx, "n", w.now)),
				"Expire": second(s.Expire(w.ctx, w.now)), "Nodes": second(s.Nodes(w.ctx)),
				"Departures": second(s.Departures(w.ctx)),
				"SetPool":    s.SetPool(w.ctx, slots.Pool{Name: "x", Capacity: 1}), "Pools": second(s.Pools(w.ctx)),
				"ChangePool": s.ChangePool(w.ctx, slots.Pool{}, slots.Pool{Name: "x", Capacity: 1}),
				"Survey":     second(s.Survey(w.ctx, w.now)), "Interaction": second(s.Interaction(w.ctx, "a", 1)),
				"Identity": second(s.Identity(w.ctx)),
				"Confirm":  s.Confirm(w.ctx, func(store.Reader) error { return nil }),
			} {
				require.ErrorIs(w, err, store.ErrClosed, name)
			}
		},
	},
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }
