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

// Turns that were interrupted or lost their worker are executed again, held, or failed.

// shutDownTurn ends a turn that was interrupted by its host's shutdown.
func shutDownTurn(run *store.Run, ev *Evidence, now time.Time) (*store.Commit, error) {
	if !ev.Begun {
		handedBack, err := handBack(run, "the host shut down before the turn began", now)
		if !Refused(err) {
			return handedBack, err
		}
	}
	return settleLostTurn(run, &effects{
		now: now, facts: fsm.FactWorkerGone, lost: lostTurn{onInterrupt: ev.host.onInterruptOf(run), shutdown: true},
	}, "the host shut down during the turn")
}

// lostAgent ends a turn whose agent was lost while the host lives: it is repeated, held, or fails
// after too many repeats. If neither repeats nor operators are wanted, the completion gate decides.
func lostAgent(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	e := effects{
		now: now, facts: fsm.FactWorkerGone, turn: turnEnd{session: ev.Session},
		lost: lostTurn{onInterrupt: ev.host.onInterruptOf(run)},
	}
	if e.lost.onInterrupt == store.InterruptAsk {
		held, err := holdTurn(run, newHold(fsm.CodeTurnInterrupted, ev.processFault()), e.turn, now)
		if !Refused(err) {
			return held, err
		}
	}
	repeated, err := repeatTurn(run, &e, ev.processFault())
	switch {
	case !Refused(err):
		return repeated, err
	case factsOf(run, &e).Has(fsm.FactRepeatsExhausted):
		return failLostTurn(run, &e, ev.processFault())
	default:
		return gate(run, ev, node, now)
	}
}

// DroppedTurn ends a turn that its own node has ended without storing an outcome.
func DroppedTurn(run *store.Run, host HostPolicy, now time.Time) (*store.Commit, error) {
	if run.AsksAgain() {
		return handBack(run, "the host left before the fork had asked again", now)
	}
	return settleLostTurn(run, &effects{
		now: now, facts: fsm.FactWorkerGone, lost: lostTurn{onInterrupt: host.onInterruptOf(run)},
	}, "the host could not renew its lease during the turn, or the store does not have the turn's outcome")
}

type OrphanEvidence struct {
	At           time.Time
	Warnings     []interaction.Diagnostic
	SessionFault string // why a wait cannot continue; empty if it can
}

// Orphan settles a run that cannot continue unchanged since its node has died: a turn is repeated
// or held according to the policy, a parked run whose session is refused may be held, and any other
// run has lost its context and fails. (A parked run with a valid session needs no decision unless
// it was held; see store.Run.ShowDeparture.)
func Orphan(run *store.Run, found *OrphanEvidence, host HostPolicy) (*store.Commit, error) {
	waiting, sticky := run.State == fsm.StateWaitingUser, run.Profile == fsm.ProfileStickyProcess
	switch {
	case waiting && run.Held() && found.SessionFault == "":
		return unblockRun(run, causeRepaired, interaction.Actor{}, found.At)
	case waiting && !sticky && run.HasSession() && host.Holds(run):
		return blockRun(run, found.SessionFault, found.At)
	}
	failure := effects{
		now: found.At, facts: fsm.FactContextLost | fsm.FactWorkerGone, turn: turnEnd{warnings: found.Warnings},
		lost:    lostTurn{onInterrupt: host.onInterruptOf(run), nodeDied: true},
		settles: settlement{records: abandoned(run, found.At)}, ends: ending{recovery: store.FailedReconciled},
	}
	switch {
	case run.State == fsm.StateRunning && run.AsksAgain(): // its engine was not called
		return handBack(run, "the worker died before the fork had asked again", found.At)
	case run.State == fsm.StateRunning:
		failure.ends.reason = "worker gone"
		failure.ends.message = "the worker died during the turn, which may not be repeated"
		return settleLostTurn(run, &failure, "the worker died during the turn")
	case sticky:
		failure.ends.reason = "process gone"
		failure.ends.message = "the process that held the session died with its host"
	case waiting:
		failure.ends.reason, failure.ends.message = "session lost", found.SessionFault
	}
	return transition(run, fsm.EventRestartReconcileFailed, &failure)
}

// settleLostTurn ends a turn whose worker is gone: the run is held if an operator must decide,
// repeated if the contract allows it, and fails otherwise.
func settleLostTurn(run *store.Run, e *effects, why string) (*store.Commit, error) {
	if e.lost.onInterrupt == store.InterruptAsk {
		held, err := holdTurn(run, newHold(fsm.CodeOrchestratorRestartInterrupted, why), e.turn, e.now)
		if !Refused(err) {
			return held, err
		}
	}
	repeated, err := repeatTurn(run, e, why)
	if Refused(err) {
		return failLostTurn(run, e, why)
	}
	return repeated, err
}

// handBack returns a run to the queue if the engine was not called for its turn, which counts
// neither as a repeat nor towards MaxAttempts. The error is a *fsm.Refusal if the run is sticky.
func handBack(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return repeatTurn(run, &effects{
		now: now, facts: fsm.FactWorkerGone | fsm.FactRepeatable, lost: lostTurn{shutdown: true, handedBack: true},
	}, why)
}

// repeatTurn returns the run to the queue to execute the same turn again. The error is a
// *fsm.Refusal if that is not allowed. failLostTurn's ending has no effect on a repeat.
func repeatTurn(run *store.Run, e *effects, why string) (*store.Commit, error) {
	repeated := interaction.Diagnostic{Code: fsm.WarnTurnRepeated, Detail: why}
	if e.lost.handedBack {
		repeated.Code = fsm.WarnTurnHandedBack
	}
	return transition(run, fsm.EventRestartRequeue, &effects{
		now: e.now, facts: e.facts, lost: e.lost,
		turn: turnEnd{session: e.turn.session, warnings: append(slices.Clip(e.turn.warnings), repeated)},
	})
}

func failLostTurn(run *store.Run, e *effects, why string) (*store.Commit, error) {
	failure := *e
	failure.ends.message = cmp.Or(e.ends.message, why)
	if factsOf(run, e).Has(fsm.FactRepeatsExhausted) {
		failure.ends.message = Shortened(fmt.Sprintf("%s; it was repeated %d times in a row, which is the limit", why,
			run.Repeats))
	}
	return transition(run, fsm.EventRestartReconcileFailed, &failure)
}
