package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// runWorker is a worker: it executes one turn after the other until the node leaves. Workers are
// reused because a goroutine that has grown its stack is worth keeping; there are as many as turns
// have executed at one time. A worker ends early when an engine exits its goroutine, and when it
// was stuck in an engine: the node has gone on without it, and does not wait for it.
func (n *node) runWorker(a assignment) {
	defer func() {
		if a.turn.stuckCall() == nil {
			n.workers.Done()
		}
	}()
	for n.executeAssignment(a) {
		select {
		case a = <-n.assignments:
		case <-n.leavingSignal:
			return
		}
	}
}

// executeAssignment executes a turn and releases its permit. It reports whether the worker may
// receive another one.
func (n *node) executeAssignment(a assignment) (reusable bool) {
	defer func() {
		a.turn.cancel(nil)
		if reusable = reusable && a.turn.stuckCall() == nil; reusable {
			n.mu.Lock()
			n.idleWorkers++ // before the permit is released, so that the next dispatch finds this worker
			n.mu.Unlock()
		}
		n.slots.Release(1)
		n.wakeScheduler()
	}()
	a.turn.run(a.spec)
	return true
}

// run executes the turn and settles it, even if the engine exits this goroutine. The turn counts as
// interrupted if its context has ended by the time the engine has returned; a success that comes
// later than that is none (B1).
func (t *turn) run(body []byte) {
	spec, err := decodeSpec(t.record.ID, body)
	t.spec = spec
	if spec.TurnTimeout > 0 {
		defer t.limitTime(spec.TurnTimeout)()
	}
	var ev *turnEvidence // nil: the engine has exited this goroutine
	defer func() {
		cause := context.Cause(t.ctx)
		settles := t.closeReports(nil)
		t.patience.engineReturned()
		if settles {
			if ev == nil {
				ev = t.failed(fsm.CodeEngineFailed, errExited)
			}
			t.settleTurn(cause, ev)
			return
		}
		t.node.stuck.remove(t.stuckCall())
		t.node.log.Warn("engine has returned from a turn that was settled without it", "call", t.call.String())
	}()
	if err != nil {
		ev = t.failed(fsm.CodeEngineFailed, err)
		return
	}
	ev = t.execute(t.ctx)
}

// closeReports ends the turn for its engine, whose reports are refused from then on. The first call
// returns true, and its caller settles the turn: the worker, with nil, or the watcher, with the
// call in which the worker is stuck.
func (t *turn) closeReports(stuck *stuckCall) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closeReportsLocked(stuck)
}

// closeReportsLocked is closeReports for a caller that holds mu.
func (t *turn) closeReportsLocked(stuck *stuckCall) (first bool) {
	if t.closed {
		return false
	}
	t.closed, t.stuck = true, stuck
	return true
}

// stuckCall is the call in which the worker is stuck, or was: the turn was settled without it. It
// is nil for all other turns.
func (t *turn) stuckCall() *stuckCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stuck
}

// interrupt ends the turn's context for the cause. If the engine has not returned turnPatience
// later, the turn is settled without its worker (J10).
func (t *turn) interrupt(cause error) {
	t.cancel(cause)
	if returned, ended := t.patience.startWaiting(); returned != nil {
		go func() {
			defer close(ended)
			t.waitForEngine(returned)
		}()
	}
}

// waitForEngine waits until the engine has returned, and has the turn settled without its worker
// when that takes too long.
func (t *turn) waitForEngine(returned <-chan struct{}) {
	for wait := turnPatience; ; wait = time.Second {
		tick, stop := t.node.clock.Timer(wait)
		select {
		case <-returned:
			stop()
			return
		case <-tick:
		}
		if !t.mu.TryLock() { // a report is being committed: the engine waits for the store
			continue
		}
		stuck := &stuckCall{EngineCall: t.call}
		stuck.Since = commitTime(t.node.clock)
		first := t.closeReportsLocked(stuck)
		t.mu.Unlock()
		if first {
			t.node.abandonWorker(t, context.Cause(t.ctx), stuck)
		}
		return
	}
}

// patience is the state of waiting for the engine of an interrupted turn. Nothing is allocated for
// a turn that is not interrupted.
type patience struct {
	mu       sync.Mutex
	over     bool          // guarded by mu; the engine has returned
	returned chan struct{} // guarded by mu; made when the turn is interrupted, closed when the engine has returned
	ended    chan struct{} // guarded by mu; made with returned, closed when nobody waits for the engine any more
}

