package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStoreThatCannotCountSaysSo(t *testing.T) {
	c := clientOf(t, hintless{newStore(t)})
	_, err := c.Stats(t.Context())
	require.ErrorIs(t, err, ErrNoStats)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestStatsAreOfTheClientsTime: what is delayed is judged by the clock that the client was given.
func TestStatsAreOfTheClientsTime(t *testing.T) {
	s := newStore(t)
	clock := wrongBy(0)
	c, err := NewClient(ClientConfig{Store: s, Clock: clock})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Submit(t.Context(), Spec{Prompt: "x", NotBefore: clock.Now().Add(time.Hour)})
	require.NoError(t, err)
	for _, at := range []struct {
		off            time.Duration
		delayed, ready int
	}{{0, 1, 0}, {time.Hour, 0, 1}} {
		clock.off.Store(int64(at.off))
		stats, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{1, at.delayed, at.ready}, []int{stats.Queued, stats.Delayed, stats.Ready})
	}
}
