package explore

import (
	"sync"

	"github.com/interlude-go/interlude/contract"
)

// probe applies every event in a reached state, with every combination of facts that may hold in
// addition to the record's. Each refusal must come from a rule, and the requirements must allow
// each transition. It returns the broken promise, or "".
func (m *model) probe(s *State) string {
	k := probeKey{s.Run.State, m.facts(&s.Run)}
	if m.probed[k] {
		return ""
	}
	m.probed[k] = true
	// the last two, and the first, are known only with the outcome of a turn
	const storeClaim = passing | pendingMatches | deadlinePassed | workerGone | contextLost | handlePresent | sticky |
		ruleMet | ownWait | waitFails | waitDecides
	for event := range eventKinds {
		extras := storeClaim & (m.rules.cells[k.from][event] | unchangedCells()[k.from][event])
		for extra := facts(0); ; extra = (extra - extras) & extras { // every subset
			r := m.rules.next(k.from, event, k.holds|extra)
			switch {
			case r.allowed() && !mayHappen(k.from, event, k.holds|extra):
				return "PI-23: " + event.String() + " is allowed by " + r.rule + " where the requirements forbid it"
			case r.allowed() && ((r.to == canceled) != (event == runCanceled) ||
				(r.to == succeeded) != (event == turnSucceeded)):
				return "PI-24: " + event.String() + " leads to " + r.to.String() + " by " + r.rule
			case !r.allowed() && r.code != "GUARD_NOT_MET":
				m.coverage.addRule(refusalID(r.rule, k.from.String(), event.String()))
			}
			if extra == extras {
				break
			}
		}
	}
	return ""
}

// unchangedCells are the cells of the contract in use: a changed contract may lack a fact that the
// requirements mention.
var unchangedCells = sync.OnceValue(func() cells { return newInterpreter(contract.Load()).cells })

type probeKey struct {
	from  runState
	holds facts
}

// mayHappen reports whether the requirements allow the event at all. They are less strict than the
// contract.
func mayHappen(from runState, event eventKind, f facts) bool {
	has := func(all facts) bool { return f&all == all }
	switch event {
	case turnStarted:
		return has(slotHeld) && !has(heldFact) && !has(budgetSpent)
	case runBlocked:
		return !has(heldFact) && (from == queued && has(budgetSpent) ||
			from == waiting && has(contextLost) && !has(sticky))
	case runUnblocked, runGivenUp:
		return has(heldFact)
	case turnNeedsInput:
		return has(interactive) && (has(sticky) || has(handlePresent))
	case replyAccepted:
		return has(pendingMatches | ruleMet)
	case interactionRecorded:
		return has(pendingMatches) && !has(ruleMet)
	case interactionStep:
		return has(pendingMatches | deadlinePassed | ownWait)
	case defaultTaken:
		return has(pendingMatches | deadlinePassed | ownWait | ruleMet)
	case interactionChanged, interactionNoted:
		return has(pendingMatches)
	case autoDecided:
		return has(pendingMatches | deadlinePassed | waitDecides | autoDecisionLeft | ruleMet)
	case waitTimeout:
		return has(pendingMatches|deadlinePassed) && (has(waitFails) || has(waitDecides) && !has(autoDecisionLeft))
	case processLost:
		return has(sticky)
	case preserveWaiting:
		return has(pendingMatches|handlePresent) && !has(sticky)
	case reconcileFailed:
		return from == running && has(workerGone) || from != running && has(contextLost)
	case turnYielded:
		return has(passing) && !has(repeatsExhausted) && !has(sticky)
	case requeue:
		return has(workerGone|repeatable) && !has(attemptsExhausted) && !has(repeatsExhausted) && !has(sticky)
	}
	return true
}
