package lifecycletest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// errOutage is the error of a failing store.
var errOutage = errors.New("the disk is full")

// outage is a store that fails some of its writes: before they are made, or after, so that only the
// acknowledgement is lost.
type outage struct {
	store.Store

	mu     sync.Mutex
	writes int          // guarded by mu; commits and claims that started runs, so far
	before map[int]bool // guarded by mu; fail these without writing
	after  map[int]bool // guarded by mu; write these and fail
}

// next decides the fate of the next write.
func (o *outage) next() (before, after bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes++
	return o.before[o.writes], o.after[o.writes]
}

// Commit implements store.Writer.
func (o *outage) Commit(ctx context.Context, batch []store.Commit) []error {
	before, after := o.next()
	errs := make([]error, len(batch))
	if !before {
		errs = o.Store.Commit(ctx, batch)
	}
	for i := range errs {
		if before || after {
			errs[i] = errOutage
		}
	}
	return errs
}

// Claim implements store.Writer.
func (o *outage) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	counted, before, after := false, false, false
	start := req.Start
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		if !counted {
			before, after = o.next()
			counted = true
		}
		if before {
			return store.Commit{}, errOutage
		}
		return start(r, spec)
	}
	claimed, err := o.Store.Claim(ctx, req)
	if after {
		return nil, errOutage
	}
	return claimed, err
}

// Watch implements store.Watcher.
func (o *outage) Watch(fn func(store.Hint)) (stop func()) {
	if w, ok := o.Store.(store.Watcher); ok {
		return w.Watch(fn)
	}
	return func() {}
}

// inOutage is a case on a store that fails the given write, in the given way.
func inOutage(write int, lost bool, run func(w *world)) func(*testing.T, Opener) {
	return func(t *testing.T, open Opener) {
		t.Helper()
		w := newWorld(t, func(tb testing.TB) store.Store {
			o := &outage{Store: open(tb), before: map[int]bool{}, after: map[int]bool{}}
			if lost {
				o.after[write] = true
			} else {
				o.before[write] = true
			}
			return o
		})
		run(w)
		w.end()
	}
}

// outages: each write of a run with one question fails once, or is made and not acknowledged. A
// host that asks again, as it would, comes to the same end.
var outages = func() []testCase {
	var all []testCase
	names := []string{"submit", "claim", "park", "reply", "claim again", "finish"}
	for i, name := range names {
		for _, lost := range []bool{false, true} {
			how := "fails"
			if lost {
				how = "is not acknowledged"
			}
			all = append(all, testCase{fmt.Sprintf("F8 I2 I9/%s %s", name, how), inOutage(i+1, lost, func(w *world) {
				w.agent.Plan("r", asksOne("Go on?"), completes("ok"))
				spec := lifecycle.Spec{ID: "r", Prompt: "x"}
				if _, err := w.Submit(w.ctx, spec); err != nil {
					require.ErrorIs(w, err, errOutage)
					_, err = w.Submit(w.ctx, spec)
					require.NoError(w, err)
				}
				w.runs["r"] = true
				w.advance(2 * time.Minute)
				w.is("r", fsm.StateWaitingUser)
				reply := interaction.Reply{ID: 1, Text: "yes", Key: "k"}
				if _, err := w.Reply(w.ctx, "r", reply); err != nil {
					require.ErrorIs(w, err, errOutage)
					receipt, err := w.Reply(w.ctx, "r", reply)
					require.NoError(w, err)
					require.Equal(w, lost, receipt.Replayed)
				}
				w.advance(2 * time.Minute)
				w.is("r", fsm.StateSucceeded)
				turns := w.agent.Turns("r")
				require.Len(w, turns, 2, "each turn is executed once")
				require.Equal(w, "yes", turns[1].Answers[0].Text)
			})})
		}
	}
	return all
}()
