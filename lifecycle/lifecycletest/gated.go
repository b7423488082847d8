package lifecycletest

import (
	"context"
	"sync"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// gated is a store whose claims find nothing while its gate is closed, so that a case can hold runs
// in the queue.
type gated struct {
	store.Store

	mu   sync.Mutex
	open bool                           // guarded by mu
	fns  map[*func(store.Hint)]struct{} // guarded by mu
}

func newGated(s store.Store) *gated {
	return &gated{Store: s, fns: make(map[*func(store.Hint)]struct{})}
}

// Claim implements store.Writer.
func (g *gated) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if !open {
		return nil, nil
	}
	return g.Store.Claim(ctx, req)
}

// Watch implements store.Watcher for every store.
func (g *gated) Watch(fn func(store.Hint)) (stop func()) {
	below := func() {}
	if w, ok := g.Store.(store.Watcher); ok {
		below = w.Watch(fn)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fns[&fn] = struct{}{}
	return func() {
		below()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.fns, &fn)
	}
}

// set opens or closes the gate; opening wakes the claims.
func (g *gated) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
	for fn := range g.fns {
		if open {
			(*fn)(store.Hint{State: fsm.StateQueued})
		}
	}
}
