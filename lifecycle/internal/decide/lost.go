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

// lostAgent ends a turn that lost its agent while the host lives. If the turn may not be
// repeated, the completion gate decides, unlike after other lost turns.
func lostAgent(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	e := effects{
		now: now, facts: fsm.FactWorkerGone, turn: turnEnd{session: ev.Session},
		lost: lostTurn{onInterrupt: ev.host.onInterruptOf(run)},
	}
	settled, err := holdOrRepeat(run, &e, fsm.CodeTurnInterrupted, ev.processFault())
	switch {
	case !Refused(err):
		return settled, err
	case factsOf(run, &e).Has(fsm.FactRepeatsExhausted):
		return failLostTurn(run, &e, ev.processFault())
	default:
		return gate(run, ev, node, now)
	}
}

// DroppedTurn ends a turn that its own node has ended without storing an outcome.
func DroppedTurn(run *store.Run, host HostDefaults, now time.Time) (*store.Commit, error) {
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

// Orphan settles a run that cannot continue unchanged since its node has died: a turn like any lost
// turn, a wait according to its session. A parked run with a valid session needs no decision unless
// it was held; see store.Run.ShowDeparture.
func Orphan(run *store.Run, found *OrphanEvidence, host HostDefaults) (*store.Commit, error) {
	if run.State == fsm.StateRunning {
		return orphanedTurn(run, found, host)
	}
	waiting, why := run.State == fsm.StateWaitingUser, ending{}
	switch {
	case waiting && run.Held() && found.SessionFault == "":
		return unblockRun(run, causeRepaired, interaction.Actor{}, found.At)
	case run.Profile == fsm.ProfileStickyProcess:
		why = ending{reason: "process gone", message: "the process that held the session died with its host"}
	case waiting && run.HasSession() && host.Holds(run):
		return blockRun(run, found.SessionFault, found.At)
	case waiting:
		why = ending{reason: "session lost", message: found.SessionFault}
	}
	return transition(run, fsm.EventRestartReconcileFailed, failedOrphan(run, found, host, why))
}

func orphanedTurn(run *store.Run, found *OrphanEvidence, host HostDefaults) (*store.Commit, error) {
	if run.AsksAgain() { // its engine was not called
		return handBack(run, "the worker died before the fork had asked again", found.At)
	}
	failure := failedOrphan(run, found, host, ending{
		reason: "worker gone", message: "the worker died during the turn, which may not be repeated",
	})
	return settleLostTurn(run, failure, "the worker died during the turn")
}

// failedOrphan returns the effects of an orphan's failure.
func failedOrphan(run *store.Run, found *OrphanEvidence, host HostDefaults, why ending) *effects {
	why.recovery = store.FailedReconciled
	return &effects{
		now: found.At, facts: fsm.FactContextLost | fsm.FactWorkerGone, turn: turnEnd{warnings: found.Warnings},
		lost:    lostTurn{onInterrupt: host.onInterruptOf(run), nodeDied: true},
		settles: settlement{records: abandoned(run, found.At)}, ends: why,
	}
}

// settleLostTurn ends a turn whose worker is gone: it fails unless it is held or repeated.
func settleLostTurn(run *store.Run, e *effects, why string) (*store.Commit, error) {
	settled, err := holdOrRepeat(run, e, fsm.CodeOrchestratorRestartInterrupted, why)
	if Refused(err) {
		return failLostTurn(run, e, why)
	}
	return settled, err
}

// holdOrRepeat holds the run if its policy is to ask an operator, and otherwise repeats its turn. The
// error is a *fsm.Refusal if the contract allows neither.
func holdOrRepeat(run *store.Run, e *effects, code fsm.Code, why string) (*store.Commit, error) {
	if e.lost.onInterrupt == store.InterruptAsk {
		held, err := yieldTurn(run, e.turn, yielding{hold: newHold(code, why)}, e.now)
		if !Refused(err) {
			return held, err
		}
	}
	return repeatTurn(run, e, why)
}

// handBack returns a run to the queue if the engine was not called for its turn: the turn counts neither
// as a repeat nor towards MaxAttempts. The error is a *fsm.Refusal if the run is sticky.
func handBack(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return repeatTurn(run, &effects{
		now: now, facts: fsm.FactWorkerGone | fsm.FactRepeatable, lost: lostTurn{handedBack: true},
	}, why)
}

// repeatTurn returns the run to the queue to execute the same turn again.
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
