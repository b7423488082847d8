package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// A run is held instead of failed if a person can repair the cause or must decide. After a failed
// turn it is queued with its answer and session, and not claimed. A parked run whose session is
// refused keeps waiting with its question open; after a reply it is queued and held.

// newHold bounds the reason, and replaces a code that events may not have by ENGINE_FAILED.
func newHold(code fsm.Code, reason string) *hold {
	if source := code.Source(); source != "engine" && source != "run" {
		code, reason = fsm.CodeEngineFailed, string(code)+": "+reason
	}
	return &hold{code: code, reason: Shortened(reason)}
}

// repairable has the codes of failures that an operator can repair.
var repairable = []fsm.Code{fsm.CodeSessionResumeFailed, fsm.CodeWorkspaceMissing, fsm.CodeEngineUnavailable}

// reasonToHold returns the hold after a failed turn, or nil if the completion gate decides. A hold
// reported by the engine applies under every policy.
func (ev *Evidence) reasonToHold(run *store.Run) *hold {
	p := &ev.Process
	code := cmp.Or(p.Code, fsm.CodeEngineFailed)
	canBeRepaired := p.Transient || p.Repairable || slices.Contains(repairable, code)
	if !p.Held && (!canBeRepaired || !ev.host.Holds(run)) {
		return nil
	}
	h := newHold(code, ev.processFault())
	h.retried, h.after = true, min(p.After, store.MaxRetryPause)
	return h
}

// blockRun holds a parked run whose session the engine refuses.
func blockRun(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunBlocked, &effects{
		now: now, facts: fsm.FactContextLost, hold: holdChange{begins: newHold(fsm.CodeSessionResumeFailed, why)},
	})
}

func unblockRun(run *store.Run, cause string, by interaction.Actor, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunUnblocked, &effects{now: now, hold: holdChange{endCause: cause, by: by}})
}

// Resume carries out a person's choice about a held run, with new limits for ChoiceRaise.
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

// Offers reports whether the held run offers the choice, and this release knows it.
func Offers(run *store.Run, choice store.Choice) bool {
	return slices.Contains(run.Block.Choices, choice) &&
		(slices.Contains(repairChoices, choice) || slices.Contains(budgetChoices, choice))
}
