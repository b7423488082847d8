package explore

import "slices"

// finish ends the turn in each way that the gate knows, and in those that the engine has no part
// in.
func (w *walk) finish(i int) {
	n := &w.from.Nodes[i]
	known := w.from.Run
	if base, ok := w.read(w.from, worker(i), n.View, VersionFinish); ok {
		known = *base
	}
	r := known
	r.Profile = true
	for _, v := range w.law.verdicts(w.facts(&r)) {
		asks := v.outcome == turnNeedsInput
		if asks && (int(r.Asked) >= w.bounds.Questions || int(r.Attempt) >= w.bounds.Attempts) {
			continue
		}
		if v.outcome != turnFailed && w.scenario.Sticky && r.Answer != 0 && !n.Resident {
			continue // the process that should go on is not there
		}
		arg := w.saying(v)
		wish := w.wishOf(v.outcome, &r, i)
		wish.code = v.code
		for _, rule := range v.rules {
			w.seen.rule(rule)
		}
		w.put(w.newStep(), i, Action{what: finishes, who: worker(i), arg: arg}, wish)
		if next := w.breaks(); next != nil && n.View == current && n.Sent.Epoch == 0 {
			m := &next.Nodes[i]
			m.Phase, m.Outcome = unsure, v.outcome
			m.Sent = Sent{Epoch: n.Epoch, Outcome: v.outcome}
			w.step(Action{what: sends, who: worker(i), arg: arg}, next, "")
		}
	}
	if next := w.breaks(); next != nil {
		w.put(next, i, Action{what: interrupted, who: worker(i)}, w.wishOf(requeue, &known, i))
	}
}

// saying gives the verdict a number, for the text of a counter-example.
func (m *model) saying(v verdict) uint8 {
	i := slices.IndexFunc(m.said, func(o verdict) bool { return o.outcome == v.outcome && o.code == v.code })
	if i < 0 {
		m.said = append(m.said, v)
		return uint8(len(m.said) - 1)
	}
	return uint8(i)
}

// wishOf is what a worker wants to store of an outcome. An interrupted turn goes back to the queue
// where it may be repeated.
func (w *walk) wishOf(outcome happening, r *Run, i int) *wish {
	switch outcome {
	case requeue:
		again := &wish{event: requeue, extra: workerGone, node: i}
		if _, ruled := w.decide(r, again); ruled.taken() {
			return again
		}
		return &wish{event: reconcileFailed, extra: workerGone, node: i}
	case turnNeedsInput:
		return &wish{event: outcome, node: i, asked: true, handle: !w.scenario.Sticky}
	}
	return &wish{event: outcome, node: i, asked: true}
}

// fenced says whether the store lets a worker's commit through.
func (w *walk) fenced(s *State, i int, epoch uint8, formerID bool) bool {
	n := &s.Nodes[i]
	return (w.off[FenceRegistered] || n.Registered && !formerID) &&
		(w.off[FenceNode] || s.Run.Owner == owner(i+1) && !formerID) &&
		(w.off[FenceEpoch] || s.Run.Epoch == epoch)
}

const deadWrites = "PI-11: a node that was taken for dead writes"

// mayWrite says what is wrong with a worker's commit, whatever the store looked at.
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

// put stores a worker's outcome under its fence. The fence is looked at before the version.
func (w *walk) put(s *State, i int, a Action, wish *wish) {
	n := &s.Nodes[i]
	base, ok := w.read(w.from, a.who, n.View, VersionFinish)
	switch {
	case !w.fenced(s, i, n.Epoch, false):
		a.came = staleEpoch
		w.ends(s, i)
	case !ok:
		a.came = conflict
		n.Phase = unsure
		if n.Outcome == 0 {
			n.Outcome = wish.event
		}
	default:
		w.putStored(s, i, a, base, wish)
		return
	}
	w.seen.came(a.came)
	w.step(a, s, "")
}

func (w *walk) putStored(s *State, i int, a Action, base *Run, wish *wish) {
	next, r := w.decide(base, wish)
	if !r.taken() {
		w.seen.rule(r.rule)
		w.step(a, s, "the contract refuses "+wish.event.String()+" to a worker: "+r.code)
		return
	}
	a.came = stored
	broken := w.mayWrite(i, s.Nodes[i].Epoch, false)
	if b := w.store(s, next, wish, r, base.State, a.who); broken == "" {
		broken = b
	}
	w.ends(s, i)
	w.step(a, s, broken)
}

// onTheWay lets what a worker sent arrive, or be lost.
func (w *walk) onTheWay(i int) {
	sent := w.from.Nodes[i].Sent
	who := sender(i)
	lost := w.newStep()
	lost.Nodes[i].Sent = Sent{}
	lost.forget(who)
	w.step(Action{what: vanishes, who: who}, lost, "")

	s := w.newStep()
	a := Action{what: arrives, who: who}
	base, ok := w.read(w.from, who, sent.View, VersionFinish)
	var wish *wish
	var next Run
	var r ruling
	if ok {
		wish = w.wishOf(sent.Outcome, base, i)
		next, r = w.decide(base, wish)
	}
	broken := ""
	switch {
	case !w.fenced(s, i, sent.Epoch, sent.Former):
		a.came = staleEpoch
	case !ok || !r.taken():
		a.came = conflict
	default:
		a.came = stored
		broken = w.mayWrite(i, sent.Epoch, sent.Former)
		if b := w.store(s, next, wish, r, base.State, who); broken == "" {
			broken = b
		}
	}
	w.seen.came(a.came)
	s.Nodes[i].Sent = Sent{}
	s.forget(who)
	w.step(a, s, broken)
}

// checkOutcome lets a worker see whether the outcome of which it heard nothing was stored after all.
func (w *walk) checkOutcome(i int) {
	next := w.newStep()
	n, r := &next.Nodes[i], &next.Run
	a := Action{what: looks, who: worker(i), came: notArrived}
	mine := r.Epoch == n.Epoch
	answered := n.View == stale && n.Outcome == turnNeedsInput && r.Owner == owner(i+1)
	if w.off[WorkerLook] || mine && (n.View == landed || answered) {
		a.came = arrived
		w.ends(next, i)
	} else {
		n.Phase = again
	}
	w.seen.came(a.came)
	w.step(a, next, "")
}
