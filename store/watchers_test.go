package store_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

func TestNotifyCallsEveryWatcher(t *testing.T) {
	var w store.Watchers
	require.False(t, w.Any())
	w.Notify([]store.Hint{{RunID: "nobody hears this"}})

	var first, second []string
	fn := func(h store.Hint) { first = append(first, h.RunID) }
	stopFirst := w.Watch(fn)
	stopTwin := w.Watch(fn) // the same function again is another watcher
	stopSecond := w.Watch(func(h store.Hint) { second = append(second, h.RunID) })
	w.Notify(nil)
	w.Notify([]store.Hint{{RunID: "a"}, {RunID: "b"}})
	require.Equal(t, []string{"a", "b", "a", "b"}, first)
	require.Equal(t, []string{"a", "b"}, second, "in the order of the commits")

	stopTwin()
	stopTwin() // harmless
	w.Notify([]store.Hint{{RunID: "c"}})
	require.Equal(t, []string{"a", "b", "a", "b", "c"}, first)
	stopFirst()
	w.Notify([]store.Hint{{RunID: "d"}})
	require.Equal(t, []string{"a", "b", "a", "b", "c"}, first)
	require.Equal(t, []string{"a", "b", "c", "d"}, second)
	require.True(t, w.Any())
	stopSecond()
	require.False(t, w.Any())
}

func TestNotifySharesHint(t *testing.T) {
	var w store.Watchers
	run := &store.Run{ID: "r"}
	events := []store.Event{{Seq: 1, Body: []byte("{}")}}
	for range 2 {
		defer w.Watch(func(h store.Hint) {
			require.Same(t, run, h.Run, "nothing is copied for a watcher")
			require.Same(t, &events[0], &h.Events[0])
		})()
	}
	w.Notify([]store.Hint{{RunID: "r", Seq: 1, Events: events, Run: run}})
}

// Watchers come and go while hints are passed on: stop waits for a call under way.
func TestStoppedWatcherIsNotCalled(t *testing.T) {
	var w store.Watchers
	var heard atomic.Int64
	always := w.Watch(func(store.Hint) { heard.Add(1) })
	var all sync.WaitGroup
	const tellers, times = 4, 500
	for range tellers {
		all.Go(func() {
			for range times {
				w.Notify([]store.Hint{{RunID: "a"}, {RunID: "b"}})
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for range 200 {
				var stopped atomic.Bool
				stop := w.Watch(func(store.Hint) {
					if stopped.Load() {
						t.Error("told after stop returned")
					}
				})
				_ = w.Any()
				stop()
				stopped.Store(true)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2*tellers*times, heard.Load(), "who stays is told everything")
	always()
	require.False(t, w.Any())
}
