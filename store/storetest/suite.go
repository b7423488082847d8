package storetest

import (
	"slices"
	"testing"

	"github.com/interlude-go/interlude/store"
)

// Harness opens the store under test.
type Harness struct {
	// Open returns a new, empty store. The suite closes it.
	Open func(tb testing.TB) store.Store
	// Reopen closes a durable store in good order and opens it again. For a store in memory it is
	// nil, and the cases that restart it are left out.
	Reopen func(tb testing.TB, s store.Store) store.Store
	// Crash opens the store again as after the death of its process: s is only abandoned. If it is
	// nil, Reopen is used.
	Crash func(tb testing.TB, s store.Store) store.Store
	// Also opens another handle on the same store, like another process, while s stays open. The
	// suite closes it. If it is nil, s itself is the other handle.
	Also func(tb testing.TB, s store.Store) store.Store
	// Lose deletes the first or the last row that the store has of the run in a table, like an
	// operator's DELETE. If the record itself holds the newest events, the events before them are
	// lost. Without Lose, the suite omits the cases of lost rows.
	Lose func(tb testing.TB, s store.Store, table Table, id string, last bool)
	// Raise raises the store's incarnation (store.Marker), as after a restore, while s and other handles
	// stay open. It is nil for a store whose data cannot be restored.
	Raise func(tb testing.TB, s store.Store)
	// Parallel runs cases concurrently, for a store that waits for a server. The functions above
	// are then called concurrently.
	Parallel bool
}

// Run verifies a store that needs no Harness. Each case gets a new, empty store.
func Run(t *testing.T, open func(tb testing.TB) store.Store) {
	t.Helper()
	Harness{Open: open}.Run(t)
}

// Run verifies the store.
func (h Harness) Run(t *testing.T) {
	t.Helper()
	if h.Crash == nil {
		h.Crash = h.Reopen
	}
	all := slices.Concat(commitCases, fieldCases, refusalCases, fenceCases, claimCases, engineCases, queueCases,
		stickyCases, poolCases, registryCases, departureCases, orphanCases,
		deadlineCases, holdCases, eventCases, historyCases, togetherCases, stepCases, voteCases,
		listingCases, filterCases,
		forkCases, familyCases, waitingCases, askedCases,
		pruneCases,
		sharingCases,
		raceCases, momentCases,
		handleCases, hintCases, surveyCases, usageCases, journalCases,
		feedCases, identityCases, confirmCases, closingCases)
	if h.Reopen != nil {
		all = slices.Concat(all, durableCases, usageDurableCases, journalDurableCases, feedDurableCases)
	}
	if h.Lose != nil {
		all = slices.Concat(all, lostCases)
	}
	if h.Raise != nil {
		all = slices.Concat(all, restoredCases)
	}
	if h.Raise != nil && h.Reopen != nil {
		all = slices.Concat(all, restoredDurableCases)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if h.Parallel {
				t.Parallel()
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the promise that is broken: %s", c.promise)
				}
			})
			c.story(newWorld(t, h))
		})
	}
	t.Run("machine", func(t *testing.T) {
		if h.Parallel {
			t.Parallel()
		}
		runMachine(t, h)
	})
}

// promised is one case of the suite.
type promised struct {
	name    string
	promise string // the guarantee, which a failed case prints
	story   func(w *world)
}
