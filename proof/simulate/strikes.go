package simulate

import (
	"maps"
	"slices"
	"time"
)

// strike makes something go wrong with a host, and reports whether it did.
func (w *world) strike(now time.Time) bool {
	h := w.hosts[w.rand.IntN(len(w.hosts))]
	p := h.process()
	if p == nil || p == h.ending {
		return false
	}
	v := p.view
	w.counts.Faults++
	switch w.rand.IntN(5) {
	case 0:
		v.paused = now.Add(millis(w.rand, 1000, int(w.plan.lease.Milliseconds())*2))
		w.saw("a node was paused")
		w.note(v.name, "stands still for", v.paused.Sub(now).String())
	case 1:
		v.cut, v.hangs = now.Add(millis(w.rand, 1000, int(w.plan.lease.Milliseconds())*2)), w.rand.IntN(2) == 0
		w.saw("a node was cut off from the store")
		w.note(v.name, "is cut off for", v.cut.Sub(now).String(), map[bool]string{true: "and waits",
			false: "and gets errors"}[v.hangs])
	case 2:
		w.saw("a node was killed")
		w.note(v.name, "is killed")
		h.kill()
	case 3:
		w.saw("a node was stopped in good order")
		w.note(v.name, "is stopped")
		h.stop()
	default:
		return w.bereave(p.sticky)
	}
	return true
}

// bereave makes a resident process of the agent die, and reports whether there was one.
func (w *world) bereave(a *agent) bool {
	w.mu.Lock()
	ids := slices.Sorted(maps.Keys(a.sessions))
	w.mu.Unlock()
	if len(ids) == 0 {
		return false
	}
	id := ids[w.rand.IntN(len(ids))]
	w.saw("a resident process died by itself")
	w.note(a.view.name, "loses the process of", id)
	a.lose(id)
	return true
}

// calm ends all faults: paused and cut-off processes continue, and processes without an engine are
// replaced.
func (w *world) calm() {
	w.mu.Lock()
	w.calmed = true
	w.mu.Unlock()
	for _, h := range w.hosts {
		if p := h.process(); p != nil && p.lacks && p != h.ending {
			h.stop()
		}
	}
	for _, v := range w.all() {
		v.paused, v.cut = time.Time{}, time.Time{}
	}
	w.note("peace")
}
