package explore

import "slices"

// finish ends the turn in each way that the completion gate allows, by an interruption, by a
// passing failure, and by a failure that holds the run.
func (w *walk) finish(i int) {
	n := &w.from.Nodes[i]
	known := w.from.Run
	if base, ok := w.read(w.from, worker(i), n.View, VersionFinish); ok {
		known = *base
	}
	r := known
	r.Profile = true
	for _, v := range w.rules.verdicts(w.facts(&r)) {
		asks := v.outcome == turnNeedsInput
		if asks && (w.asksTooMuch(&r) || int(r.Attempt) >= w.bounds.Attempts) {
			continue
		}
		if v.outcome != turnFailed && w.scenario.Sticky && r.Answer != 0 && !n.Resident {
			continue // the resident process that should continue is gone
		}
		arg := w.outcomeNumber(v)
		change := w.changeFor(v.outcome, &r, i)
		change.code = v.code
		for _, rule := range v.rules {
			w.coverage.addRule(rule)
		}
		w.put(w.newStep(), i, Action{kind: finishes, who: worker(i), arg: arg}, change)
		if next := w.newFault(); next != nil && n.View == current && n.Sent.Epoch == 0 {
			m := &next.Nodes[i]
			m.Phase, m.Outcome = unconfirmed, v.outcome
			m.Sent = Sent{Epoch: n.Epoch, Outcome: v.outcome}
			w.step(Action{kind: finishesDisconnected, who: worker(i), arg: arg}, next, "")
		}
	}
	if next := w.newFault(); next != nil {
		w.put(next, i, Action{kind: interrupted, who: worker(i)}, w.changeFor(requeue, &known, i))
	}
	if next := w.newFault(); next != nil && !w.scenario.Sticky && !w.scenario.NoRepeatLeft {
		w.put(next, i, Action{kind: putsOff, who: worker(i)}, w.changeFor(turnYielded, &known, i))
	}
	if next := w.newFault(); next != nil && !w.scenario.Sticky {
		w.put(next, i, Action{kind: holds, who: worker(i)}, &change{event: turnYielded, extra: passing, node: i,
			asked: true, hold: true})
	}
	if next := w.newFault(); next != nil && !w.scenario.Sticky {
		w.put(next, i, Action{kind: handsBack, who: worker(i)}, &change{event: requeue, extra: workerGone, node: i,
			handBack: true})
	}
}

// asksTooMuch reports whether one more turn that asks would exceed the bound. Two questions that
// are asked at once are always within it, once.
func (w *walk) asksTooMuch(r *Run) bool {
	n := int(w.scenario.asks())
	return int(r.Asked)+n > max(w.bounds.Questions, n) || w.bounds.Questions == 0
}

// outcomeNumber gives the verdict a number, for the text of a counter-example.
func (m *model) outcomeNumber(v verdict) uint8 {
	i := slices.IndexFunc(m.outcomes, func(o verdict) bool { return o.outcome == v.outcome && o.code == v.code })
	if i < 0 {
		m.outcomes = append(m.outcomes, v)
		return uint8(len(m.outcomes) - 1)
	}
	return uint8(i)
}

// changeFor returns the change that a worker wants to store for an outcome. An interrupted turn
// returns to the queue if it may be repeated, and fails otherwise. A passing failure holds the run
// if no retry is left.
func (w *walk) changeFor(outcome eventKind, r *Run, i int) *change {
	switch outcome {
	case requeue:
		repeat := &change{event: requeue, extra: workerGone, node: i}
		if _, ruled := w.decide(r, repeat); ruled.allowed() {
			return repeat
		}
		return &change{event: reconcileFailed, extra: workerGone, node: i}
	case turnYielded:
		return &change{event: outcome, extra: passing, node: i, asked: true, hold: w.scenario.NoRepeatLeft}
	case turnNeedsInput:
		return &change{event: outcome, node: i, asked: true, handle: !w.scenario.Sticky}
	}
	return &change{event: outcome, node: i, asked: true}
}

