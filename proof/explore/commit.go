package explore

import "github.com/interlude-go/interlude/contract"

// model has one scenario with its bounds, the contract's rules, and the guards that are switched
// off.
type model struct {
	rules    *interpreter
	bounds   Bounds
	scenario Scenario
	off      [switches]bool
	bare     bool // without event logs
	only     string
	judge    *judge
	coverage Coverage
	terminal [len(runStateNamesArray)]bool // by state
	policy   contract.WaitRule
	probed   map[probeKey]bool
	outcomes []verdict // the outcomes of turns, by the number that actions have for them
}

// change is an event of the contract that an actor wants to apply, with its evidence. It
// corresponds to the details on which package lifecycle decides.
type change struct {
	event eventKind
	extra facts // facts that are not in the record
	id    uint8 // the number of the settled question
	by    settlement
	node  int // the node that starts, parks or recovers the run
	code  string
	// asked: the node has asked the engine for its profile. handle: the engine returned a session
	// handle.
	asked, handle bool
	// hold: the change holds the run. handBack: the turn's engine was not called.
	hold, handBack bool
	// raise: a person raises the budget, so that it is no longer used up.
	raise bool
	// the voter, or the user who changes the open question: 1 + the user; changed is the kind of
	// change.
	who     uint8
	changed task
}

// facts returns the facts derived only from the record.
func (m *model) facts(r *Run) facts {
	sc := &m.scenario
	return when(r.Slot, slotHeld) | when(sc.Interactive, interactive) | when(r.Profile && sc.Sticky, sticky) |
		when(r.Session, handlePresent) |
		when(int(r.Autos) < sc.MaxAuto, autoDecisionLeft) | when(sc.Repeatable, repeatable) |
		when(sc.MaxAttempt > 0 && int(r.Attempt-r.Yielded) >= sc.MaxAttempt, attemptsExhausted) | when(sc.NoRepeatLeft,
		repeatsExhausted) | when(r.Held, heldFact) | when(sc.Budget && r.Spent, budgetSpent)
}

// factsOf returns the facts of a change. No limit applies to a turn that is held or returned
// unexecuted.
func (m *model) factsOf(r *Run, w *change) facts {
	f := m.facts(r) | w.extra
	if w.hold {
		f &^= repeatsExhausted
	}
	if w.handBack {
		limit := m.scenario.MaxAttempt
		f &^= repeatsExhausted | attemptsExhausted
		f |= repeatable | when(limit > 0 && int(r.Attempt-r.Yielded)-1 >= limit, attemptsExhausted)
	}
	return f
}

func (m *model) over(r *Run) bool { return m.terminal[r.State] }

// decide computes the next record from a change. It is pure, and nothing else computes records.
func (m *model) decide(prev *Run, w *change) (Run, ruling) {
	next := *prev
	next.Profile = next.Profile || w.asked
	next.Session = next.Session || w.handle
	r := m.rules.next(prev.State, w.event, m.factsOf(&next, w))
	if !r.allowed() {
		return *prev, r
	}
	next.State = r.to
	switch {
	case r.slot == acquires:
		next.Slot = true
	case r.slot == releases && !m.off[CommitSlot]:
		next.Slot = false
	}
	switch w.event {
	case interactionRecorded:
		m.record(&next, w)
		return next, r
	case interactionStep, interactionChanged, interactionNoted:
		m.change(&next, w)
		return next, r
	}
	if prev.State == waiting && r.to != waiting {
		m.settle(&next, w)
	}
	if prev.State == next.State && w.event != preserveWaiting {
		next.Held, next.Raisable = w.hold, false
		next.Spent = next.Spent && !w.raise
	} else {
		m.enterState(&next, prev, w)
	}
	r.then = m.holdForBudget(&next)
	return next, r
}

// holdForBudget adds a hold to a commit that queues a run whose budget is used up. It returns the
// transition of the hold, or -1 if the contract has none.
func (m *model) holdForBudget(next *Run) int8 {
	if !m.scenario.Budget || next.State != queued {
		return -1
	}
	r := m.rules.next(queued, runBlocked, m.facts(next))
	if !r.allowed() || r.to != queued {
		return -1
	}
	m.coverage.addRule(r.rule)
	next.Slot = r.slot == acquires || next.Slot && r.slot != releases
	next.Held, next.Raisable = true, true
	return r.transition
}

// beside returns the other open question, or 0.
func (r *Run) beside(id uint8) uint8 {
	if id == r.Sibling {
		return r.Pending
	}
	return r.Sibling
}

// record settles the first or second open question; the run waits on, held or not.
func (m *model) record(next *Run, w *change) {
	if m.scenario.Votes {
		next.Voted |= w.who
		return
	}
	if !m.off[CommitReceipt] {
		next.Settled[w.id-1] = w.by
	}
	next.Pending, next.Sibling = next.beside(w.id), 0
	next.Replies++
}

// settle closes the open question and records how it was settled. Receipts are made from this
// record.
func (m *model) settle(next *Run, w *change) {
	id, by := next.Pending, w.by
	if by == unsettled {
		by = abandoned
	}
	if w.event == replyAccepted || w.event == defaultTaken {
		id = w.id
	}
	if !m.off[CommitReceipt] && 0 < id && id <= MaxQuestions {
		next.Settled[id-1] = by
		if other := next.beside(id); other != 0 {
			if by == byAda || by == byBen {
				by = superseded
			}
			next.Settled[other-1] = by
		}
	}
	next.Pending, next.Sibling, next.Replies = 0, 0, 0
	next.Fired, next.Voted, next.Claim, next.To = 0, 0, 0, 0
	if !m.off[CommitDeadline] {
		next.Deadline = 0
	}
}

