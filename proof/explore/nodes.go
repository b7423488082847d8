package explore

// registry: leases, and nodes that come and go.
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
			broken := ""
			if n.Up && !n.Lapsed {
				broken = "PI-13: a node that lives and keeps its lease is taken for dead"
			}
			w.step(Action{what: expires, who: worker(j), arg: uint8(i)}, next, broken)
		}
	}
	if !n.Up {
		return
	}
	if next := w.breaks(); next != nil {
		next.leaves(i)
		next.Nodes[i].Up, next.Nodes[i].Lapsed = false, false
		w.step(Action{what: crashes, who: who}, next, "")
	}
	switch {
	case !n.Registered:
		next := w.newStep()
		next.leaves(i)
		w.comesBack(next, i, true)
		w.seen.came(staleEpoch)
		w.step(Action{what: rejoins, who: who, came: staleEpoch}, next, "")
	case n.Lapsed:
		next := w.newStep()
		next.Nodes[i].Lapsed = false
		w.step(Action{what: renews, who: who}, next, "")
	default:
		if next := w.breaks(); next != nil {
			next.Nodes[i].Lapsed = true
			w.step(Action{what: lapses, who: who}, next, "")
		}
	}
	if n.Resident && n.Phase == idle {
		if next := w.breaks(); next != nil {
			next.Nodes[i].Resident = false
			w.step(Action{what: processDies, who: who}, next, "")
		}
	}
}

// restart brings the node back. Its first recovery finds its former self dead, on the same machine,
// at once; that is one step here.
func (w *walk) restart(i int) {
	next := w.newStep()
	w.comesBack(next, i, !w.off[RestartID])
	w.step(Action{what: restarts, who: worker(i)}, next, "")
}

// leaves ends everything that the node has in hand; what it has sent is on its way.
func (s *State) leaves(i int) {
	n := &s.Nodes[i]
	s.forget(worker(i))
	s.forget(upkeep(i))
	*n = Node{Up: n.Up, Registered: n.Registered, Sent: n.Sent}
}

// comesBack registers the node, under another id.
func (w *walk) comesBack(s *State, i int, anew bool) {
	n := &s.Nodes[i]
	n.Up, n.Registered, n.Lapsed = true, true, false
	if !anew {
		return
	}
	n.Sent.Former = n.Sent.Epoch != 0
	if s.Run.Owner == owner(i+1) {
		s.Run.Owner = former
	}
	if s.Kept.Owner == owner(i+1) {
		s.Kept.Owner = former
	}
}
