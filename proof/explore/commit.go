package explore

import "github.com/interlude-go/interlude/contract"

// model is what an exploration asks of one scenario.
type model struct {
	law           *law
	bounds        Bounds
	scenario      Scenario
	off           [switches]bool
	bare          bool // without logs: what is told is not looked at
	only          string
	judge         *judge
	seen          Coverage
	ends          [len(placeNamesArray)]bool // which states are terminal
	policy        contract.WaitRule
	probedAlready map[probed]bool
	said          []verdict // what turns ended with, numbered as actions name them
}

// wish is a transition that somebody wants, and what it brings: the explorer's form of lifecycle's
// change.
type wish struct {
	event happening
	extra facts // those that the record does not tell
	id    uint8 // of the question that is settled
	by    settlement
	node  int // who starts, parks or recovers the run
	code  string
	// asked: the engine was asked for its profile; handle: it gave a handle.
	asked, handle bool
}

// facts are what a record tells about itself.
func (m *model) facts(r *Run) facts {
	sc := &m.scenario
	return when(r.Slot, slotHeld) | when(sc.Interactive, interactive) | when(r.Profile && sc.Sticky, sticky) |
		when(r.Session, handlePresent) |
		when(sc.Strict, strict) | when(int(r.Autos) < sc.MaxAuto, autoDecisionLeft) | when(sc.Repeatable, repeatable) |
		when(sc.MaxAttempt > 0 && int(r.Attempt) >= sc.MaxAttempt, attemptsExhausted) | when(sc.Spent, repeatsExhausted)
}

func (m *model) over(r *Run) bool { return m.ends[r.State] }

// decide is the one place that turns a wish into the record as it will stand. It is pure.
func (m *model) decide(prev *Run, w *wish) (Run, ruling) {
	next := *prev
	next.Profile = next.Profile || w.asked
	next.Session = next.Session || w.handle
	r := m.law.next(prev.State, w.event, m.facts(&next)|w.extra)
	if !r.taken() {
		return *prev, r
	}
	next.State = r.to
	switch {
	case r.slot == acquires:
		next.Slot = true
	case r.slot == releases && !m.off[CommitSlot]:
		next.Slot = false
	}
	if prev.State == waiting && r.to != waiting {
		m.settle(&next, w)
	}
	m.enter(&next, prev, w)
	return next, r
}

// settle closes the open question: how, is what its receipt says later.
func (m *model) settle(next *Run, w *wish) {
	id, by := next.Pending, w.by
	if by == unsettled {
		by = abandoned
	}
	if w.event == replyAccepted {
		id = w.id
	}
	if !m.off[CommitReceipt] && 0 < id && id <= MaxQuestions {
		next.Settled[id-1] = by
	}
	next.Pending = 0
	if !m.off[CommitDeadline] {
		next.Deadline = 0
	}
}

// enter sets what the new state implies.
func (m *model) enter(next, prev *Run, w *wish) {
	switch next.State {
	case queued:
		if !next.Slot {
			next.Owner = 0
		}
		if w.by.answered() && !m.off[CommitAnswer] {
			next.Answer = w.id
		}
		if w.by == byNobody {
			next.Autos++
		}
	case running:
		next.Attempt++
	case waiting:
		next.Owner = owner(w.node + 1)
		if prev.State != waiting && w.event == turnNeedsInput {
			next.Answer = 0
			next.Asked++
			next.Pending = next.Asked
			m.seen.rule(m.policy.ID)
			if m.policy.OnDeadline != "keep_waiting" {
				next.Deadline = next.Asked
			}
		}
	default:
		next.Owner, next.Answer = 0, 0
	}
}

// read returns the record that a view's holder decides on, and whether the store will take a commit
// that is made on it.
func (m *model) read(s *State, who actor, v view, guard Switch) (*Run, bool) {
	switch {
	case v == current:
		return &s.Run, true
	case m.off[guard] && s.Keeper == who:
		return &s.Kept, true
	}
	return nil, false
}

// store makes the commit: the record, the clock's word on its deadline, what others now have in
// hand, and the events. It says what law was broken.
func (m *model) store(s *State, next Run, w *wish, r ruling, from place, by actor) string {
	before := s.Run
	due := s.Due
	s.Run = next
	if next.Deadline != before.Deadline {
		s.Due = false
	}
	m.touch(s, &before, by)
	m.seen.rule(r.rule)
	broken := m.changed(&before, &next)
	if m.bare {
		return broken
	}
	if m.off[CommitEvents] {
		return broken
	}
	told := m.emit(s, &emission{arrow: r.arrow, from: from, next: next.visible(), id: w.id, code: w.code, due: due})
	if broken == "" {
		broken = told
	}
	return broken
}

// touch ends what was current for everybody but who made the commit.
func (m *model) touch(s *State, before *Run, by actor) {
	for i := range s.Users {
		if op := &s.Users[i]; op.Task != nothing {
			m.outdate(s, &op.View, user(i), by, before, versionOf[op.Task])
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Upkeep.Task != nothing {
			m.outdate(s, &n.Upkeep.View, upkeep(i), by, before, versionOf[n.Upkeep.Task])
		}
		if n.Sent.Epoch != 0 {
			m.outdate(s, &n.Sent.View, sender(i), by, before, VersionFinish)
		}
		if n.Phase != idle {
			mine := by == sender(i) && n.View == current && n.Sent.Epoch == n.Epoch && !n.Sent.Former
			m.outdate(s, &n.View, worker(i), by, before, VersionFinish)
			if mine {
				n.View = landed
			}
		}
	}
}

// outdate makes one view stale. Where the version is not compared, its holder keeps what it had
// read.
func (m *model) outdate(s *State, v *view, who, by actor, before *Run, guard Switch) {
	if who == by {
		return
	}
	if *v == current && m.off[guard] && s.Keeper == 0 {
		s.Keeper, s.Kept = who, *before
	}
	*v = stale
}

// versionOf says whose compare-and-set a command's is.
var versionOf = [...]Switch{reply: VersionReply, cancel: VersionCancel, sweep: VersionDeadline,
	recovery: VersionRecovery, loss: VersionLoss}

// forget ends a holder's view.
func (s *State) forget(who actor) {
	if s.Keeper == who {
		s.Keeper, s.Kept = 0, Run{}
	}
}
