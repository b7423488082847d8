package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

// Events added by AddEvent keep their bodies when the buffer grows, share no memory that an append
// to another could reach, and are not added when their body is refused.
func TestAddEventKeepsEachBodyWhenTheBufferGrows(t *testing.T) {
	refused := errors.New("refused")
	var c store.Commit
	add := func(seq uint64, body string) {
		require.NoError(t, c.AddEvent(seq, func(to []byte) ([]byte, error) { return append(to, body...), nil }))
	}
	for range 2 { // the second time with the memory of the first
		c.Reset()
		require.Empty(t, c.Events)
		long := strings.Repeat("x", 10_000)
		add(1, "one")
		err := c.AddEvent(2, func(to []byte) ([]byte, error) { return append(to, "bad"...), refused })
		require.ErrorIs(t, err, refused)
		add(2, long)
		add(3, "three")
		_ = append(c.Events[0].Body, "overwritten"...)
		_ = append(c.Events[1].Body, "overwritten"...)
		require.Equal(t, []store.Event{
			{Seq: 1, Body: []byte("one")}, {Seq: 2, Body: []byte(long)}, {Seq: 3, Body: []byte("three")},
		}, c.Events)
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { c.Reset(); add(1, "one"); add(2, "two") }))
}

// A commit that is reset is empty but for its memory.
func TestResetLeavesNothingInACommit(t *testing.T) {
	c := store.Commit{
		Run: store.Run{ID: "r"}, Expect: 3, Fence: &store.Fence{}, Spec: []byte("s"), Usage: &store.Usage{},
	}
	require.NoError(t, c.AddEvent(1, func(to []byte) ([]byte, error) { return append(to, '1'), nil }))
	c.Reset()
	require.Empty(t, c.Events)
	c.Events = nil
	require.Equal(t, store.Commit{}.Run, c.Run)
	require.Zero(t, c.Expect)
	require.Nil(t, c.Fence)
	require.Nil(t, c.Spec)
	require.Nil(t, c.Settled)
	require.Nil(t, c.Usage)
}
