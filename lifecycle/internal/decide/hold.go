package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// A run is held instead of failed if a person can repair the cause or must decide. After a failed
// turn it returns to the queue with its answer and session, and is not claimed while held. A parked
// run whose session is refused keeps waiting with its question open; a reply is stored, and its
// turn is executed after the hold.

// newHold returns a hold with a bounded reason. A code that may not be reported becomes
// ENGINE_FAILED.
func newHold(code fsm.Code, reason string) *hold {
	if source := code.Source(); source != "engine" && source != "run" {
		code, reason = fsm.CodeEngineFailed, string(code)+": "+reason
	}
	return &hold{code: code, reason: Shortened(reason)}
}

// repairable has the codes of failures that an operator can repair.
var repairable = []fsm.Code{fsm.CodeSessionResumeFailed, fsm.CodeWorkspaceMissing, fsm.CodeEngineUnavailable}

// reasonToHold returns why the failed turn holds its run; nil if the completion gate decides. A
// hold reported by the engine applies under every policy.
func (ev *Evidence) reasonToHold(run *store.Run) *hold {
	p := &ev.Process
	if p.Status != engine.Failed { // an interrupted turn has not failed
		return nil
	}
	code := cmp.Or(p.Code, fsm.CodeEngineFailed)
	canBeRepaired := p.Transient || p.Repairable || slices.Contains(repairable, code)
	if !p.Held && (!canBeRepaired || !ev.host.Holds(run)) {
		return nil
	}
	h := newHold(code, ev.processFault())
	h.retried, h.after = true, min(p.After, store.MaxRetryPause)
	return h
}

// holdTurn returns the run to the queue and holds it there. The error is a *fsm.Refusal if the run
// is sticky, because a resident process cannot release its slot.
func holdTurn(run *store.Run, h *hold, turn turnEnd, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &effects{
		now: now, facts: fsm.FactPassing, turn: turn, yields: yielding{hold: h},
	})
}

// blockRun holds a parked run whose session the engine refuses.
func blockRun(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunBlocked, &effects{
		now: now, facts: fsm.FactContextLost, block: blocking{begins: newHold(fsm.CodeSessionResumeFailed, why)},
	})
}

func unblockRun(run *store.Run, cause string, by interaction.Actor, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunUnblocked, &effects{now: now, block: blocking{ends: cause, by: by}})
}

// Resume carries out a person's choice about a held run. limits are for ChoiceRaise.
func Resume(run *store.Run, choice store.Choice, limits store.Budget, by interaction.Actor, now time.Time,
) (*store.Commit, error) {
	switch choice {
	case store.ChoiceRepeat:
		return unblockRun(run, causeResumed, by, now)
	case store.ChoiceRaise:
		raised := *run
		raised.Budget = Raise(run.Budget, limits)
		return unblockRun(&raised, causeRaised, by, now)
	}
	message := run.Block.Reason + " (given up)"
	if by.ID != "" {
		message = fmt.Sprintf("%s (given up by %s)", run.Block.Reason, by.ID)
	}
	return transition(run, fsm.EventRunGivenUp, &effects{
		now: now, ends: ending{code: run.Block.Code, message: message},
		settles: settlement{records: abandoned(run, now)},
	})
}

func Offers(run *store.Run, choice store.Choice) bool {
	return slices.Contains(run.Block.Choices, choice) &&
		(slices.Contains(repairChoices, choice) || slices.Contains(budgetChoices, choice))
}
