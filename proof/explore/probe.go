package explore

// probe offers every event to a state that was reached, with whatever facts somebody may claim
// beside those of the record. What is refused there is refused by a rule; what is taken must be
// right to take. It says what is not.
func (m *model) probe(s *State) string {
	k := probed{s.Run.State, m.facts(&s.Run)}
	if m.probedAlready[k] {
		return ""
	}
	m.probedAlready[k] = true
	// a turn brings the last two
	const claimed = pendingMatches | deadlinePassed | workerGone | contextLost | handlePresent | sticky
	for event := range happenings {
		for extra := facts(0); ; extra = (extra - claimed) & claimed { // every subset
			r := m.law.next(k.from, event, k.holds|extra)
			switch {
			case r.taken() && !rightful(k.from, event, k.holds|extra):
				return "PI-23: " + event.String() + " is taken by " + r.rule + " without right"
			case r.taken() && ((r.to == canceled) != (event == runCanceled) ||
				(r.to == succeeded) != (event == turnSucceeded)):
				return "PI-24: " + event.String() + " leads to " + r.to.String() + " by " + r.rule
			case !r.taken() && r.code != "GUARD_NOT_MET":
				m.seen.rule(refusalID(r.rule, k.from.String(), event.String()))
			}
			if extra == claimed {
				break
			}
		}
	}
	return ""
}

type probed struct {
	from  place
	holds facts
}

// rightful is when an event may be taken at all, in the words of the requirements. It asks for less
// than the contract does.
func rightful(from place, event happening, f facts) bool {
	has := func(all facts) bool { return f&all == all }
	switch event {
	case turnStarted:
		return has(slotHeld)
	case turnNeedsInput:
		return has(interactive) && (has(sticky) || has(handlePresent))
	case replyAccepted:
		return has(pendingMatches)
	case autoDecided:
		return has(pendingMatches|deadlinePassed|autoDecisionLeft) && !has(strict)
	case waitTimeout:
		return has(pendingMatches|deadlinePassed) && (has(strict|sticky) || !has(strict) && !has(autoDecisionLeft))
	case processLost:
		return has(sticky)
	case preserveWaiting:
		return has(pendingMatches|handlePresent) && !has(sticky)
	case reconcileFailed:
		return from == running && has(workerGone) || from != running && has(contextLost)
	case requeue:
		return has(workerGone|repeatable) && !has(attemptsExhausted) && !has(repeatsExhausted) && !has(sticky)
	}
	return true
}
