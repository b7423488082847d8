package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/fsm"
)

// settled reports that nothing is to come any more: each run has ended or waits for ever, and
// whoever wanted something has gone.
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
	}
	return true
}

// unsettled says what is still to come.
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
	}
	for _, p := range w.people {
		if w.holds(p) {
			open = append(open, p.view.name+" is still here")
		}
	}
	return strings.Join(open, ", ")
}

// holds reports that the world goes on for this person.
func (w *world) holds(p *person) bool {
	if p.gone {
		return false
	}
	return !p.passive || !w.waitsForEver(p.run.spec.ID)
}

// waitsForEver reports that the run waits for a person, with no deadline.
func (w *world) waitsForEver(id string) bool {
	r := w.witness.runs[id]
	return r != nil && r.State == fsm.StateWaitingUser && r.Deadline.IsZero()
}

// goHome ends the hosts in good order.
func (w *world) goHome() {
	if w.ended {
		return
	}
	w.ended = true
	close(w.ending)
	for _, h := range w.hosts {
		if h.process() != nil {
			h.stop()
		}
	}
}

// gone reports that nobody is left.
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
	// An agent that its host left behind may still ask for something.
	asks := func(r *request) bool { return !r.left }
	return !slices.ContainsFunc(w.waiting, asks) && !slices.ContainsFunc(w.arrived, asks)
}
