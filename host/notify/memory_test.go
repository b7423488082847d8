package notify

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// L4: the cost of a claim does not grow with the queue.
func TestL4AClaimOfALongQueueIsCheap(t *testing.T) {
	q, now := NewMemory(), time.Now()
	const runs = 50_000
	for i := range runs {
		entries := []Entry{{RunID: fmt.Sprintf("run-%05d", i), Seq: 1, Body: []byte("1")}}
		require.NoError(t, q.Add(t.Context(), "e", entries, now.Add(time.Duration(i))))
	}
	claim := func() []Claimed {
		claimed, next, err := q.Claim(t.Context(), "e", now.Add(time.Second), now.Add(time.Hour), 2)
		require.NoError(t, err)
		require.False(t, next.IsZero())
		return claimed
	}
	first := claim()
	require.Equal(t, "run-00000", first[0].RunID)
	require.Equal(t, "run-00001", first[1].RunID)
	require.Less(t, testing.AllocsPerRun(100, func() { claim() }), 20.0)
}
