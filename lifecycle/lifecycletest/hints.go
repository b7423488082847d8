package lifecycletest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// distortion changes a store's hints: it gets one hint after another, and passes on any hints at
// any time.
type distortion func(pass func(store.Hint)) func(store.Hint)

type distorted struct {
	store.Store
	distort distortion
}

// Watch implements store.Watcher.
func (d distorted) Watch(fn func(store.Hint)) (stop func()) {
	w, ok := d.Store.(store.Watcher)
	if !ok {
		return func() {}
	}
	var receiving, passing sync.Mutex
	stopped := false // guarded by passing
	receive := d.distort(func(h store.Hint) {
		passing.Lock()
		defer passing.Unlock()
		if !stopped {
			fn(h)
		}
	})
	below := w.Watch(func(h store.Hint) {
		receiving.Lock()
		defer receiving.Unlock()
		receive(h)
	})
	return func() {
		below()
		passing.Lock()
		defer passing.Unlock()
		stopped = true
	}
}

type withoutHints struct{ store.Store }

// delay holds up to n hints back, and passes on the one selected by choose.
func delay(n int, choose func(count, kept int) int) distortion {
	return func(pass func(store.Hint)) func(store.Hint) {
		var kept []store.Hint
		count := 0
		return func(h store.Hint) {
			count++
			if kept = append(kept, h); len(kept) > n {
				i := choose(count, len(kept))
				h = kept[i]
				kept = append(kept[:i], kept[i+1:]...)
				pass(h)
			}
		}
	}
}

// each changes every hint by its number, counted from 1.
func each(change func(i int, h store.Hint, pass func(store.Hint))) distortion {
	return func(pass func(store.Hint)) func(store.Hint) {
		i := 0
		return func(h store.Hint) {
			i++
			change(i, h, pass)
		}
	}
}

// withoutContent is a hint that names no run and brings no events.
func withoutContent(h store.Hint) store.Hint {
	h.Events, h.Run = nil, nil
	return h
}

// distortions are all that may happen to hints (store.Watcher).
var distortions = []struct {
	name string
	distortion
}{
	{"come as they are", each(func(_ int, h store.Hint, pass func(store.Hint)) { pass(h) })},
	{"are all lost", each(func(int, store.Hint, func(store.Hint)) {})},
	{"are doubled, once without what they bring", each(func(_ int, h store.Hint, pass func(store.Hint)) {
		pass(h)
		pass(withoutContent(h))
	})},
	{"come out of order", delay(5, func(count, kept int) int { return count * 7 % kept })},
	{"are lost now and then", each(func(i int, h store.Hint, pass func(store.Hint)) {
		if i%3 != 0 {
			pass(h)
		}
	})},
	{"are doubled", each(func(_ int, h store.Hint, pass func(store.Hint)) { pass(h); pass(h) })},
	{"bring nothing", each(func(_ int, h store.Hint, pass func(store.Hint)) { pass(withoutContent(h)) })},
	{"bring something now and then", each(func(i int, h store.Hint, pass func(store.Hint)) {
		if i%2 == 0 {
			h = withoutContent(h)
		}
		pass(h)
	})},
	{"say no more than that anything may have changed", each(func(_ int, _ store.Hint, pass func(store.Hint)) {
		pass(store.Hint{})
	})},
	{"say now and then no more than that anything may have changed",
		each(func(i int, h store.Hint, pass func(store.Hint)) {
			if i%4 == 0 {
				h = store.Hint{}
			}
			pass(h)
		})},
	{"come in the reverse order", delay(9, func(_, kept int) int { return kept - 1 })},
	{"come after many others", delay(20, func(int, int) int { return 0 })},
	{"are late", each(func(i int, h store.Hint, pass func(store.Hint)) {
		time.AfterFunc(time.Duration(i%5)*300*time.Millisecond, func() { pass(h) })
	})},
}

func withHints(change func(store.Store) store.Store) func(*testing.T, Opener) {
	return func(t *testing.T, open Opener) {
		t.Helper()
		inWorld(everyReaderReadsAll)(t, func(tb testing.TB) store.Store { return change(open(tb)) })
	}
}

// ofDistortions returns a case for each of them.
func ofDistortions(from, to int) (all []testCase) {
	for _, r := range distortions[from:to] {
		all = append(all, testCase{readers + "whose hints " + r.name, withHints(func(s store.Store) store.Store {
			return distorted{s, r.distortion}
		})})
	}
	return all
}

