package explore

// upkeep is what a node does beside its turns: it fires deadlines, recovers what dead nodes left,
// and watches over resident processes. None of it is fenced: whoever comes first is right.
func (w *walk) upkeep(i int) {
	s := w.from
	n, r := &s.Nodes[i], &s.Run
	who := upkeep(i)
	if n.Upkeep.Task != nothing {
		w.upkeepStores(i, n.Upkeep)
		return
	}
	if r.State == waiting && r.Deadline != 0 && (s.Due || w.off[DeadlinePassed]) {
		w.plans(i, Action{what: sweeps, who: who, arg: r.Deadline}, Op{Task: sweep, ID: r.Deadline})
	}
	if w.recoverable(s, i) {
		w.plans(i, Action{what: recovers, who: who}, Op{Task: recovery})
		if r.State == waiting && !w.scenario.Sticky {
			w.plans(i, Action{what: findsRefused, who: who}, Op{Task: recovery, ID: 1})
		}
	}
	if r.State == waiting && r.Owner == owner(i+1) && w.scenario.Sticky && !n.Resident && n.Phase == idle {
		w.plans(i, Action{what: mournsProcess, who: who}, Op{Task: loss, ID: r.Pending})
	}
}

func (w *walk) plans(i int, a Action, op Op) {
	next := w.newStep()
	next.Nodes[i].Upkeep = op
	w.step(a, next, "")
}

// recoverable: the run is an orphan, and not one of the node itself, which has to join again first.
func (w *walk) recoverable(s *State, i int) bool {
	r := &s.Run
	switch {
	case w.over(r) || w.off[RecoverWaiting] && r.State == waiting || w.off[RecoverRunning] && r.State == running ||
		w.off[RecoverAnswered] && r.State == queued:
		return false
	case w.off[RecoverOrphans] && r.Owner != 0:
		return true
	}
	return w.orphaned(s) && r.Owner != owner(i+1)
}

func (w *walk) upkeepStores(i int, op Op) {
	s := w.newStep()
	a := Action{what: stores, who: upkeep(i), arg: op.ID}
	base, ok := w.read(w.from, a.who, op.View, versionOf[op.Task])
	s.Nodes[i].Upkeep = Op{}
	s.forget(a.who)
	if !ok {
		a.came = conflict
		w.seen.came(a.came)
		w.step(a, s, "")
		return
	}
	switch op.Task {
	case sweep:
		w.commit(s, a, base, w.expire(base))
	case loss:
		w.commit(s, a, base, &wish{event: processLost})
	default:
		w.rescues(s, i, a, base, op.ID == 1)
	}
}

// expire is what a passed deadline makes of a waiting run.
func (w *walk) expire(r *Run) *wish {
	ch := &wish{event: waitTimeout, extra: pendingMatches | deadlinePassed, id: r.Pending}
	if w.policy.OnDeadline == "auto_decide" && w.facts(r)&autoDecisionLeft != 0 {
		ch.event, ch.by = autoDecided, byNobody
	}
	return ch
}

// rescues settles an orphan.
func (w *walk) rescues(s *State, i int, a Action, base *Run, refused bool) {
	broken := ""
	if !w.orphaned(s) {
		broken = "PI-12: recovery settles a run whose owner is alive"
	}
	if w.off[RecoverOrphans] && broken != "" {
		w.step(a, s, broken)
		return
	}
	w.commit(s, a, base, w.rescue(base, i, refused))
}

// rescue says what becomes of an orphan.
func (w *walk) rescue(r *Run, i int, refused bool) *wish {
	known := w.facts(r)
	switch {
	case r.State == running:
		again := &wish{event: requeue, extra: workerGone, node: i}
		if _, ruled := w.decide(r, again); ruled.taken() {
			return again
		}
	case known&sticky != 0:
	case r.State == waiting && !refused && r.Session:
		return &wish{event: preserveWaiting, extra: pendingMatches, node: i}
	}
	return &wish{event: reconcileFailed, extra: contextLost | workerGone, node: i}
}
