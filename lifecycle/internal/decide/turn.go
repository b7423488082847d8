package decide

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Turn ends a turn by the evidence of its outcome. An interrupted turn ends as the interruption
// requires. A turn yields if a fork asks again, or if the run waits for children, sleeps, is
// retried or held. Otherwise the contract's completion gate decides.
func Turn(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	run = withProgress(run, ev.FinalEntries())
	switch {
	case errors.Is(ev.Interruption, engine.ErrShutdown):
		return shutDownTurn(run, ev, now)
	case ev.Interruption != nil:
		return gate(run, ev, node, now)
	case ev.asksAgain:
		return askAgain(run, ev, node, now)
	case len(ev.children) > 0:
		return awaitChildren(run, ev, node, now)
	case !ev.sleep.IsZero():
		return yieldTurn(run, ev.keptOnYield(), yielding{sleep: ev.sleep}, now)
	case ev.Process.Status == engine.Interrupted:
		return lostAgent(run, ev, node, now)
	case ev.Process.Status == engine.Failed:
		return failedTurn(run, ev, node, now)
	default:
		return gate(run, ev, node, now)
	}
}

// askAgain parks a fork with its source's questions.
func askAgain(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnNeedsInput, &effects{
		now: now, turn: turnEnd{profile: ev.profile}, asks: ev.asking(node),
	})
}

// yieldTurn returns the run to the queue for this reason. The error is a *fsm.Refusal if the
// contract does not allow it, such as for a sticky run, whose resident process cannot release its
// slot.
func yieldTurn(run *store.Run, turn turnEnd, why yielding, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &effects{now: now, facts: fsm.FactPassing, turn: turn, yields: why})
}

func (ev *Evidence) keptOnYield() turnEnd {
	return turnEnd{profile: ev.profile, session: ev.Session, warnings: ev.warnings}
}

// awaitChildren queues the run until its children have ended. If it has not started them, the turn
// fails.
func awaitChildren(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	if run.Family == nil || run.Family.Children == 0 || len(ev.children) > store.MaxChildren {
		failed := *ev
		failed.SetProcess(engine.Process{Status: engine.Failed, Detail: fmt.Sprintf(
			"the engine waits for %d children, and the run has started none or not so many", len(ev.children))})
		return holdOrGate(run, &failed, node, now)
	}
	block := &store.Block{Kind: store.BlockChildren, Reason: "the run waits for runs that it has started",
		Children: ev.children, Any: ev.anyChild}
	if !ev.sleep.IsZero() {
		block.Until = roundUp(ev.sleep)
	}
	return yieldTurn(run, ev.keptOnYield(), yielding{await: block}, now)
}

// failedTurn retries a failed turn later, if the failure is transient and retries are left. Otherwise
// the run is held, or the completion gate decides.
func failedTurn(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	if ev.retry != nil && ev.Process.Transient {
		retried, err := yieldTurn(run, ev.keptOnYield(), yielding{failure: ev.transientFailure()}, now)
		if !Refused(err) {
			return retried, err
		}
	}
	return holdOrGate(run, ev, node, now)
}

// holdOrGate holds the run after a failed turn if its policy wants this. Otherwise the completion
// gate decides.
func holdOrGate(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	if h := ev.reasonToHold(run); h != nil {
		held, err := yieldTurn(run, ev.keptOnYield(), yielding{hold: h}, now)
		if !Refused(err) {
			return held, err
		}
	}
	return gate(run, ev, node, now)
}

// transientFailure describes the failure, with a code that is valid in an event.
func (ev *Evidence) transientFailure() *transientFailure {
	code, message := cmp.Or(ev.Process.Code, fsm.CodeEngineFailed), ev.processFault()
	if code.Source() != "engine" {
		code, message = fsm.CodeEngineFailed, Shortened(string(code)+": "+message)
	}
	return &transientFailure{retry: ev.retry, after: ev.Process.After, code: code, message: message}
}