// passesFence reports whether a worker's commit passes the store's fence.
func (w *walk) passesFence(s *State, i int, epoch uint8, formerID bool) bool {
	n := &s.Nodes[i]
	return (w.off[FenceRegistered] || n.Registered && !formerID) &&
		(w.off[FenceNode] || s.Run.Owner == owner(i+1) && !formerID) &&
		(w.off[FenceEpoch] || s.Run.Epoch == epoch)
}

const deadWrites = "PI-11: a node writes whose lease has expired"

// mayWrite returns the promise that a worker's commit breaks, or "". It does not depend on the
// guards.
func (w *walk) mayWrite(i int, epoch uint8, formerID bool) string {
	r := &w.from.Run
	switch {
	case !w.from.Nodes[i].Registered || formerID:
		return deadWrites
	case r.Owner != owner(i+1):
		return "PI-21: a worker writes to a run that its node does not own"
	case r.Epoch != epoch:
		return "PI-22: a worker writes under an epoch that is over"
	}
	return ""
}

// put stores a worker's outcome. The store checks the fence before the version.
func (w *walk) put(s *State, i int, a Action, change *change) {
	n := &s.Nodes[i]
	base, ok := w.read(w.from, a.who, n.View, VersionFinish)
	switch {
	case !w.passesFence(s, i, n.Epoch, false):
		a.result = staleEpoch
		w.endWork(s, i)
	case !ok:
		a.result = conflict
		n.Phase = unconfirmed
		if n.Outcome == 0 {
			n.Outcome = change.event
		}
	default:
		w.commitOutcome(s, i, a, base, change)
		return
	}
	w.coverage.addResult(a.result)
	w.step(a, s, "")
}

func (w *walk) commitOutcome(s *State, i int, a Action, base *Run, change *change) {
	next, r := w.decide(base, change)
	if !r.allowed() {
		w.coverage.addRule(r.rule)
		w.step(a, s, "the contract refuses "+change.event.String()+" to a worker: "+r.code)
		return
	}
	a.result = stored
	broken := w.mayWrite(i, s.Nodes[i].Epoch, false)
	if b := w.store(s, next, change, r, base.State, a.who); broken == "" {
		broken = b
	}
	w.endWork(s, i)
	w.step(a, s, broken)
}

// deliver takes the two steps for a commit that a worker has sent: it arrives, or it is lost.
func (w *walk) deliver(i int) {
	sent := w.from.Nodes[i].Sent
	who := sender(i)
	lost := w.newStep()
	lost.Nodes[i].Sent = Sent{}
	lost.releaseView(who)
	w.step(Action{kind: undelivered, who: who}, lost, "")

	s := w.newStep()
	a := Action{kind: delivered, who: who}
	base, ok := w.read(w.from, who, sent.View, VersionFinish)
	var change *change
	var next Run
	var r ruling
	if ok {
		change = w.changeFor(sent.Outcome, base, i)
		next, r = w.decide(base, change)
	}
	broken := ""
	switch {
	case !w.passesFence(s, i, sent.Epoch, sent.Former):
		a.result = staleEpoch
	case !ok || !r.allowed():
		a.result = conflict
	default:
		a.result = stored
		broken = w.mayWrite(i, sent.Epoch, sent.Former)
		if b := w.store(s, next, change, r, base.State, who); broken == "" {
			broken = b
		}
	}
	w.coverage.addResult(a.result)
	s.Nodes[i].Sent = Sent{}
	s.releaseView(who)
	w.step(a, s, broken)
}

// checkOutcome lets a worker find out whether the outcome that was not acknowledged was stored.
func (w *walk) checkOutcome(i int) {
	next := w.newStep()
	n, r := &next.Nodes[i], &next.Run
	a := Action{kind: checksOutcome, who: worker(i), result: outcomeMissing}
	mine := r.Epoch == n.Epoch
	answered := n.View == stale && n.Outcome == turnNeedsInput && r.Owner == owner(i+1)
	if w.off[OutcomeChecked] || mine && (n.View == landed || answered) {
		a.result = outcomeStored
		w.endWork(next, i)
	} else {
		n.Phase = resending
	}
	w.coverage.addResult(a.result)
	w.step(a, next, "")
}
