package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// marker marks the suite's events.
type marker struct{}

const markKey = `,"incarnation":`

func (marker) Mark(body []byte, incarnation uint64) []byte {
	plain, _, _ := bytes.Cut(bytes.TrimSuffix(body, []byte("}")), []byte(markKey))
	if incarnation == 0 {
		return fmt.Appendf(nil, "%s}", plain)
	}
	return fmt.Appendf(nil, "%s%s%d}", plain, markKey, incarnation)
}

func withMarker(c store.Commit) store.Commit {
	c.Marker = marker{}
	return c
}

// markedChange adds an event to the run, whatever its state is.
func (w *world) markedChange(r store.Run) store.Commit {
	return withMarker(Changed(r, w.tick(), func(*store.Run) {}))
}

// mark returns the incarnation of the run's last event, 0 without one.
func (w *world) mark(id string) uint64 {
	w.Helper()
	events := w.snapshot(id).Events
	var body struct{ Incarnation uint64 }
	require.NoError(w, json.Unmarshal(events[len(events)-1].Body, &body))
	return body.Incarnation
}

func (w *world) raise() { w.harness.Raise(w, w.store) }

// restoredCases hold stores to store.Marker: no event has the id of an event that a restore removed.
var restoredCases = []promised{
	{
		"restored/later events are marked",
		"Events are marked with the incarnation of the commit that stores them, which is larger after each restore. " +
			"Stored events stay byte for byte, and cursors read across all of them (F8).",
		func(w *world) {
			w.commit(w.markedChange(w.commit(withMarker(Created("a", w.tick())))))
			require.Zero(w, w.mark("a"))
			last := uint64(0)
			for range 3 {
				before := w.snapshot("a").Events
				w.raise()
				c := addEvent(w.markedChange(w.load("a")))
				large := fmt.Sprintf(`{"seq":%d,"x":%q}`, c.Run.Seq, strings.Repeat("x", 100_000))
				c.Events[1].Body = []byte(large)
				w.commit(c)
				n := w.mark("a")
				require.Greater(w, n, last)
				want := before
				for _, e := range c.Events {
					want = append(want, store.Event{Seq: e.Seq, Body: marker{}.Mark(e.Body, n)})
				}
				require.Equal(w, want, w.snapshot("a").Events)
				last = n
			}
			all := w.snapshot("a").Events
			for after := range all {
				events, err := w.store.Events(w.ctx, "a", uint64(after), 2)
				require.NoError(w, err)
				require.NotEmpty(w, events)
				require.Equal(w, all[after:after+len(events)], events)
			}
		},
	},
	{
		"restored/every entry of a batch",
		"A batch marks the events of each entry, of new runs too, and leaves the events of entries without a Marker " +
			"as they are (F8).",
		func(w *world) {
			w.submit("changed")
			w.submit("plain")
			w.raise()
			other := Changed(w.load("plain"), w.tick(), func(*store.Run) {})
			for _, err := range w.store.Commit(w.ctx, []store.Commit{other, w.markedChange(w.load("changed")),
				withMarker(Created("new", w.tick())), withMarker(Created("another", w.tick()))}) {
				require.NoError(w, err)
			}
			n := w.mark("changed")
			require.NotZero(w, n)
			require.Equal(w, []uint64{n, n, 0}, []uint64{w.mark("new"), w.mark("another"), w.mark("plain")})
			require.Equal(w, other.Events[0].Body, w.snapshot("plain").Events[1].Body)
		},
	},
	{
		"restored/claims",
		"Claim marks the events of the runs that it starts (F8).",
		func(w *world) {
			w.submit("a")
			w.submit("b")
			w.raise()
			now := w.tick()
			claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: now, Max: 2,
				Start: func(r store.Run, spec []byte) (store.Commit, error) {
					c, err := Started(now)(r, spec)
					return withMarker(c), err
				}})
			require.NoError(w, err)
			require.Len(w, claimed, 2)
			require.NotZero(w, w.mark("a"))
			require.Equal(w, w.mark("a"), w.mark("b"))
			w.commit(withMarker(ended(claimed[0].Run, w.tick(), fsm.StateFailed)))
			require.Equal(w, w.mark("b"), w.mark(claimed[0].Run.ID))
		},
	},
	{
		"restored/handles that stay open",
		"A handle that has committed before the restore marks its next events with the new incarnation, like every " +
			"other handle (F8).",
		func(w *world) {
			other := w.also()
			w.commit(withMarker(Created("a", w.tick())))
			require.NoError(w, one(w.ctx, other, Created("b", w.tick())))
			last := uint64(0)
			for range 2 {
				w.raise()
				require.NoError(w, one(w.ctx, other, w.markedChange(w.load("b"))))
				w.commit(w.markedChange(w.load("a")))
				require.Greater(w, w.mark("b"), last)
				require.Equal(w, w.mark("b"), w.mark("a"))
				last = w.mark("a")
			}
		},
	},
	{
		"restored/hints",
		"The events in a Watcher's hint are marked as stored (F8, F9).",
		func(w *world) {
			watcher, ok := w.store.(store.Watcher)
			if !ok {
				return // hints are an optional ability
			}
			w.commit(w.markedChange(w.submit("a")))
			w.raise()
			hints := make(chan store.Hint, 100)
			defer watcher.Watch(func(h store.Hint) {
				select {
				case hints <- h:
				default: // hints may be lost; fn must not block
				}
			})()
			r := w.commit(w.markedChange(w.load("a")))
			for {
				select {
				case h := <-hints:
					if h.RunID != "" && (h.RunID != "a" || h.Seq < r.Seq) {
						continue
					}
					if all := w.snapshot("a").Events; len(h.Events) > 0 {
						require.Equal(w, all[len(all)-len(h.Events):], h.Events)
					}
					return
				case <-time.After(guard):
					require.FailNow(w, "no hint came")
				}
			}
		},
	},
}

// restoredDurableCases are for stores that have data after a restart.
var restoredDurableCases = []promised{
	{
		"restored/restarts",
		"A restart leaves the incarnation as it is (F8).",
		func(w *world) {
			w.submit("a")
			w.raise()
			r := w.commit(w.markedChange(w.load("a")))
			n := w.mark("a")
			for name, restart := range w.restarts() {
				w.store = restart(w, w.store)
				r = w.commit(w.markedChange(r))
				require.Equal(w, n, w.mark("a"), name)
			}
		},
	},
}
