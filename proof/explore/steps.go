package explore

// walk finds all states that can follow one state.
type walk struct {
	*model
	from *State
	// step is called with each action, the state that it leads to, and the promise that it breaks,
	// or "". The state is overwritten after the call.
	step func(a Action, next *State, broken string)
	next State
}

// newStep returns a copy of the state, for the next step to change.
func (w *walk) newStep() *State {
	w.next = *w.from
	return &w.next
}

// commit decides on the record that was read and stores the result. If the contract refuses the
// change, a promise is broken, since the caller relies on it.
func (w *walk) commit(s *State, a Action, base *Run, change *change) {
	next, r := w.decide(base, change)
	if !r.allowed() {
		w.coverage.addRule(r.rule)
		w.step(a, s, "the contract refuses "+change.event.String()+" here ("+r.code+"), and the protocol relies on it")
		return
	}
	a.result = stored
	from := base.State
	w.step(a, s, w.store(s, next, change, r, from, a.who))
}

// all takes each step that is possible in the state.
func (w *walk) all() {
	w.world()
	for i := range w.from.Users {
		w.person(i)
	}
	for i := range w.bounds.Nodes {
		w.registry(i)
		if w.from.Nodes[i].Sent.Epoch != 0 {
			w.deliver(i)
		}
		if w.from.Nodes[i].Up {
			w.claim(i)
			w.turn(i)
			w.upkeep(i)
		}
	}
}

// world takes the steps of neither nodes nor people: time passes, and the other run takes or
// releases the slot.
func (w *walk) world() {
	s := w.from
	if s.Run.Deadline != 0 && !s.Due {
		n := w.newStep()
		n.Due = true
		w.step(Action{kind: deadlinePasses, arg: s.Run.Deadline}, n, "")
	}
	if s.Run.Claim != 0 && !s.ClaimOver {
		n := w.newStep()
		n.ClaimOver = true
		w.step(Action{kind: claimPasses, arg: s.Run.Pending}, n, "")
	}
	if s.Rival {
		n := w.newStep()
		n.Rival = false
		w.step(Action{kind: rivalReleases}, n, "")
	}
	if w.bounds.Rival && !s.Rival && !s.Run.Slot {
		n := w.newStep()
		n.Rival = true
		w.step(Action{kind: rivalClaims}, n, "")
	}
}

// newFault returns a copy of the state for a step with a fault, or nil when no more faults are
// allowed.
func (w *walk) newFault() *State {
	if int(w.from.Faults) >= w.bounds.Faults || int(w.from.Run.Attempt) >= w.bounds.Attempts || w.over(&w.from.Run) {
		return nil
	}
	n := w.newStep()
	n.Faults++
	return n
}