// startWaiting returns the channels of the goroutine that waits for the engine: returned is closed
// when the engine has returned, and the goroutine closes ended when it ends. Both are nil if
// another goroutine waits already, or if the engine has returned.
func (p *patience) startWaiting() (returned <-chan struct{}, ended chan<- struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.returned != nil {
		return nil, nil
	}
	p.returned, p.ended = make(chan struct{}), make(chan struct{})
	return p.returned, p.ended
}

// engineReturned notes that the engine has returned. If a goroutine waits for that, engineReturned
// returns when this goroutine has ended.
func (p *patience) engineReturned() {
	p.mu.Lock()
	p.over = true
	ended := p.ended
	if ended != nil {
		close(p.returned)
	}
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// abandonWorker settles a turn whose worker is stuck in an engine. The worker holds the turn's
// permit until the engine returns.
func (n *node) abandonWorker(t *turn, cause error, stuck *stuckCall) {
	defer n.workers.Done() // on behalf of the worker
	n.stuck.add(stuck)
	n.log.Error("engine ignores that its turn has ended; going on without it, and without its place in Concurrency "+
		"until it returns", "call", stuck.String(), "cause", cause)
	t.settleTurn(cause, t.collectEvidence(engine.Outcome{}))
}

// settleTurn stores what follows from the turn, and forgets the turn. The cause is why it was
// interrupted, nil when it was not.
func (t *turn) settleTurn(cause error, ev *turnEvidence) {
	if cause != nil {
		ev.interrupt(cause)
	}
	t.node.forgetTurn(t, t.finish(ev))
}

// finish commits the decision about the turn, and returns the run as it then stands. A result that
// the contract or the store refuses fails the run.
func (t *turn) finish(ev *turnEvidence) store.Run {
	if errors.Is(ev.interruption, engine.ErrCanceled) || errors.Is(ev.interruption, engine.ErrStale) {
		return t.reload() // somebody else has ended the run or taken it over (I6)
	}
	run, err := t.commit(func(run *store.Run, now time.Time) (store.Commit, error) {
		return decideTurn(run, ev, t.node.id, now)
	})
	var violation *fcmp.SchemaViolation
	if errors.As(err, &violation) || isRefusal(err) || errors.Is(err, store.ErrInvalid) {
		t.node.log.Error("turn's result refused", "run", run.ID, "attempt", run.Attempt, "err", err)
		message := shortened(err.Error())
		run, err = t.commit(func(run *store.Run, now time.Time) (store.Commit, error) {
			return decide(run, fsm.EventTurnFailed, &evidence{
				now: now, node: t.node.id, code: fsm.CodeProtocolSchemaViolation, message: message,
			})
		})
	}
	if errors.Is(err, store.ErrStaleEpoch) {
		return t.reload() // as above; or the outcome was stored by an earlier try, and the run went on
	}
	t.settled = err == nil
	if err != nil {
		t.node.log.Error("turn's result not stored; recovery settles the run", "run", run.ID, "attempt", run.Attempt,
			"err", err)
	}
	return run
}

// reload returns the run as the store has it, or as the worker stored it last if the store cannot
// be read.
func (t *turn) reload() store.Run {
	last := t.lastStored()
	if run, err := t.node.store.Run(t.node.live, last.ID); err == nil {
		return run
	}
	return last
}

// forgetTurn removes a settled turn from the node, and ends its resident process if the run does
// not need it any more.
func (n *node) forgetTurn(t *turn, run store.Run) {
	n.mu.Lock()
	latest := n.turns[run.ID]
	if latest == t {
		delete(n.turns, run.ID)
	}
	if latest == t && !t.settled {
		// Whatever the record says now may not be durable. If a failover shows the run executing
		// again, its turn was dropped and must not simply be executed once more. The first
		// heartbeat that does not list the run forgets this.
		n.dropped[store.Hold{RunID: run.ID, Epoch: t.epoch, State: fsm.StateRunning}] = true
	}
	orphaned := t.orphaned
	n.mu.Unlock()
	if latest != nil && latest != t {
		return // the run's next turn executes here already, and owns the resident process
	}
	if orphaned {
		n.settleLostProcess(n.live, run.ID, lostWhileWaiting)
	}
	keeps := run.State == fsm.StateWaitingUser || run.State == fsm.StateQueued
	if !keeps || run.Profile != fsm.ProfileStickyProcess || run.Owner != n.id {
		n.endResidentAfterTurn(run.ID)
	}
}
