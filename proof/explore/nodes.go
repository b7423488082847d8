package explore

// registry takes the steps in which a node's lease or its registration changes.
func (w *walk) registry(i int) {
	s := w.from
	n := &s.Nodes[i]
	who := worker(i)
	if !n.Up {
		w.restart(i)
	}
	for j := range w.bounds.Nodes {
		if j != i && s.Nodes[j].Up && n.Registered && (!n.Up || n.Lapsed || w.off[LeaseEnded]) {
			next := w.newStep()
			next.Nodes[i].Registered, next.Nodes[i].Lapsed = false, false
			broken := w.departs(next, i, worker(j))
			if n.Up && !n.Lapsed {
				broken = "PI-13: the lease of a node expires that lives and renews it"
			}
			w.step(Action{kind: expires, who: worker(j), arg: uint8(i)}, next, broken)
		}
	}
	if !n.Up {
		return
	}
	if next := w.newFault(); next != nil {
		next.abandonWork(i)
		next.Nodes[i].Up, next.Nodes[i].Lapsed = false, false
		w.step(Action{kind: crashes, who: who}, next, "")
	}
	switch {
	case !n.Registered:
		next := w.newStep()
		next.abandonWork(i)
		w.register(next, i, true)
		w.coverage.addResult(staleEpoch)
		w.step(Action{kind: rejoins, who: who, result: staleEpoch}, next, "")
	case n.Lapsed:
		next := w.newStep()
		next.Nodes[i].Lapsed = false
		w.step(Action{kind: renews, who: who}, next, "")
	default:
		if next := w.newFault(); next != nil {
			next.Nodes[i].Lapsed = true
			w.step(Action{kind: lapses, who: who}, next, "")
		}
	}
	if n.Resident && n.Phase == idle {
		if next := w.newFault(); next != nil {
			next.Nodes[i].Resident = false
			w.step(Action{kind: processDies, who: who}, next, "")
		}
	}
}

// restart starts the node again, on the same machine. Its first recovery pass immediately finds the
// previous node dead; here the two are one step.
func (w *walk) restart(i int) {
	next := w.newStep()
	broken := ""
	if next.Nodes[i].Registered {
		broken = w.departs(next, i, worker(i))
	}
	w.register(next, i, !w.off[RestartID])
	w.step(Action{kind: restarts, who: worker(i)}, next, broken)
}

// departs recovers the run that was parked by the node which leaves in this step. The store writes
// nothing: from then on all readers see the run as recovered, and earlier decisions are refused.
// The model therefore treats this like a commit.
func (w *walk) departs(s *State, i int, by actor) (broken string) {
	base := s.Run
	if base.State != waiting || base.Slot || base.Owner != owner(i+1) {
		return ""
	}
	ch := &change{event: preserveWaiting, extra: pendingMatches, node: i}
	next, r := w.decide(&base, ch)
	if !r.allowed() {
		w.coverage.addRule(r.rule)
		return "the contract loses a parked run with its node (" + r.code + ")"
	}
	return w.store(s, next, ch, r, base.State, by)
}

// abandonWork ends everything that the node does. A commit that it has sent may still arrive.
func (s *State) abandonWork(i int) {
	n := &s.Nodes[i]
	s.releaseView(worker(i))
	s.releaseView(upkeep(i))
	*n = Node{Up: n.Up, Registered: n.Registered, Sent: n.Sent}
}

// register registers the node, under a new id unless the guard for that is switched off.
func (w *walk) register(s *State, i int, underNewID bool) {
	n := &s.Nodes[i]
	n.Up, n.Registered, n.Lapsed = true, true, false
	if !underNewID {
		return
	}
	n.Sent.Former = n.Sent.Epoch != 0
	if s.Run.Owner == owner(i+1) {
		s.Run.Owner = former
	}
	if s.StaleRun.Owner == owner(i+1) {
		s.StaleRun.Owner = former
	}
}
