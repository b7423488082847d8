package explore

// person takes the steps of a user: the user reads the run, and then stores a decision based on
// that read.
func (w *walk) person(i int) {
	if i == 0 {
		w.submit()
	}
	if op := w.from.Users[i]; op.Task != noTask {
		w.personStores(i, op)
		return
	}
	w.changes(i)
	for id := uint8(1); int(id) <= min(int(w.from.Run.Asked)+1, MaxQuestions); id++ {
		w.reply(i, id, false)
	}
	if i == 0 && w.from.Run.Asked > 1 {
		w.reply(i, 2, true)
	}
	if i == 1 {
		w.cancel(i)
		w.resume(i)
	}
}

// submit submits the run a second time, which returns the existing run.
func (w *walk) submit() {
	n := w.newStep()
	a := Action{kind: submits, who: user(0), result: alreadySubmitted}
	if !w.off[VersionCreate] {
		w.coverage.addResult(a.result)
		w.step(a, n, "")
		return
	}
	before := n.Run
	n.Run = Run{State: before.first(w.model)}
	n.Due = false
	w.outdateOthers(n, &before, user(0))
	broken := w.changed(&before, &n.Run)
	if brokenLog := w.emit(n, &emission{transition: submission, then: -1, next: n.Run.visible()}); broken == "" {
		broken = brokenLog
	}
	w.step(a, n, broken)
}

// reply reads the run as lifecycle.Reply does. With reused set, ada uses the key of question 1 for
// another question.
func (w *walk) reply(i int, id uint8, reused bool) {
	r := &w.from.Run
	a := Action{kind: readsToReply, who: user(i), arg: id}
	if reused {
		a.kind = readsToReuseKey
	}
	key := id // ada has one key for each question
	if reused {
		key = 1
	}
	pending := r.State == waiting && (r.Pending == id || r.Sibling == id)
	n := w.newStep()
	used := r.Settled[key-1].hasKey() || r.Pending == key && r.Voted&voter(0) != 0
	if i == 0 && (!pending || r.Asked > 1 || r.Voted != 0) && !w.off[ReplyKey] && used {
		a.result = replayed
		if key != id {
			a.result = keyConflict
		}
		w.answered(a, n, id, key)
		return
	}
	if !pending && (!w.off[ReplyPending] || r.State != waiting) {
		a.result = notWaiting
		if id <= r.Asked && r.Settled[id-1] != unsettled {
			a.result = alreadySettled
		}
		w.answered(a, n, id, key)
		return
	}
	if key != id && r.Settled[0] == byAda {
		w.step(a, n, "PI-15: a key that settled question 1 is about to settle another")
		return
	}
	switch {
	case r.Voted&voter(i) != 0 && !w.off[ReplyVoted]:
		a.result = votedBefore
	case !w.from.asks(i) && !w.off[ReplyAsked]:
		a.result = notAsked
	case w.from.claimedByOther(i) && !w.off[ReplyClaim]:
		a.result = claimedByOther
	}
	if a.result != noResult {
		w.answered(a, n, id, key)
		return
	}
	n.Users[i] = Command{Task: reply, ID: id}
	w.step(a, n, "")
	if w.scenario.Votes && !reused {
		n = w.newStep()
		n.Users[i] = Command{Task: rejection, ID: id}
		w.step(Action{kind: readsToReject, who: user(i), arg: id}, n, "")
	}
}

// answered ends a reply that stores nothing, and checks its result (C5): the key of an accepted
// reply gets its receipt in every later state.
func (w *walk) answered(a Action, n *State, id, key uint8) {
	r := &n.Run
	w.coverage.addResult(a.result)
	broken := ""
	switch {
	case a.who == user(0) && r.Settled[key-1].hasKey() && a.result != replayed && a.result != keyConflict:
		broken = "PI-15: the key of an accepted reply does not get its receipt"
	case a.result == notWaiting && id <= r.Asked:
		broken = "PI-06: a question is neither open nor settled"
	}
	w.step(a, n, broken)
}

func (w *walk) cancel(i int) {
	n := w.newStep()
	a := Action{kind: readsToCancel, who: user(i)}
	if w.over(&n.Run) {
		a.result = alreadyOver
		w.coverage.addResult(a.result)
		w.step(a, n, "")
		return
	}
	n.Users[i] = Command{Task: cancel}
	w.step(a, n, "")
}

// resume reads the run as lifecycle.Resume does.
func (w *walk) resume(i int) {
	if !w.from.Run.Held {
		return
	}
	n := w.newStep()
	n.Users[i] = Command{Task: resume, ID: choseRepeat}
	w.step(Action{kind: readsToResume, who: user(i)}, n, "")
	n = w.newStep()
	n.Users[i] = Command{Task: resume, ID: choseEnd}
	w.step(Action{kind: readsToGiveUp, who: user(i)}, n, "")
}

// personStores commits the person's decision. After a conflict the person reads the run again,
// which is a separate step.
func (w *walk) personStores(i int, op Command) {
	n := w.newStep()
	a := Action{kind: commits, who: user(i), arg: op.ID}
	base, ok := w.read(w.from, a.who, op.View, versionOf[op.Task])
	n.Users[i] = Command{}
	n.releaseView(a.who)
	if !ok {
		a.result = conflict
		w.coverage.addResult(a.result)
		w.step(a, n, "")
		return
	}
	if op.Task == releaseQuestion && w.from.ClaimOver { // time has passed since the run was read
		a.result = notClaimed
		w.coverage.addResult(a.result)
		w.step(a, n, "")
		return
	}
	switch {
	case op.Task == cancel:
		w.commit(n, a, base, &change{event: runCanceled})
		return
	case op.Task == resume && op.ID == choseEnd:
		w.commit(n, a, base, &change{event: runGivenUp})
		return
	case op.Task == resume:
		w.commit(n, a, base, &change{event: runUnblocked, raise: base.Raisable})
		return
	case op.Task == noteQuestion:
		w.commit(n, a, base, &change{event: interactionNoted, extra: pendingMatches, id: op.ID, who: voter(i),
			changed: op.Task})
		return
	case op.Task != reply && op.Task != rejection:
		w.commit(n, a, base, &change{event: interactionChanged, extra: pendingMatches, id: op.ID, who: voter(i),
			changed: op.Task})
		return
	}
	by := byAda
	if i == 1 {
		by = byBen
	}
	if w.scenario.Votes && base.Voted == 0 && op.Task == reply {
		w.commit(n, a, base, &change{event: interactionRecorded, extra: pendingMatches, id: op.ID, who: voter(i)})
		return
	}
	switch {
	case op.Task == rejection && (i == 0 || base.Voted&voter(0) != 0):
		by = rejectedByAda
	case op.Task == rejection:
		by = rejectedByBen
	case w.scenario.Votes:
		by = byBoth
	}
	if base.Sibling != 0 && int(base.Replies)+1 < w.scenario.Together {
		w.commit(n, a, base, &change{event: interactionRecorded, extra: pendingMatches, id: op.ID, by: by})
		return
	}
	ch := &change{event: replyAccepted, extra: pendingMatches | ruleMet, id: op.ID, by: by}
	if w.scenario.Votes || w.scenario.Claims {
		ch.who = voter(i)
	}
	w.commit(n, a, base, ch)
}
