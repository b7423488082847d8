package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/cache"
)

// Commits keep the latest ones, limited by number and size.
func TestCommitsAreBounded(t *testing.T) {
	for _, c := range []struct{ put, size, atLeast, atMost int }{
		{10_000, 10, 1024, 2048},
		{100, 1 << 20, 2, 4},
		{5, 10, 5, 5},
	} {
		var kept cache.Commits[int]
		for i := range c.put {
			events := []store.Event{{Seq: uint64(i), Body: make([]byte, c.size)}}
			kept.Put(i, cache.CommitEvents{RunID: "r", Events: events})
		}
		found := 0
		for i := range c.put {
			got, ok := kept.Get(i)
			if !ok {
				continue
			}
			found++
			require.EqualValues(t, i, got.Events[0].Seq)
			require.GreaterOrEqual(t, i, c.put-c.atMost, "the last ones stay")
		}
		require.GreaterOrEqual(t, found, c.atLeast)
		require.LessOrEqual(t, found, c.atMost)
		kept.Clear()
		_, ok := kept.Get(c.put - 1)
		require.False(t, ok)
	}
}
