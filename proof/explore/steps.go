package explore

// walk goes from one state to all that can follow.
type walk struct {
	*model
	from *State
	// step is given what follows, and the law that it breaks, if it does. The state is the walk's,
	// to be copied.
	step func(a Action, next *State, broken string)
	next State
}

// newStep gives room for the next step.
func (w *walk) newStep() *State {
	w.next = *w.from
	return &w.next
}

// commit decides and stores on what was read, and reports how that came out. A refusal by the
// contract leaves everything as it was.
func (w *walk) commit(s *State, a Action, base *Run, wish *wish) {
	next, r := w.decide(base, wish)
	if !r.taken() {
		w.seen.rule(r.rule)
		w.step(a, s, "the contract refuses "+wish.event.String()+" here ("+r.code+"), and somebody relies on it")
		return
	}
	a.came = stored
	from := base.State
	w.step(a, s, w.store(s, next, wish, r, from, a.who))
}

// all takes every step that the state allows.
func (w *walk) all() {
	w.world()
	for i := range w.from.Users {
		w.person(i)
	}
	for i := range w.bounds.Nodes {
		w.registry(i)
		if w.from.Nodes[i].Sent.Epoch != 0 {
			w.onTheWay(i)
		}
		if w.from.Nodes[i].Up {
			w.claim(i)
			w.turn(i)
			w.upkeep(i)
		}
	}
}

// world is what happens by itself: time, and another run.
func (w *walk) world() {
	s := w.from
	if s.Run.Deadline != 0 && !s.Due {
		n := w.newStep()
		n.Due = true
		w.step(Action{what: deadlinePasses, arg: s.Run.Deadline}, n, "")
	}
	if s.Rival {
		n := w.newStep()
		n.Rival = false
		w.step(Action{what: rivalFrees}, n, "")
	}
	if w.bounds.Rival && !s.Rival && !s.Run.Slot {
		n := w.newStep()
		n.Rival = true
		w.step(Action{what: rivalTakes}, n, "")
	}
}

// breaks begins a step in which something breaks, or returns nil when enough did.
func (w *walk) breaks() *State {
	if int(w.from.Faults) >= w.bounds.Faults || int(w.from.Run.Attempt) >= w.bounds.Attempts || w.over(&w.from.Run) {
		return nil
	}
	n := w.newStep()
	n.Faults++
	return n
}
