package simulate

import (
	"math/rand/v2"
	"slices"

	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher. Hints reach a process when the scheduler says so, if they do.
func (v *view) Watch(fn func(store.Hint)) (stop func()) {
	w := v.world
	w.mu.Lock()
	defer w.mu.Unlock()
	v.watchers = append(v.watchers, &fn)
	return func() {
		v.handingOver.Lock() // no hint is on its way to fn once this has returned
		defer v.handingOver.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		v.watchers = slices.DeleteFunc(slices.Clone(v.watchers), func(o *func(store.Hint)) bool { return o == &fn })
	}
}

// heard is called by the store after commits, while the world is quiescent.
func (w *world) heard(h store.Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.views {
		if len(v.watchers) > 0 && !v.dead && (v.only == "" || v.only == h.RunID) {
			v.hints = append(v.hints, h)
		}
	}
}

// deliver passes on one of the hints that are on their way to the view, chosen by the seed. Only one
// at a time: whoever is woken by it must not get the next one meanwhile. It returns the hint, for
// the trace.
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
