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

// Turn ends a turn by the evidence of its outcome. A turn whose engine was not called before a
// shutdown goes back to the queue. A turn interrupted by a shutdown or the loss of its agent is
// repeated or held according to the policy. A transient failure is retried later; a failure that an
// operator can repair may hold the run. After a successful turn the run may sleep or wait for its
// children. The completion gate decides about all other turns.
func Turn(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	run = withProgress(run, ev.FinalEntries())
	switch {
	case ev.Interruption == nil && ev.asksAgain:
		return park(run, ev, node, now)
	case ev.Interruption == nil && len(ev.children) > 0:
		return awaitChildren(run, ev, node, now)
	case ev.Interruption == nil && !ev.sleep.IsZero():
		return yieldTo(run, ev, yielding{sleep: ev.sleep}, now)
	case errors.Is(ev.Interruption, engine.ErrShutdown):
		return shutDownTurn(run, ev, now)
	case ev.Interruption == nil && ev.Process.Status == engine.Interrupted:
		return lostAgent(run, ev, node, now)
	case ev.retry != nil && ev.Process.Status == engine.Failed && ev.Process.Transient:
		return retryTurn(run, ev, node, now)
	default:
		return failedTurn(run, ev, node, now)
	}
}

// park lets a fork repeat its source's questions.
func park(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnNeedsInput, &effects{
		now: now, turn: turnEnd{profile: ev.profile}, asks: ev.asking(node),
	})
}

func yieldTo(run *store.Run, ev *Evidence, why yielding, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &effects{
		now: now, facts: fsm.FactPassing, yields: why,
		turn: turnEnd{profile: ev.profile, session: ev.Session, warnings: ev.warnings},
	})
}

// awaitChildren queues the run after a successful turn, with a block until its children have ended.
func awaitChildren(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	if run.Family == nil || run.Family.Children == 0 || len(ev.children) > store.MaxChildren {
		failed := *ev
		failed.SetProcess(engine.Process{Status: engine.Failed, Detail: fmt.Sprintf(
			"the engine waits for %d children, and the run has started none or not so many", len(ev.children))})
		return failedTurn(run, &failed, node, now)
	}
	block := &store.Block{Kind: store.BlockChildren, Reason: "the run waits for runs that it has started",
		Children: ev.children, Any: ev.anyChild}
	if !ev.sleep.IsZero() {
		block.Until = notBefore(ev.sleep)
	}
	return yieldTo(run, ev, yielding{await: block}, now)
}

// retryTurn schedules a retry after a transient failure. If the contract does not allow one,
// because the retries are used up or the run is sticky, the failure is decided like any other.
func retryTurn(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	yielded, err := yieldTo(run, ev, yielding{passing: ev.passingFailure()}, now)
	if Refused(err) {
		return failedTurn(run, ev, node, now)
	}
	return yielded, err
}

// passingFailure describes the failure, with a code that is valid in an event.
func (ev *Evidence) passingFailure() *passingFailure {
	code, message := cmp.Or(ev.Process.Code, fsm.CodeEngineFailed), ev.processFault()
	if code.Source() != "engine" {
		code, message = fsm.CodeEngineFailed, Shortened(string(code)+": "+message)
	}
	return &passingFailure{retry: ev.retry, after: ev.Process.After, code: code, message: message}
}

// failedTurn ends a failed turn that is not retried. It holds the run if the policy wants this and
// the run is not sticky. Otherwise the completion gate decides.
func failedTurn(run *store.Run, ev *Evidence, node string, now time.Time) (*store.Commit, error) {
	if h := ev.reasonToHold(run); h != nil {
		held, err := yieldTo(run, ev, yielding{hold: h}, now)
		if !Refused(err) {
			return held, err
		}
	}
	return gate(run, ev, node, now)
}
