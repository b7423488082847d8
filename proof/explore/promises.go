package explore

import "fmt"

// changed checks that no commit changes an ended run or settles a question twice.
func (m *model) changed(before, next *Run) string {
	if m.over(before) {
		return "PI-16: a run that has ended changes"
	}
	for i, was := range before.Settled {
		if was != unsettled && next.Settled[i] != was {
			return fmt.Sprintf("PI-18: question %d was %s, and is %s now", i+1, was, next.Settled[i])
		}
	}
	return ""
}

// check returns the promise of the protocol that the state breaks, or "".
func (m *model) check(s *State) string {
	for _, p := range promises {
		if !p.holds(m, s) {
			return p.id + ": " + p.doc
		}
	}
	return ""
}

// promise is a promise of the protocol. The contract's invariants are checked separately.
type promise struct {
	id, doc string
	holds   func(m *model, s *State) bool
}

var promises = []promise{
	{"PI-01", "a slot is held exactly by a turn that executes, and by a sticky run that waits or was answered",
		slotRight},
	{"PI-02", "a run that has ended holds no slot, owner, question or answer", func(m *model, s *State) bool {
		r := &s.Run
		return !m.over(r) || !r.Slot && r.Owner == 0 && r.Pending == 0 && r.Answer == 0
	}},
	{"PI-03", "at most one worker has the current epoch of a turn that executes", oneWorker},
	{"PI-04", "a question is open exactly while the run waits, and it is the last one", func(m *model, s *State) bool {
		r := &s.Run
		return (r.Pending != 0) == (r.State == waiting) && (r.Pending == 0 || r.Pending == r.Asked ||
			m.scenario.Together > 0 && r.Pending < r.Asked) &&
			(r.Sibling == 0 || r.Pending != 0 && r.Sibling == r.Asked)
	}},
	{"PI-05", "a deadline belongs to the open question", func(_ *model, s *State) bool {
		return s.Run.Deadline == 0 || s.Run.Pending != 0 && s.Run.Deadline == s.Run.Asked
	}},
	{"PI-06", "each question but the open one is settled, and the open one is not", settledRight},
	{"PI-07", "an accepted answer is kept until its turn has ended", func(_ *model, s *State) bool {
		r := &s.Run
		return r.State != queued && r.State != running || r.Answer == r.Asked
	}},
	{"PI-08", "no more slots are held than the pool has", func(_ *model, s *State) bool {
		return !s.Rival || !s.Run.Slot
	}},
	{"PI-09", "events and record agree", func(m *model, s *State) bool {
		r, l := &s.Run, &s.Log
		return m.bare || r.State == l.State && r.Attempt == l.Attempt && r.Asked == l.Asked && r.Autos == l.Autos &&
			r.Pending == l.Open && r.Sibling == l.Sibling && r.Replies == l.Replies && r.Yielded == l.Yielded &&
			r.Held == l.Held && r.Raisable == l.Raisable &&
			r.Fired == l.Fired && r.Voted == l.Voted && r.Claim == l.Claim && r.To == l.To
	}},
	{"PI-25", "a held run is in the queue or waits, and has no slot", func(_ *model, s *State) bool {
		r := &s.Run
		return !r.Held || (r.State == queued || r.State == waiting) && !r.Slot
	}},
	{"PI-26", "a run that would start a turn next is held for its budget exactly if that is used up, unless it is " +
		"held for something else", func(m *model, s *State) bool {
		r := &s.Run
		return !m.scenario.Budget || r.State != queued || r.Spent == (r.Raisable || r.Spent && r.Held)
	}},
	{"PI-27", "of questions that were asked together one stays open only as long as answers are missing",
		func(m *model, s *State) bool {
			return s.Run.Pending == 0 || m.scenario.Together == 0 || int(s.Run.Replies) < m.scenario.Together
		}},
	{"PI-28", "steps, votes and a claim belong to the open question, and each step is carried out once",
		func(_ *model, s *State) bool {
			r := &s.Run
			return r.Fired <= 1 && (r.Pending != 0 || r.Fired == 0 && r.Voted == 0 && r.Claim == 0 && r.To == 0)
		}},
	{"PI-30", "a question without a wait has the one that the requirements give it", waitRight},
	{"PI-19", "a turn that executes has an owner", func(_ *model, s *State) bool {
		return s.Run.State != running || s.Run.Owner != 0
	}},
}

func slotRight(m *model, s *State) bool {
	r := &s.Run
	due := r.State == running || m.scenario.Sticky && r.Profile && (r.State == waiting || r.State == queued &&
		r.Answer != 0)
	return r.Slot == due
}

// waitRight checks the waiting policy against D1 to D4: the facts of a wait that ends follow from it.
func waitRight(m *model, s *State) bool {
	want := "auto_decide"
	if m.scenario.Strict {
		if want = "keep_waiting"; m.scenario.Sticky {
			want = "fail"
		}
	}
	return s.Run.State != waiting || m.scenario.Then != "" || m.policy.OnDeadline == want
}

func oneWorker(m *model, s *State) bool {
	if s.Run.State != running {
		return true
	}
	n := 0
	for i := range m.bounds.Nodes {
		if s.Nodes[i].Phase != idle && s.Nodes[i].Epoch == s.Run.Epoch {
			n++
		}
	}
	return n <= 1
}

func settledRight(_ *model, s *State) bool {
	r := &s.Run
	for i, how := range r.Settled {
		id := uint8(i + 1)
		if (how != unsettled) != (id <= r.Asked && id != r.Pending && id != r.Sibling) {
			return false
		}
	}
	return true
}
