package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// runWorker executes one turn after the other, until the node leaves and there is none: a goroutine
// that has grown its stack is worth keeping. There are no more of them than turns that executed at
// one time. It ends early when an engine exits its goroutine, and when it was left behind in an
// engine: nobody waits for it then any more.
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

// executeAssignment executes a turn and gives its permit back. It reports whether the worker may
// take another one.
func (n *node) executeAssignment(a assignment) (goesOn bool) {
	defer func() {
		a.turn.cancel(nil)
		if goesOn = goesOn && a.turn.stuckCall() == nil; goesOn {
			n.mu.Lock()
			n.idleWorkers++ // before the permit is free, so that who takes it finds this worker
			n.mu.Unlock()
		}
		n.slots.Release(1)
		n.wakeScheduler()
	}()
	a.turn.run(a.ctx, a.spec)
	return true
}

// run executes the attempt and settles it, also where the engine exits this goroutine. Whether the
// turn was interrupted is looked at once, when the engine is through with it: an outcome of a turn
// whose context had ended by then is none (B1).
func (t *turn) run(ctx context.Context, body []byte) {
	spec, err := decodeSpec(t.record.ID, body)
	t.spec = spec
	if spec.TurnTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = t.node.withTurnTimeout(ctx, spec.TurnTimeout)
		defer stop()
	}
	unwatch := t.watchForStuckEngine(ctx)
	var ev *turnEvidence // nil: the engine has exited this goroutine
	defer func() {
		cause := context.Cause(ctx)
		first := t.closeReports(nil)
		unwatch()
		if first {
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
	ev = t.execute(ctx)
}

// closeReports ends the turn for its engine, whose reports are refused from then on, and reports
// whether this call did. Who did settles the turn: the worker, or, in its place, who leaves it
// behind.
func (t *turn) closeReports(behind *stuckCall) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closeReportsLocked(behind)
}

// closeReportsLocked is close for who holds mu.
func (t *turn) closeReportsLocked(behind *stuckCall) (first bool) {
	if t.closed {
		return false
	}
	t.closed, t.stuck = true, behind
	return true
}

// stuckCall is nil as long as the worker was not.
func (t *turn) stuckCall() *stuckCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stuck
}

// watchForStuckEngine leaves the worker behind when the turn's context has ended and the engine has
// not returned for as long as turnPatience (J10). It ends when the returned function has returned.
func (t *turn) watchForStuckEngine(ctx context.Context) (unwatch func()) {
	returned, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		for wait := turnPatience; ; wait = time.Second {
			tick, stop := t.node.clock.Timer(wait)
			select {
			case <-returned:
				stop()
				return
			case <-tick:
			}
			if !t.mu.TryLock() { // a report is being stored: it is the store that the engine waits for
				continue
			}
			behind := &stuckCall{EngineCall: t.call}
			behind.Since = commitTime(t.node.clock)
			first := t.closeReportsLocked(behind)
			t.mu.Unlock()
			if first {
				t.node.abandonWorker(t, context.Cause(ctx), behind)
			}
			return
		}
	})
	return func() {
		close(returned)
		if !stop() {
			<-ended
		}
	}
}

// abandonWorker settles a turn without its worker, who keeps the turn's permit until the engine
// returns.
func (n *node) abandonWorker(t *turn, cause error, behind *stuckCall) {
	defer n.workers.Done() // for the worker
	n.stuck.add(behind)
	n.log.Error("engine ignores that its turn has ended; going on without it, and without its place in Concurrency "+
		"until it returns",
		"call", behind.String(), "cause", cause)
	t.settleTurn(cause, t.collectEvidence(engine.Outcome{}))
}

// settleTurn stores what follows from the turn and takes it off the node's books. The cause is why
// the turn was interrupted, nil when it was not.
func (t *turn) settleTurn(cause error, ev *turnEvidence) {
	if cause != nil {
		ev.interrupt(cause)
	}
	t.node.forgetTurn(t, t.finish(ev))
}

// finish stores what follows from the turn's evidence, and returns the run as it then stands.
func (t *turn) finish(ev *turnEvidence) store.Run {
	if errors.Is(ev.interruption, engine.ErrCanceled) || errors.Is(ev.interruption, engine.ErrStale) {
		return t.reload() // whatever came late changes nothing (I6)
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
		return t.reload() // others ended or took it, or it was stored after all, and went on
	}
	t.settled = err == nil
	if err != nil {
		t.node.log.Error("turn's result not stored; recovery settles the run", "run", run.ID, "attempt", run.Attempt,
			"err", err)
	}
	return run
}

// reload returns the run as others left it.
func (t *turn) reload() store.Run {
	known := t.stored()
	if run, err := t.node.store.Run(t.node.live, known.ID); err == nil {
		return run
	}
	return known
}

// forgetTurn takes the turn off the node's books, and ends a resident process that nobody needs any
// more.
func (n *node) forgetTurn(t *turn, run store.Run) {
	n.mu.Lock()
	latest := n.turns[run.ID]
	if latest == t {
		delete(n.turns, run.ID)
	}
	if latest == t && !t.settled {
		// Whatever the record says now: it may not be durable, and the turn must not be executed
		// again because a failover shows it running. The next renewal that does not list it forgets
		// this.
		n.dropped[store.Hold{RunID: run.ID, Epoch: t.epoch, State: fsm.StateRunning}] = true
	}
	orphaned := t.orphaned
	n.mu.Unlock()
	if latest != nil && latest != t {
		return // the run went on here before this turn knew that its outcome was stored: its process is the next turn's
	}
	if orphaned {
		n.settleLostProcess(n.live, run.ID, lostWhileWaiting)
	}
	keeps := run.State == fsm.StateWaitingUser || run.State == fsm.StateQueued
	if !keeps || run.Profile != fsm.ProfileStickyProcess || run.Owner != n.id {
		n.endResidentAfterTurn(run.ID)
	}
}
