package store_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
)

// F8: EventPage returns what JoinEvents joined, after any cursor and up to the limit. The joined
// events share nothing with the caller's.
func TestJoinEventsAndEventPageAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bodies := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 1, 9), 0, 9).Draw(t, "bodies")
		first := rapid.Uint64Range(1, 5).Draw(t, "first")
		var given, want []store.Event
		for i, body := range bodies {
			given = append(given, store.Event{Seq: first + uint64(i), Body: bytes.Clone(body)})
			want = append(want, store.Event{Seq: first + uint64(i), Body: body})
		}
		lines, parts := store.JoinEvents(given)
		for _, e := range given {
			clear(e.Body)
		}
		require.Equal(t, want, parts)

		after, limit := rapid.Uint64Range(0, 12).Draw(t, "after"), rapid.IntRange(1, 12).Draw(t, "limit")
		var wanted []store.Event
		for _, e := range want {
			if e.Seq > after && len(wanted) < limit {
				wanted = append(wanted, e)
			}
		}
		x := store.EventPage{After: after, Limit: limit}
		x.Add(first, lines)
		require.Equal(t, wanted, x.Events)
		require.Equal(t, len(wanted) == limit, x.Full())
		for i := range x.Events {
			x.Events[i].Body = append(x.Events[i].Body, "more"...)
		}
		require.Equal(t, want, parts, "what a reader appends is its own")
	})
}

// F8: a page ends with the event that makes it larger than MinPage.
func TestEventPageIsBounded(t *testing.T) {
	x := store.EventPage{Limit: 100}
	for seq := uint64(1); seq <= 5; seq++ {
		x.Add(seq, bytes.Repeat([]byte{'x'}, store.MinPage/2))
	}
	require.Len(t, x.Events, 3)
	require.True(t, x.Full())
}
