package explore

// person lets a user do what users do: look, and then store what was decided on that look.
func (w *walk) person(i int) {
	if i == 0 {
		w.submit()
	}
	if op := w.from.Users[i]; op.Task != nothing {
		w.personStores(i, op)
		return
	}
	for id := uint8(1); int(id) <= min(int(w.from.Run.Asked)+1, MaxQuestions); id++ {
		w.reply(i, id, false)
	}
	if i == 0 && w.from.Run.Asked > 1 {
		w.reply(i, 2, true)
	}
	if i == 1 {
		w.cancel(i)
	}
}

// submit again is answered with the run that is there.
func (w *walk) submit() {
	n := w.newStep()
	a := Action{what: submits, who: user(0), came: alreadyThere}
	if !w.off[VersionCreate] {
		w.seen.came(a.came)
		w.step(a, n, "")
		return
	}
	before := n.Run
	n.Run = Run{State: before.first(w.model)}
	n.Due = false
	w.touch(n, &before, user(0))
	broken := w.changed(&before, &n.Run)
	if told := w.emit(n, &emission{arrow: submission, next: n.Run.visible()}); broken == "" {
		broken = told
	}
	w.step(a, n, broken)
}

// reply looks at the run as Reply does. With the key of question 1, ada takes it for another
// question.
func (w *walk) reply(i int, id uint8, reused bool) {
	r := &w.from.Run
	a := Action{what: replies, who: user(i), arg: id}
	if reused {
		a.what = repliesAgain
	}
	key := id // ada's keys are as many as her questions
	if reused {
		key = 1
	}
	pending := r.State == waiting && r.Pending == id
	n := w.newStep()
	if i == 0 && (!pending || r.Asked > 1) && !w.off[ReplyKey] && r.Settled[key-1] == byAda {
		a.came = replayed
		if key != id {
			a.came = keyConflict
		}
		w.answered(a, n, id, key)
		return
	}
	if !pending && (!w.off[ReplyPending] || r.State != waiting) {
		a.came = notWaiting
		if id <= r.Asked && r.Settled[id-1] != unsettled {
			a.came = alreadySettled
		}
		w.answered(a, n, id, key)
		return
	}
	if key != id && r.Settled[0] == byAda {
		w.step(a, n, "PI-15: a key that settled question 1 is about to settle another")
		return
	}
	n.Users[i] = Op{Task: reply, ID: id}
	w.step(a, n, "")
}

// answered ends a look that stored nothing, and checks the answer that it gave (C5): who was
// accepted once is told so for ever.
func (w *walk) answered(a Action, n *State, id, key uint8) {
	r := &n.Run
	w.seen.came(a.came)
	broken := ""
	switch {
	case a.who == user(0) && r.Settled[key-1] == byAda && a.came != replayed && a.came != keyConflict:
		broken = "PI-15: the key of an accepted reply does not get its receipt again"
	case a.came == notWaiting && id <= r.Asked:
		broken = "PI-06: a question is neither open nor settled"
	}
	w.step(a, n, broken)
}

func (w *walk) cancel(i int) {
	n := w.newStep()
	a := Action{what: cancels, who: user(i)}
	if w.over(&n.Run) {
		a.came = alreadyOver
		w.seen.came(a.came)
		w.step(a, n, "")
		return
	}
	n.Users[i] = Op{Task: cancel}
	w.step(a, n, "")
}

// personStores commits what was decided. After a conflict the person looks again, which is a step
// of its own.
func (w *walk) personStores(i int, op Op) {
	n := w.newStep()
	a := Action{what: stores, who: user(i), arg: op.ID}
	base, ok := w.read(w.from, a.who, op.View, versionOf[op.Task])
	n.Users[i] = Op{}
	n.forget(a.who)
	if !ok {
		a.came = conflict
		w.seen.came(a.came)
		w.step(a, n, "")
		return
	}
	if op.Task == cancel {
		w.commit(n, a, base, &wish{event: runCanceled})
		return
	}
	by := byAda
	if i == 1 {
		by = byBen
	}
	w.commit(n, a, base, &wish{event: replyAccepted, extra: pendingMatches, id: op.ID, by: by})
}