const (
	readers = "F8 F9/readers and waiters of a store "
	few     = 4 // the number of distortions that slow stores meet, too
)

// hints are cases about the content of hints, on which nothing may depend. Slow stores leave out
// moreHints, which differ in what lies above the store.
var (
	hints = append(ofDistortions(0, few),
		testCase{readers + "that has no hints", withHints(func(s store.Store) store.Store { return withoutHints{s} })},
		testCase{"F9/a reader's context ends its sequence with an error", inWorld(aReadersContextEnds)})
	moreHints = ofDistortions(few, len(distortions))
)

// reportsMuch reports more messages than fit into a page or a hint, before it executes the step.
func reportsMuch(step turnStep) turnStep {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		for i := range 300 {
			if err := s.Message(ctx, engine.Message{Text: fmt.Sprint("message ", i)}); err != nil {
				return engine.Outcome{}, err
			}
			if i%50 == 0 {
				time.Sleep(100 * time.Millisecond) // the bubble's time
			}
		}
		return step(ctx, t, s)
	}
}

// everyReaderReadsAll follows a run with many events and a question in every possible way.
func everyReaderReadsAll(w *world) {
	w.agent.Plan("r", reportsMuch(asksOne("Go on?")), reportsMuch(completes("ok")))
	_, err := w.Submit(w.ctx, lifecycle.Spec{ID: "r", Prompt: "x", NotBefore: time.Now().Add(time.Second)})
	require.NoError(w, err)
	w.runs["r"] = true

	var all sync.WaitGroup
	seen := make([][]uint64, 5)
	follow := func(i int, after uint64, then func(fcmp.Event)) {
		all.Go(func() {
			for e, err := range w.Events(w.ctx, "r", after) {
				if err != nil {
					w.Errorf("reader %d: %v", i, err)
					return
				}
				seen[i] = append(seen[i], e.Seq)
				then(e)
			}
		})
	}
	follow(0, 0, func(fcmp.Event) {})
	follow(1, 0, func(e fcmp.Event) { // slow: sleeps repeatedly until hints have nothing for it
		if e.Seq%97 == 1 {
			time.Sleep(20 * time.Second)
		}
	})
	follow(2, 0, func(e fcmp.Event) { // answers
		if e.Type != fcmp.TypeInputRequired {
			return
		}
		if _, err := w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "yes"}); err != nil {
			w.Errorf("reply: %v", err)
		}
	})
	all.Go(func() { // reconnects after every hundred events
		for last, ended := uint64(0), false; !ended; {
			for e, err := range w.Events(w.ctx, "r", last) {
				if err != nil {
					w.Errorf("reader 3: %v", err)
					return
				}
				seen[3] = append(seen[3], e.Seq)
				last, ended = e.Seq, e.Terminal()
				if last%100 == 0 {
					break
				}
			}
		}
	})
	runs := make([]lifecycle.Run, 3)
	waited := make([]time.Time, len(runs))
	for i := range runs {
		all.Go(func() {
			var err error
			if runs[i], err = w.Wait(w.ctx, "r"); err != nil {
				w.Errorf("waiter %d: %v", i, err)
			}
			waited[i] = time.Now()
		})
	}
	synctest.Wait()
	follow(4, 3, func(fcmp.Event) {}) // from the middle of the expected events
	all.Wait()

	final := w.is("r", fsm.StateSucceeded)
	for i, seqs := range seen[:4] {
		require.Equal(w, count(0, final.Seq), seqs, "reader %d", i)
	}
	require.Equal(w, count(3, final.Seq), seen[4])
	for i, run := range runs {
		require.Equal(w, final, run, "waiter %d", i)
		require.LessOrEqual(w, waited[i].Sub(final.FinishedAt), time.Second, "at most a poll passes until it is read")
	}
}

func aReadersContextEnds(w *world) {
	w.agent.Plan("r", asksOne("?"))
	w.submit("r")
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	var last error
	for _, err := range w.Events(ctx, "r", 0) {
		last = err
	}
	require.ErrorIs(w, last, context.DeadlineExceeded)
	for _, err := range w.Events(w.ctx, "nobody", 0) {
		last = err
	}
	require.ErrorIs(w, last, lifecycle.ErrNotFound)
}

func count(from, to uint64) []uint64 {
	var all []uint64
	for i := from + 1; i <= to; i++ {
		all = append(all, i)
	}
	return all
}
