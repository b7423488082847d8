package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

func (w *world) identity(s store.Store) string {
	w.Helper()
	id, err := s.Identity(w.ctx)
	require.NoError(w, err)
	require.Regexp(w, `^[0-9A-Za-z-]{16,64}$`, id)
	return id
}

var identityCases = []promised{
	{
		"identity/it belongs to the data",
		"The identity is the same for every handle, after any writes and deletions, and after each restart; " +
			"another store has another one.",
		func(w *world) {
			first := w.identity(w.store)
			require.Equal(w, first, w.identity(w.also()))
			w.finished("a")
			_, err := w.store.Prune(w.ctx, w.tick(), 1)
			require.NoError(w, err)
			other := w.harness.Open(w)
			w.Cleanup(func() { require.NoError(w, other.Close()) })
			require.NotEqual(w, first, w.identity(other))
			require.Equal(w, first, w.identity(w.store))
			if w.harness.Reopen == nil {
				return
			}
			for name, restart := range w.restarts() {
				w.store = restart(w, w.store)
				require.Equal(w, first, w.identity(w.store), name)
			}
		},
	},
}
