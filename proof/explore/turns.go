package explore

// claim starts a turn, in one step of the store.
func (w *walk) claim(i int) {
	s := w.from
	n, r := &s.Nodes[i], &s.Run
	switch {
	case r.State != queued && (!w.off[ClaimState] || w.over(r)):
		return
	case !n.Registered && !w.off[ClaimRegistered]:
		return // the node rejoins
	case n.Phase != idle && n.Phase != unsure && n.Phase != again:
		return
	case r.Slot && r.Owner != owner(i+1) && !w.off[ClaimHolder] && !w.off[ClaimState]:
		return
	case !r.Slot && s.Rival && !w.off[ClaimCapacity]:
		return
	}
	w.claimed(w.newStep(), i, claims)
	if next := w.breaks(); next != nil {
		w.claimed(next, i, claimsUnheard)
	}
}

func (w *walk) claimed(s *State, i int, how what) {
	base := s.Run
	base.Slot, base.Owner = true, owner(i+1)
	if !w.off[ClaimEpoch] {
		base.Epoch++
	}
	wish := wish{event: turnStarted, node: i}
	if w.off[ClaimState] {
		base.State = queued // it does not look
	}
	next, r := w.decide(&base, &wish)
	a := Action{what: how, who: worker(i), arg: next.Attempt}
	if !r.taken() {
		w.seen.rule(r.rule)
		return
	}
	broken := w.mayClaim(s, i)
	s.Given = s.Run.Answer + 1
	if b := w.store(s, next, &wish, r, s.Run.State, a.who); broken == "" {
		broken = b
	}
	s.forget(worker(i))
	n := &s.Nodes[i]
	n.Phase, n.Epoch, n.View, n.Outcome = granted, next.Epoch, current, 0
	if how == claims {
		if b := w.startTurn(s, i, next.Epoch); broken == "" {
			broken = b
		}
	}
	w.step(a, s, broken)
}

// mayClaim says what is wrong with the claim, whatever the store looked at.
func (w *walk) mayClaim(s *State, i int) string {
	again := s.Given == s.Run.Answer+1
	switch {
	case !s.Nodes[i].Registered:
		return deadWrites
	case again && (!w.scenario.Repeatable || s.Faults == 0):
		return "PI-14: an answer is executed again, though its turn may not be repeated or nothing interrupted it"
	case s.Run.Slot && s.Run.Owner != owner(i+1):
		return "PI-20: a node claims a run whose process another node holds"
	}
	return ""
}

// startTurn has the engine work on the turn of the epoch.
func (w *walk) startTurn(s *State, i int, epoch uint8) string {
	n := &s.Nodes[i]
	n.Phase, n.Epoch = executing, epoch
	if w.scenario.Sticky && s.Run.Answer == 0 {
		n.Resident = true // a new process; the turn after a question finds the one that waited
	}
	bit := uint16(1) << (epoch & 15)
	if s.Begun&bit != 0 {
		return "PI-10: the turn of one claim is executed twice"
	}
	s.Begun |= bit
	return ""
}

// turn is what a worker does.
func (w *walk) turn(i int) {
	n := &w.from.Nodes[i]
	r := &w.from.Run
	held := r.State == running && r.Owner == owner(i+1) && n.Registered && !n.Lapsed // as a renewal tells
	switch n.Phase {
	case idle:
		if held {
			w.man(i)
		}
	case granted:
		w.acknowledge(i)
		if held && w.off[ManWaits] {
			w.man(i)
		}
	case executing:
		w.finish(i)
	case unsure:
		w.checkOutcome(i)
	case again:
		next := w.newStep()
		w.put(next, i, Action{what: resends, who: worker(i)}, w.wishOf(n.Outcome, r, i))
	}
	if n.Late != 0 {
		next := w.newStep()
		next.Nodes[i].Late = 0
		w.step(Action{what: hearsLate, who: worker(i)}, next, w.startTurn(next, i, n.Late))
	}
	if n.Phase == idle || n.Phase == granted {
		return
	}
	if n.Lapsed {
		w.drop(i)
	}
	if r.State != running || r.Owner != owner(i+1) || r.Epoch != n.Epoch {
		next := w.newStep()
		w.ends(next, i)
		w.step(Action{what: letsGo, who: worker(i)}, next, "")
	}
}

// acknowledge lets the answer to a claim come, or not.
func (w *walk) acknowledge(i int) {
	next := w.newStep()
	w.step(Action{what: hears, who: worker(i)}, next, w.startTurn(next, i, next.Nodes[i].Epoch))
	next = w.newStep()
	w.ends(next, i)
	w.step(Action{what: hearsNever, who: worker(i)}, next, "")
}

// man sees to a run that is held here without a worker.
func (w *walk) man(i int) {
	n := &w.from.Nodes[i]
	r := &w.from.Run
	next := w.newStep()
	m := &next.Nodes[i]
	if n.Dropped == r.Epoch && !w.off[ManDropped] {
		m.Phase, m.Epoch, m.View, m.Outcome = again, r.Epoch, current, requeue
		w.step(Action{what: settlesDropped, who: worker(i)}, next, "")
		return
	}
	if n.Phase == granted {
		m.Late = n.Epoch
	}
	m.View = current
	w.step(Action{what: mans, who: worker(i), arg: r.Attempt}, next, w.startTurn(next, i, r.Epoch))
}

// ends takes the worker off the node's books, and with it a process that nobody needs any more.
func (w *walk) ends(s *State, i int) {
	n := &s.Nodes[i]
	r := &s.Run
	n.Phase, n.Epoch, n.View, n.Outcome = idle, 0, current, 0
	s.forget(worker(i))
	if n.Dropped != 0 && (n.Dropped != r.Epoch || r.State != running) {
		n.Dropped = 0
	}
	if (r.State != waiting && r.State != queued) || r.Owner != owner(i+1) {
		n.Resident = false
	}
}

// drop ends a turn whose lease could not be renewed, before others take over.
func (w *walk) drop(i int) {
	next := w.newStep()
	n, r := &next.Nodes[i], &next.Run
	if r.State == running && r.Epoch == n.Epoch && r.Owner == owner(i+1) {
		n.Dropped = n.Epoch
	}
	w.ends(next, i)
	w.step(Action{what: drops, who: worker(i)}, next, "")
}
