package simulate

import (
	"math/rand/v2"
	"slices"

	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher. The scheduler decides when a hint reaches a process, and whether.
func (v *view) Watch(fn func(store.Hint)) (stop func()) {
	w := v.world
	w.mu.Lock()
	defer w.mu.Unlock()
	v.watchers = append(v.watchers, &fn)
	return func() {
		v.handingOver.Lock() // once this has returned, fn is not called any more
		defer v.handingOver.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		v.watchers = slices.DeleteFunc(slices.Clone(v.watchers), func(o *func(store.Hint)) bool { return o == &fn })
	}
}

// heard receives the store's hints, which come after commits, while the world is quiescent.
func (w *world) heard(h store.Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.views {
		if len(v.watchers) > 0 && !v.dead && (v.only == "" || v.only == h.RunID) {
			v.hints = append(v.hints, h)
		}
	}
}

// deliver passes on one hint to the view's watchers, chosen by the seed. It passes on one at a
// time: a goroutine that a hint wakes up must not get the next hint before the world is quiescent
// again. It returns the hint, for the trace.
func (v *view) deliver(r *rand.Rand, rates rates) string {
	w, i := v.world, 0
	if len(v.hints) > 1 && chance(r, rates.shuffle) {
		if i = r.IntN(len(v.hints)); i > 0 {
			w.saw("hints came in another order")
		}
	}
	h := v.hints[i]
	said := h.RunID + " " + string(h.State)
	again := chance(r, rates.double)
	if !again {
		v.hints = slices.Delete(v.hints, i, i+1)
	}
	switch {
	case chance(r, rates.drop):
		w.saw("a hint was lost")
		return said + ", which is lost"
	case again:
		w.saw("a hint came twice")
	}
	v.handingOver.Lock()
	defer v.handingOver.Unlock()
	w.mu.Lock()
	watchers := v.watchers
	w.mu.Unlock()
	for _, fn := range watchers {
		(*fn)(h)
	}
	return said
}
