package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/interlude-go/interlude/fsm"
)

// settled reports whether nothing more will happen: each run has ended or waits without limit, and
// all people have gone.
func (w *world) settled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.people {
		if w.holds(p) {
			return false
		}
	}
	for _, p := range w.plan.runs {
		r := w.witness.runs[p.spec.ID]
		if r == nil || !r.State.Terminal() && !w.waitsForEver(p.spec.ID) {
			return false
		}
		if f := p.forked(); f != nil {
			r := w.witness.runs[f.spec.ID]
			if r != nil && !r.State.Terminal() && !w.waitsForEver(f.spec.ID) {
				return false
			}
		}
	}
	return w.feedBehind() == ""
}

// unsettled describes the remaining activity.
func (w *world) unsettled() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var open []string
	for _, p := range w.plan.runs {
		r := w.witness.runs[p.spec.ID]
		if r == nil {
			open = append(open, p.spec.ID+" is not submitted")
		} else if !r.State.Terminal() && !w.waitsForEver(p.spec.ID) {
			open = append(open, fmt.Sprintf("%s is %s", r.ID, r.State))
		}
		if f := p.forked(); f != nil && w.witness.runs[f.spec.ID] != nil {
			open = append(open, fmt.Sprintf("%s is %s", f.spec.ID, w.witness.runs[f.spec.ID].State))
		}
	}
	if behind := w.feedBehind(); behind != "" {
		open = append(open, behind)
	}
	for _, p := range w.people {
		if w.holds(p) {
			open = append(open, p.view.name+" is still here")
		}
	}
	return strings.Join(open, ", ")
}

// holds reports whether the world must continue for this person.
func (w *world) holds(p *person) bool {
	if p.gone || p.stays {
		return false
	}
	return !p.passive || !w.waitsForEver(p.run.spec.ID)
}

// waitsForEver reports whether the run waits for a person, without a deadline. A held run waits for
// the operator, who comes.
func (w *world) waitsForEver(id string) bool {
	r := w.witness.runs[id]
	return r != nil && r.State == fsm.StateWaitingUser && r.Deadline.IsZero() && !r.Held()
}

// goHome stops the hosts in good order.
func (w *world) goHome() {
	if w.ended {
		return
	}
	w.ended = true
	close(w.ending)
	w.mu.Lock()
	for id, r := range w.witness.runs {
		w.open[id] = !r.State.Terminal()
	}
	w.mu.Unlock()
	synctest.Wait() // an agent's callback that comes late returns before its host stops
	for _, h := range w.hosts {
		if h.process() != nil {
			h.stop()
			synctest.Wait()
		}
	}
}

// gone reports whether all hosts and people have ended.
func (w *world) gone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.processes > 0 {
		return false
	}
	for _, h := range w.hosts {
		if !h.home {
			return false
		}
	}
	for _, p := range w.people {
		if !p.gone {
			return false
		}
	}
	// An agent that its host abandoned may still have a request at the gate.
	asks := func(r *request) bool { return !r.gone() }
	return !slices.ContainsFunc(w.waiting, asks) && !slices.ContainsFunc(w.arrived, asks)
}
