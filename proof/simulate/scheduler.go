package simulate

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"
)

// maxSteps is far more than any world needs: a world that takes more steps is in an endless loop.
const maxSteps = 20_000

// live makes one event happen after the other, until everything is settled and all have gone.
func (w *world) live() {
	w.populate()
	for {
		synctest.Wait()
		w.collect()
		now := time.Now()
		if w.ended && w.gone() {
			return
		}
		if !w.ended && w.settled() {
			w.calm()
			w.goHome()
			continue
		}
		if w.step > maxSteps || w.broken() {
			w.abort()
			return
		}
		if !w.calmed && now.Sub(epoch) > w.plan.peace {
			w.calm()
			continue
		}
		if w.deploys(now.Sub(epoch)) {
			continue
		}
		if !w.calmed && chance(w.rand, w.plan.rates.fault) && w.strike(now) {
			continue
		}
		w.turn(now)
	}
}

// collect takes over the requests that arrived, in an order that does not depend on the scheduling
// of goroutines.
func (w *world) collect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step++
	slices.SortStableFunc(w.arrived, (*request).compare)
	for i, r := range w.arrived {
		// No order of equal calls is stable, so they are answered together.
		if first := len(w.waiting) - 1; i > 0 && r.kind == "Spec" && w.waiting[first].compare(r) == 0 {
			w.waiting[first].twins = append(w.waiting[first].twins, r)
			continue
		}
		w.waiting = append(w.waiting, r)
	}
	w.arrived = nil
}

// choice is an event that may happen next.
type choice struct {
	request int // the index of a waiting request; -1 for another event
	hints   *view
	timers  *view
}

// turn makes one event happen: an answer, a timer, a hint, or the passing of time.
func (w *world) turn(now time.Time) {
	choices := w.choices(now)
	if len(choices) == 0 || !w.calmed && chance(w.rand, w.plan.rates.advance) {
		if w.pass(now) {
			return
		}
		if len(choices) == 0 {
			w.fault("nothing can happen any more, and not everything is settled: " + w.unsettled())
			return
		}
	}
	c := choices[0]
	if w.calmed && !w.plan.calm || chance(w.rand, w.plan.rates.order) {
		c = choices[w.rand.IntN(len(choices))]
	}
	switch {
	case c.hints != nil:
		c.hints.touched = w.step
		w.note(c.hints.name, "hears of", c.hints.deliver(w.rand, w.rates()))
	case c.timers != nil:
		w.note(c.timers.name, "is woken")
		c.timers.touched = w.step
		if !c.timers.tick(now, w.step) { // no goroutine waits for it yet
			w.turn(now)
		}
	default:
		w.serve(c.request)
	}
}

func (w *world) rates() rates {
	if w.calmed {
		return rates{}
	}
	return w.plan.rates
}

// choices returns the events that may happen now, in a stable order: requests in the order of their
// arrival, then timers, then hints.
func (w *world) choices(now time.Time) []choice {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.options[:0]
	for i, r := range w.waiting {
		hangs := r.store && !r.applied && r.view.hangs && r.view.cut.After(now)
		if r.view.awake(now) && !hangs {
			all = append(all, choice{request: i})
		}
	}
	for _, v := range w.views {
		if v.awake(now) && v.ticks(now) {
			all = append(all, choice{timers: v})
		}
		if v.awake(now) && len(v.hints) > 0 && !v.cut.After(now) {
			all = append(all, choice{hints: v})
		}
	}
	w.options = all
	return all
}

func (v *view) awake(now time.Time) bool { return !v.paused.After(now) }

