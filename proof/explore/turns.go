package explore

// claim claims the run for a node, in one commit.
func (w *walk) claim(i int) {
	s := w.from
	n, r := &s.Nodes[i], &s.Run
	switch {
	case r.State != queued && (!w.off[ClaimState] || w.over(r)), r.Held && !w.off[ClaimHeld]:
		return
	case !n.Registered && !w.off[ClaimRegistered]:
		return // the node rejoins
	case n.Phase != idle && n.Phase != unconfirmed && n.Phase != resending:
		return
	case r.Slot && r.Owner != owner(i+1) && !w.off[ClaimHolder] && !w.off[ClaimState]:
		return
	case !r.Slot && s.Rival && !w.off[ClaimCapacity]:
		return
	}
	w.storeClaim(w.newStep(), i, claims)
	if next := w.newFault(); next != nil {
		w.storeClaim(next, i, claimsUnacknowledged)
	}
}

func (w *walk) storeClaim(s *State, i int, how actionKind) {
	base := s.Run
	base.Slot, base.Owner = true, owner(i+1)
	if !w.off[ClaimEpoch] {
		base.Epoch++
	}
	change := change{event: turnStarted, node: i}
	if w.off[ClaimHeld] {
		base.Held = false // the hold is not checked
	}
	if w.off[ClaimState] {
		base.State = queued // the state is not checked
	}
	next, r := w.decide(&base, &change)
	a := Action{kind: how, who: worker(i), arg: next.Attempt}
	if !r.allowed() {
		w.coverage.addRule(r.rule)
		return
	}
	broken := w.mayClaim(s, i)
	s.Given = s.Run.Answer + 1
	if b := w.store(s, next, &change, r, s.Run.State, a.who); broken == "" {
		broken = b
	}
	s.releaseView(worker(i))
	n := &s.Nodes[i]
	n.Phase, n.Epoch, n.View, n.Outcome = granted, next.Epoch, current, 0
	if how == claims {
		if b := w.startTurn(s, i, next.Epoch); broken == "" {
			broken = b
		}
	}
	w.step(a, s, broken)
}

// mayClaim returns the promise that a claim breaks, or "". It does not depend on the guards.
func (w *walk) mayClaim(s *State, i int) string {
	repeated := s.Given == s.Run.Answer+1
	switch {
	case !s.Nodes[i].Registered:
		return deadWrites
	case repeated && (!w.scenario.Repeatable || s.Faults == 0):
		return "PI-14: an answer is executed again, though its turn may not be repeated or nothing interrupted it"
	case s.Run.Slot && s.Run.Owner != owner(i+1):
		return "PI-20: a node claims a run whose process another node holds"
	}
	return ""
}

// startTurn lets the engine execute the turn of the epoch.
func (w *walk) startTurn(s *State, i int, epoch uint8) string {
	n := &s.Nodes[i]
	n.Phase, n.Epoch = executing, epoch
	if w.scenario.Sticky && s.Run.Answer == 0 {
		n.Resident = true // a new process, except that the turn after a question uses the process that waited
	}
	bit := uint16(1) << (epoch & 15)
	if s.Begun&bit != 0 {
		return "PI-10: the turn of one claim is executed twice"
	}
	s.Begun |= bit
	return ""
}

// turn explores the steps that a node can take with the run now: its worker's, or, if the node owns
// the running run and has no worker for it, the start of a worker.
func (w *walk) turn(i int) {
	n := &w.from.Nodes[i]
	r := &w.from.Run
	// a node learns from a heartbeat which runs it owns
	held := r.State == running && r.Owner == owner(i+1) && n.Registered && !n.Lapsed
	switch n.Phase {
	case idle:
		if held {
			w.startOwned(i)
		}
	case granted:
		w.acknowledge(i)
		if held && w.off[ClaimPending] {
			w.startOwned(i)
		}
	case executing:
		w.finish(i)
	case unconfirmed:
		w.checkOutcome(i)
	case resending:
		next := w.newStep()
		w.put(next, i, Action{kind: resendsOutcome, who: worker(i)}, w.changeFor(n.Outcome, r, i))
	}
	if n.Late != 0 {
		next := w.newStep()
		next.Nodes[i].Late = 0
		w.step(Action{kind: acknowledgedLate, who: worker(i)}, next, w.startTurn(next, i, n.Late))
	}
	if n.Phase == idle || n.Phase == granted {
		return
	}
	if n.Lapsed {
		w.dropTurn(i)
	}
	if r.State != running || r.Owner != owner(i+1) || r.Epoch != n.Epoch {
		next := w.newStep()
		w.endWork(next, i)
		w.step(Action{kind: abandonsTurn, who: worker(i)}, next, "")
	}
}

// acknowledge takes the two steps for the acknowledgement of a claim: it arrives, or it is lost.
func (w *walk) acknowledge(i int) {
	next := w.newStep()
	w.step(Action{kind: acknowledged, who: worker(i)}, next, w.startTurn(next, i, next.Nodes[i].Epoch))
	next = w.newStep()
	w.endWork(next, i)
	w.step(Action{kind: acknowledgementLost, who: worker(i)}, next, "")
}

// startOwned starts a worker for a run that the node owns and has no worker for. If the node has
// dropped the turn, the worker only settles the turn.
func (w *walk) startOwned(i int) {
	n := &w.from.Nodes[i]
	r := &w.from.Run
	next := w.newStep()
	m := &next.Nodes[i]
	if n.Dropped == r.Epoch && !w.off[DroppedSettled] {
		m.Phase, m.Epoch, m.View, m.Outcome = resending, r.Epoch, current, requeue
		w.step(Action{kind: settlesDroppedTurn, who: worker(i)}, next, "")
		return
	}
	if n.Phase == granted {
		m.Late = n.Epoch
	}
	m.View = current
	w.step(Action{kind: startsOwned, who: worker(i), arg: r.Attempt}, next, w.startTurn(next, i, r.Epoch))
}

// endWork removes the node's worker, and a resident process that is no longer needed.
func (w *walk) endWork(s *State, i int) {
	n := &s.Nodes[i]
	r := &s.Run
	n.Phase, n.Epoch, n.View, n.Outcome = idle, 0, current, 0
	s.releaseView(worker(i))
	if n.Dropped != 0 && (n.Dropped != r.Epoch || r.State != running) {
		n.Dropped = 0
	}
	if (r.State != waiting && r.State != queued) || r.Owner != owner(i+1) {
		n.Resident = false
	}
}

// dropTurn ends a turn whose lease could not be renewed, before another node recovers the run.
func (w *walk) dropTurn(i int) {
	next := w.newStep()
	n, r := &next.Nodes[i], &next.Run
	if r.State == running && r.Epoch == n.Epoch && r.Owner == owner(i+1) {
		n.Dropped = n.Epoch
	}
	w.endWork(next, i)
	w.step(Action{kind: dropsTurn, who: worker(i)}, next, "")
}
