package simulate

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// What a store or a host says when it is out of order.
var (
	errOutage  = errors.New("simulate: the store is out of order")
	errCrashed = errors.New("simulate: the process is dead")
)

// request is something that waits at the gate: a call of the store or a step of an agent.
type request struct {
	view  *view
	kind  string
	what  string // what is asked, in words that are the same whenever the seed is
	store bool   // it may fail; a step of an agent does not
	apply func() // has its effect; called at most once, while the world is quiescent

	done chan struct{} // closed when the caller is answered
	err  error         // instead of what apply found; set before done is closed

	left    bool           // guarded by world.mu; the caller's context ended, nobody waits for the answer
	doomed  bool           // the scheduler's; the caller is dead
	applied bool           // the scheduler's; the answer is on its way
	said    string         // what the store said, for the trace
	claims  []hold         // that it made
	commits []store.Commit // that it asks for
}

// compare orders requests that came to the gate in the same quiet moment, however their goroutines
// were scheduled.
func (r *request) compare(o *request) int {
	return cmp.Or(strings.Compare(r.view.name, o.view.name), strings.Compare(r.kind, o.kind), strings.Compare(r.what,
		o.what))
}

// answer lets the caller go on.
func (r *request) answer(err error) {
	r.err = err
	close(r.done)
}

// ask waits at the gate. The error says that what the request is for was not answered: whether it
// has had its effect is not known.
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

// enter puts the request among those that wait; a dead process asks nothing.
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

// do is a call that goes through the gate.
func do[T any](ctx context.Context, v *view, kind, what string, call func() (T, error)) (T, error) {
	var out, none T
	var failed error
	r := &request{kind: kind, what: what, store: true, apply: func() { out, failed = call() }}
	if err := v.ask(ctx, r); err != nil {
		return none, err
	}
	return out, failed
}