// serve makes a request take effect, or answers it, or does neither.
func (w *world) serve(i int) {
	r, rates := w.waiting[i], w.rates()
	take := func() { w.waiting = slices.Delete(w.waiting, i, i+1) }
	switch {
	case r.doomed:
		take()
		w.answer(r, errCrashed)
	case r.gone() && (r.applied || !r.store || w.rand.IntN(2) == 0):
		take()
		w.note(r.view.name, r.kind, r.what, "of a caller who gave up: dropped")
	case r.gone():
		take()
		w.apply(r)
		w.saw("a call had its effect after its caller had given up")
		w.note(r.view.name, r.kind, r.what, "of a caller who gave up: arrives")
	case r.applied:
		take()
		w.reply(r, chance(w.rand, rates.lose))
	case r.store && (r.view.cut.After(time.Now()) || chance(w.rand, rates.refuse)):
		take()
		w.counts.Faults++
		w.note(r.view.name, r.kind, r.what, "fails")
		for i := range r.commits {
			w.failed[write{r.view.name, r.commits[i].Run.ID, r.commits[i].Run.Version}] = true
		}
		w.answer(r, errOutage)
	default:
		w.apply(r)
		if r.store && chance(w.rand, rates.late) {
			r.applied = true
			w.counts.Faults++
			w.note(r.view.name, r.kind, r.what, "is made; the answer is on its way")
			return
		}
		take()
		w.reply(r, r.store && chance(w.rand, rates.lose))
	}
}

func (w *world) apply(r *request) {
	if r.store {
		w.counts.Operations++
	}
	w.claimed, w.said = nil, ""
	r.apply()
	for _, twin := range r.twins {
		twin.apply()
	}
	r.claims, r.said = w.claimed, w.said
}

// reply answers a request that has taken effect. The answer may be lost.
func (w *world) reply(r *request, lost bool) {
	if !lost {
		for _, h := range r.claims {
			delete(w.unheard, h)
		}
		w.note(r.view.name, r.kind, r.what, r.said)
		w.answer(r, nil)
		return
	}
	w.counts.Faults++
	for i := range r.commits {
		w.lost[write{r.view.name, r.commits[i].Run.ID, r.commits[i].Run.Version}] = true
	}
	w.note(r.view.name, r.kind, r.what, "is made; the answer is lost")
	w.answer(r, errOutage)
}

func (w *world) answer(r *request, err error) {
	r.view.touched = w.step
	r.answer(err)
}

// pass lets time pass until the next event is due; it returns false if none is.
func (w *world) pass(now time.Time) bool {
	var next time.Time
	earliest := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	w.mu.Lock()
	for _, v := range w.views {
		if v.awake(now) {
			earliest(v.next(now))
		}
		earliest(v.paused)
		earliest(v.cut)
	}
	w.mu.Unlock()
	if next.IsZero() {
		return false
	}
	time.Sleep(next.Sub(now))
	return true
}

// abort ends a world after a broken promise: it kills all processes. A continuing goroutine may
// abandon other requests, so abort waits for quiescence after each one.
func (w *world) abort() {
	if w.step > maxSteps {
		w.fault(fmt.Sprintf("%d steps were not enough: %s", maxSteps, w.unsettled()))
	}
	w.goHome()
	for range maxSteps {
		synctest.Wait()
		for _, v := range w.all() {
			w.kill(v)
		}
		w.collect()
		if w.gone() {
			return
		}
		moved := len(w.waiting) > 0
		for _, r := range w.waiting {
			if !r.gone() {
				w.answer(r, errCrashed)
				synctest.Wait()
			}
		}
		w.waiting = nil
		for _, v := range w.all() {
			v.touched = w.step
			moved = v.tick(time.Now(), w.step) || moved
			synctest.Wait()
		}
		if !moved {
			time.Sleep(time.Second) // lets the deadlines of contexts fire
		}
	}
}

// kill makes a process die. Its requests may still take effect, but no goroutine gets their
// answers.
func (w *world) kill(v *view) {
	w.mu.Lock()
	v.dead, v.paused, v.cut, v.hints = true, time.Time{}, time.Time{}, nil
	w.mu.Unlock()
	v.touched = w.step
	for _, r := range w.waiting {
		if r.view != v || r.gone() || r.doomed {
			continue
		}
		r.doomed = true
		if r.store && !r.applied && !w.ended && w.rand.IntN(2) == 0 {
			w.apply(r)
			w.saw("a process died after its call and before the answer")
			w.note(v.name, r.kind, r.what, "is made by one who dies")
		}
	}
}
