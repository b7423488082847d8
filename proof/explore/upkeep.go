package explore

// upkeep takes the steps of a node that do not belong to a turn: the node fires deadlines, recovers
// the runs of dead nodes, and watches resident processes. Their commits have no fence: the first
// commit wins.
func (w *walk) upkeep(i int) {
	s := w.from
	n, r := &s.Nodes[i], &s.Run
	who := upkeep(i)
	if n.Upkeep.Task != noTask {
		w.commitUpkeep(i, n.Upkeep)
		return
	}
	if r.State == waiting && r.Deadline != 0 && (s.Due || w.off[DeadlinePassed]) {
		w.planUpkeep(i, Action{kind: readsDeadline, who: who, arg: r.Deadline}, Command{Task: fireDeadline,
			ID: r.Deadline})
	}
	recoverable, parked := w.recoverable(s, i), r.State == waiting && !r.Slot
	switch {
	case recoverable && parked && r.Held: // it already waits for a person's decision
	case recoverable && parked: // it continues to wait, unless the engine refuses its session
		w.planUpkeep(i, Action{kind: readsRefusedOrphan, who: who}, Command{Task: recoverOrphan, ID: 1})
	case recoverable:
		w.planUpkeep(i, Action{kind: readsOrphan, who: who}, Command{Task: recoverOrphan})
	}
	if recoverable && !w.scenario.Sticky && !r.Held && (parked || r.State == running) {
		w.planUpkeep(i, Action{kind: readsOrphanToHold, who: who}, Command{Task: recoverOrphan, ID: holdOrphan})
	}
	if r.State == waiting && r.Owner == owner(i+1) && w.scenario.Sticky && !n.Resident && n.Phase == idle {
		w.planUpkeep(i, Action{kind: noticesLostProcess, who: who}, Command{Task: reportLoss, ID: r.Pending})
	}
}

func (w *walk) planUpkeep(i int, a Action, op Command) {
	next := w.newStep()
	next.Nodes[i].Upkeep = op
	w.step(a, next, "")
}

// recoverable reports whether the node would recover the run: the run is an orphan, and it is not
// an orphan of this node, which must register again first.
func (w *walk) recoverable(s *State, i int) bool {
	r := &s.Run
	switch {
	case w.over(r) || w.off[RecoverRunning] && r.State == running ||
		w.off[RecoverAnswered] && r.State == queued:
		return false
	case w.off[RecoverOrphans] && r.Owner != 0:
		return true
	}
	return w.orphaned(s) && r.Owner != owner(i+1)
}

func (w *walk) commitUpkeep(i int, op Command) {
	s := w.newStep()
	a := Action{kind: commits, who: upkeep(i), arg: op.ID}
	base, ok := w.read(w.from, a.who, op.View, versionOf[op.Task])
	s.Nodes[i].Upkeep = Command{}
	s.releaseView(a.who)
	if !ok {
		a.result = conflict
		w.coverage.addResult(a.result)
		w.step(a, s, "")
		return
	}
	switch op.Task {
	case fireDeadline:
		w.commit(s, a, base, w.expire(base))
	case reportLoss:
		w.commit(s, a, base, &change{event: processLost})
	default:
		w.commitRecovery(s, i, a, base, op.ID == holdOrphan)
	}
}

// expire returns the change that a passed deadline makes to a waiting run.
func (w *walk) expire(r *Run) *change {
	if w.scenario.Then != "" {
		return w.endOwnWait(r)
	}
	decides := w.policy.OnDeadline == "auto_decide"
	ch := &change{event: waitTimeout, extra: pendingMatches | deadlinePassed | when(decides, waitDecides) |
		when(w.policy.OnDeadline == "fail", waitFails), id: r.Pending}
	if decides && w.facts(r)&autoDecisionLeft != 0 {
		ch.event, ch.by = autoDecided, byDeadline
		ch.extra |= ruleMet
	}
	return ch
}

// commitRecovery settles an orphan.
func (w *walk) commitRecovery(s *State, i int, a Action, base *Run, hold bool) {
	broken := ""
	if !w.orphaned(s) {
		broken = "PI-12: recovery settles a run whose owner is alive"
	}
	if w.off[RecoverOrphans] && broken != "" {
		w.step(a, s, broken)
		return
	}
	w.commit(s, a, base, w.recoverRun(base, i, hold))
}

// recoverRun returns the change that settles an orphan, or a parked run whose session is refused.
// With hold, the host's policy is to hold the run.
func (w *walk) recoverRun(r *Run, i int, hold bool) *change {
	switch {
	case hold && r.State == running:
		return &change{event: turnYielded, extra: passing, node: i, hold: true}
	case hold:
		return &change{event: runBlocked, extra: contextLost, node: i, hold: true}
	}
	if r.State == running {
		repeat := &change{event: requeue, extra: workerGone, node: i}
		if _, ruled := w.decide(r, repeat); ruled.allowed() {
			return repeat
		}
	}
	return &change{event: reconcileFailed, extra: contextLost | workerGone, node: i}
}
