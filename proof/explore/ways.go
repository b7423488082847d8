package explore

// ways are the steps that nodes, deadlines and other runs take by themselves: no fault, and nothing
// that a person does.
type ways struct {
	first []uint32 // where the steps of a state begin in to
	to    []uint32
	done  []bool // the state is an end, or a wait without one
}

// from begins the steps of the next state.
func (w *ways) from(_ uint32, done bool) {
	w.first = append(w.first, uint32(len(w.to)))
	w.done = append(w.done, done)
}

func (w *ways) add(to uint32) { w.to = append(w.to, to) }

// helps reports whether the step happens in the long run without anybody's wish and without
// anything that breaks.
func (a Action) helps() bool {
	switch a.what {
	case submits, replies, repliesAgain, cancels, interrupted, sends, lapses, crashes, processDies, claimsUnheard,
		rivalTakes:
		return false
	}
	return a.who != user(0) && a.who != user(1)
}

// arrived reports whether the state needs nobody to go on: the run is over, or it may wait for a
// person without end (D1) and its owner lives.
func (s *search) arrived(from *State) bool {
	r := &from.Run
	return s.over(r) || r.State == waiting && s.scenario.Strict && !s.scenario.Sticky && !s.orphaned(from)
}

// stuck finds the first state from which no way leads on.
func (s *search) stuck() (uint32, bool) {
	w := &s.ways
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
