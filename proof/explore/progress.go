package explore

// progress is the graph of the steps that need no person and no fault: steps of nodes, deadlines
// and other runs. If an end can be reached in this graph from every state, no run can be stuck.
type progress struct {
	first []uint32 // for each state, the index in to of its first step
	to    []uint32 // the state that each step leads to
	done  []bool   // for each state, whether an end was reached from it
}

// addState adds the next state. The steps that are added afterwards begin in this state.
func (p *progress) addState(done bool) {
	p.first = append(p.first, uint32(len(p.to)))
	p.done = append(p.done, done)
}

func (p *progress) addStep(to uint32) { p.to = append(p.to, to) }

// isProgress reports whether the step happens sooner or later even if no person acts and nothing
// breaks.
func (a Action) isProgress() bool {
	switch a.kind {
	case submits, readsToReply, readsToReuseKey, readsToCancel, interrupted, finishesDisconnected, lapses, crashes,
		processDies, claimsUnacknowledged,
		rivalClaims:
		return false
	}
	return a.who != user(0) && a.who != user(1)
}

// isFinal reports whether the system may stay in the state without limit: the run has ended, it is
// held until a decision (J5), or it waits for a person without a deadline (D1, K7), whether or not
// the node that parked it is alive (J7).
func (s *search) isFinal(from *State) bool {
	r := &from.Run
	switch s.scenario.Then {
	case "":
		return s.over(r) || r.Held || r.State == waiting && s.scenario.Strict && !s.scenario.Sticky
	case thenWait:
		return s.over(r) || r.Held || r.State == waiting && r.Fired > 0
	}
	return s.over(r) || r.Held
}

// findStuck finds the first state from which no steps lead to a final one. It walks the graph
// backwards from all final states.
func (s *search) findStuck() (uint32, bool) {
	w := &s.progress
	n := len(w.done)
	w.first = append(w.first, uint32(len(w.to)))
	back := make([]uint32, n+1)
	for _, to := range w.to {
		back[to+1]++
	}
	for i := range n {
		back[i+1] += back[i]
	}
	from := make([]uint32, len(w.to))
	fill := append([]uint32(nil), back[:n]...)
	for i := range n {
		for _, to := range w.to[w.first[i]:w.first[i+1]] {
			from[fill[to]] = uint32(i)
			fill[to]++
		}
	}
	var queue []uint32
	for i, done := range w.done {
		if done {
			queue = append(queue, uint32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, i := range from[back[at]:back[at+1]] {
			if !w.done[i] {
				w.done[i] = true
				queue = append(queue, i)
			}
		}
	}
	for i, done := range w.done {
		if !done {
			return uint32(i), true
		}
	}
	return 0, false
}