// enterState sets the fields that the new state implies.
func (m *model) enterState(next, prev *Run, w *change) {
	switch next.State {
	case queued:
		if !next.Slot {
			next.Owner = 0
		}
		if w.by.answered() && !m.off[CommitAnswer] {
			next.Answer = w.id
			if m.scenario.Together > 0 {
				next.Answer = next.Asked // the answers of a round are one
			}
		}
		if w.by == byDeadline {
			next.Autos++
		}
		if w.event == turnYielded || w.handBack {
			next.Yielded++
		}
		next.Held = next.Held || w.hold
		next.Spent = next.Spent && !w.handBack
	case running:
		next.Attempt++
		next.Spent = m.scenario.Budget
	case waiting:
		next.Owner = owner(w.node + 1)
		if prev.State != waiting && w.event == turnNeedsInput {
			next.Answer = 0
			next.Pending = next.Asked + 1
			next.Asked += m.scenario.asks()
			if m.scenario.Together > 0 {
				next.Sibling = next.Asked
			}
			m.coverage.addRule(m.policy.ID)
			if m.policy.OnDeadline != thenWait || m.scenario.Then != "" {
				next.Deadline = next.Asked
			}
		}
	default:
		next.Owner, next.Answer, next.Held, next.Raisable = 0, 0, false, false
	}
}

// read returns the record on which the holder of a view decides, and whether the store accepts a
// commit based on it. With the guard switched off, it accepts a stale record.
func (m *model) read(s *State, who actor, v view, guard Switch) (*Run, bool) {
	switch {
	case v == current:
		return &s.Run, true
	case m.off[guard] && s.StaleReader == who:
		return &s.StaleRun, true
	}
	return nil, false
}

// store makes a commit: it replaces the record, makes the views of others stale, and adds the
// events. It returns the promise that the commit breaks, or "".
func (m *model) store(s *State, next Run, w *change, r ruling, from runState, by actor) string {
	before := s.Run
	due := s.Due
	s.Run = next
	if next.Deadline != before.Deadline || next.Fired != before.Fired || w.changed == extendWait {
		s.Due = false
	}
	claimOver := s.ClaimOver
	if next.Claim == 0 || w.changed == claimQuestion {
		s.ClaimOver = false
	}
	if next.Yielded != before.Yielded {
		s.Given = 0
	}
	m.outdateOthers(s, &before, by)
	m.coverage.addRule(r.rule)
	broken := m.changed(&before, &next)
	if w.who != 0 && before.To != 0 && before.To != w.who && (w.event == replyAccepted || w.changed == claimQuestion) {
		broken = "PI-29: somebody answers or claims a question that was put to others"
	}
	if m.bare {
		return broken
	}
	if m.off[CommitEvents] {
		return broken
	}
	brokenLog := m.emit(s, &emission{transition: r.transition, then: r.then, from: from, next: next.visible(), id: w.id,
		code: w.code, due: due, handBack: w.handBack, raised: w.raise,
		who: w.who, changed: w.changed, claimOver: claimOver,
		rejects: w.by == rejectedByAda || w.by == rejectedByBen,
		sibling: siblingOf(&before, &next, w)})
	if broken == "" {
		broken = brokenLog
	}
	return broken
}

// siblingOf is the second question of a commit: that is asked, decided or closed with the first
// one.
func siblingOf(before, next *Run, w *change) uint8 {
	switch w.event {
	case turnNeedsInput:
		return next.Sibling
	case autoDecided:
		return before.Sibling
	case replyAccepted:
		if before.Sibling != 0 {
			return before.beside(w.id)
		}
	}
	return 0
}

// outdateOthers makes the views of everybody but the committer stale.
func (m *model) outdateOthers(s *State, before *Run, by actor) {
	for i := range s.Users {
		if op := &s.Users[i]; op.Task != noTask {
			m.outdateView(s, &op.View, user(i), by, before, versionOf[op.Task])
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Upkeep.Task != noTask {
			m.outdateView(s, &n.Upkeep.View, upkeep(i), by, before, versionOf[n.Upkeep.Task])
		}
		if n.Sent.Epoch != 0 {
			m.outdateView(s, &n.Sent.View, sender(i), by, before, VersionFinish)
		}
		if n.Phase != idle {
			mine := by == sender(i) && n.View == current && n.Sent.Epoch == n.Epoch && !n.Sent.Former
			m.outdateView(s, &n.View, worker(i), by, before, VersionFinish)
			if mine {
				n.View = landed
			}
		}
	}
}

// outdateView makes one view stale. If the guard (a comparison of versions) is switched off, the
// holder of the view keeps the record that it read, and may commit on it later.
func (m *model) outdateView(s *State, v *view, who, by actor, before *Run, guard Switch) {
	if who == by {
		return
	}
	if *v == current && m.off[guard] && s.StaleReader == 0 {
		s.StaleReader, s.StaleRun = who, *before
	}
	*v = stale
}

// versionOf is the switch of the compare-and-set that guards a command.
var versionOf = [...]Switch{reply: VersionReply, cancel: VersionCancel, fireDeadline: VersionDeadline,
	recoverOrphan: VersionRecovery, reportLoss: VersionLoss,
	resume: VersionResume, extendWait: VersionChange, claimQuestion: VersionChange, releaseQuestion: VersionChange,
	reassignQuestion: VersionChange, noteQuestion: VersionChange, rejection: VersionReply}

// releaseView ends a holder's view.
func (s *State) releaseView(who actor) {
	if s.StaleReader == who {
		s.StaleReader, s.StaleRun = 0, Run{}
	}
}
