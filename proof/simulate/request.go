package simulate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// The errors of a store or a host that fails.
var (
	errOutage  = errors.New("simulate: the store is out of order")
	errCrashed = errors.New("simulate: the process is dead")
)

// request is something that waits at the gate: a call of the store or a step of an agent.
type request struct {
	view  *view
	kind  string
	what  string // describes the request, in the same words for the same seed
	store bool   // a call of the store, which may fail; a step of an agent does not
	apply func() // makes the call; called at most once, while the world is quiescent

	twins []*request // used by the scheduler only; equal calls that are answered together

	done chan struct{} // closed when the caller may continue
	err  error         // replaces the result of apply; set before done is closed

	left    bool           // guarded by world.mu; the caller's context ended, and the caller has gone
	doomed  bool           // used by the scheduler only; the caller is dead
	applied bool           // used by the scheduler only; the answer is on its way
	said    string         // the store's answer, for the trace
	claims  []hold         // the claims that the call made
	commits []store.Commit // the commits that the call contains
}

// compare orders requests that arrived in the same quiescent moment, independently of how their
// goroutines were scheduled.
func (r *request) compare(o *request) int {
	return cmp.Or(strings.Compare(r.view.name, o.view.name), strings.Compare(r.kind, o.kind), strings.Compare(r.what,
		o.what), slices.CompareFunc(r.commits, o.commits, compareCommits))
}

// compareCommits orders commits that make the same version of a run by their first event.
func compareCommits(a, b store.Commit) int {
	if len(a.Events) == 0 || len(b.Events) == 0 {
		return cmp.Compare(len(a.Events), len(b.Events))
	}
	return bytes.Compare(a.Events[0].Body, b.Events[0].Body)
}

// answer releases the caller.
func (r *request) answer(err error) {
	r.err = err
	close(r.done)
	for _, twin := range r.twins {
		twin.answer(err)
	}
}

// gone reports whether no caller waits for the answer any more.
func (r *request) gone() bool {
	return r.left && !slices.ContainsFunc(r.twins, func(twin *request) bool { return !twin.gone() })
}

// ask waits at the gate. An error means that there is no answer; whether the request took effect is
// unknown.
func (v *view) ask(ctx context.Context, r *request) error {
	r.view, r.done = v, make(chan struct{})
	if !v.world.enter(r) {
		return errCrashed
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		v.world.leave(r)
		return ctx.Err()
	}
}

// enter adds the request to the waiting ones. A dead process cannot add one.
func (w *world) enter(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.view.dead {
		return false
	}
	w.arrived = append(w.arrived, r)
	return true
}

func (w *world) leave(r *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.left = true
}

// do makes a call through the gate.
func do[T any](ctx context.Context, v *view, kind, what string, call func() (T, error)) (T, error) {
	var out, none T
	var failed error
	r := &request{kind: kind, what: what, store: true, apply: func() { out, failed = call() }}
	if err := v.ask(ctx, r); err != nil {
		return none, err
	}
	return out, failed
}
