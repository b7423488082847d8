package storetest

import (
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

var hintCases = []promised{
	{
		"hint/follows commits and claims",
		"After a commit or a claim, a Watcher hints that the run changed, or that anything may have changed; by " +
			"then the change can be read.",
		func(w *world) {
			watcher, ok := w.store.(store.Watcher)
			if !ok {
				return // hints are optional; polling is sufficient
			}
			hints := make(chan store.Hint, 100)
			stop := watcher.Watch(func(h store.Hint) {
				select {
				case hints <- h:
				default: // hints may be lost; fn must not block
				}
			})
			defer stop()
			heard := func(id string, seq uint64) {
				w.Helper()
				for {
					select {
					case h := <-hints:
						if h.RunID == "" || h.RunID == id && h.Seq >= seq {
							require.GreaterOrEqual(w, w.load(id).Seq, seq)
							return
						}
					case <-time.After(guard):
						require.FailNow(w, "no hint came")
					}
				}
			}
			r := w.submit("a")
			heard("a", r.Seq)
			r = w.start("n")
			heard("a", r.Seq)
			r = w.commit(ended(r, w.tick(), "canceled"))
			heard("a", r.Seq)
		},
	},
	{
		"hint/its record is as it was stored",
		"The record in a hint does not change later, even if the record of the ended run does (M3).",
		func(w *world) {
			watcher, ok := w.store.(store.Watcher)
			if !ok {
				return // hints are an optional ability
			}
			var last atomic.Pointer[store.Run]
			defer watcher.Watch(func(h store.Hint) {
				if h.Run != nil && h.Run.State.Terminal() {
					last.CompareAndSwap(nil, h.Run)
				}
			})()
			w.submit("a", childOf("p"))
			r := w.commit(endedFamily(w.start("n"), w.tick()))
			brought := last.Load()
			w.commit(keptChild(r))
			if brought != nil {
				require.Equal(w, text(w, r), text(w, *brought))
			}
		},
	},
	{
		"hint/none after stop",
		"After stop has returned, its function is no longer called; other watchers' functions are.",
		func(w *world) {
			watcher, ok := w.store.(store.Watcher)
			if !ok {
				return // hints are an optional ability
			}
			var calls atomic.Int32
			stop := watcher.Watch(func(store.Hint) { calls.Add(1) })
			told := make(chan struct{}, 1)
			defer watcher.Watch(func(h store.Hint) {
				if h.RunID == "b" || h.RunID == "" {
					select {
					case told <- struct{}{}:
					default:
					}
				}
			})()
			w.submit("a")
			stop()
			stop() // a second call must be harmless
			before := calls.Load()
			w.submit("b")
			select {
			case <-told:
			case <-time.After(guard):
				require.FailNow(w, "no hint came")
			}
			require.Equal(w, before, calls.Load())
		},
	},
}
