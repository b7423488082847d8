package lifecycle

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// assignment is a turn for a worker.
type assignment struct {
	turn *turn
	ctx  context.Context //nolint:containedctx // it is handed to the worker with its turn
	spec []byte
}

// begin has a worker execute a claimed run: one that is idle, or a new one. The caller has taken a
// permit of n.slots for it, and the node does not leave yet.
func (n *node) begin(c store.Claimed) {
	ctx, cancel := context.WithCancelCause(n.live)
	t := &turn{
		node: n, epoch: c.Run.Epoch, begun: instant(n.clock), cancel: cancel, run: c.Run, profile: c.Run.Profile,
		what: EngineCall{Engine: c.Run.Engine, Method: "RunTurn", RunID: c.Run.ID, Attempt: c.Run.Attempt},
	}
	n.mu.Lock()
	n.turns[c.Run.ID] = t
	idle := n.idle > 0
	if idle {
		n.idle--
	}
	n.mu.Unlock()
	a := assignment{t, ctx, c.Spec}
	if idle {
		select {
		case n.next <- a: // it listens, or is about to
			return
		case <-n.left: // it may have gone: man looked just before the node began to leave
		}
	}
	n.workers.Add(1)
	go n.work(a)
}

// work executes one turn after the other, until the node leaves and there is none: a goroutine that
// has grown its stack is worth keeping. There are no more of them than turns that executed at one
// time. It ends early when an engine exits its goroutine, and when it was left behind in an engine:
// nobody waits for it then any more.
func (n *node) work(a assignment) {
	defer func() {
		if a.turn.leftBehind() == nil {
			n.workers.Done()
		}
	}()
	for n.execute(a) {
		select {
		case a = <-n.next:
		case <-n.left:
			return
		}
	}
}

// execute executes a turn and gives its permit back. It reports whether the worker may take another
// one.
func (n *node) execute(a assignment) (goesOn bool) {
	defer func() {
		a.turn.cancel(nil)
		if goesOn = goesOn && a.turn.leftBehind() == nil; goesOn {
			n.mu.Lock()
			n.idle++ // before the permit is free, so that who takes it finds this worker
			n.mu.Unlock()
		}
		n.slots.Release(1)
		n.wakeClaims()
	}()
	a.turn.work(a.ctx, a.spec)
	return true
}

// work executes the attempt and settles it, also where the engine exits this goroutine. Whether the
// turn was interrupted is looked at once, when the engine is through with it: an outcome of a turn
// whose context had ended by then is none (B1).
func (t *turn) work(ctx context.Context, body []byte) {
	spec, err := readSpec(t.run.ID, body)
	t.spec = spec
	if spec.TurnTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = t.node.within(ctx, spec.TurnTimeout)
		defer stop()
	}
	unwatch := t.watch(ctx)
	outcome := failed(fsm.CodeEngineFailed, errExited)
	defer func() {
		cause := context.Cause(ctx)
		first := t.close(nil)
		unwatch()
		if first {
			t.settle(cause, outcome)
			return
		}
		t.node.stuck.remove(t.leftBehind())
		t.node.log.Warn("engine has returned from a turn that was settled without it", "call", t.what.String())
	}()
	if err != nil {
		outcome = failed(fsm.CodeEngineFailed, err)
		return
	}
	outcome = t.execute(ctx)
}

// close ends the turn for its engine, whose reports are refused from then on, and reports whether
// this call did. Who did settles the turn: the worker, or, in its place, who leaves it behind.
func (t *turn) close(behind *stuckCall) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closeLocked(behind)
}

// closeLocked is close for who holds mu.
func (t *turn) closeLocked(behind *stuckCall) (first bool) {
	if t.closed {
		return false
	}
	t.closed, t.behind = true, behind
	return true
}

// leftBehind is nil as long as the worker was not.
func (t *turn) leftBehind() *stuckCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.behind
}

// watch leaves the worker behind when the turn's context has ended and the engine has not returned
// for as long as turnPatience (J10). It ends when the returned function has returned.
func (t *turn) watch(ctx context.Context) (unwatch func()) {
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
			behind := &stuckCall{EngineCall: t.what}
			behind.Since = stamp(t.node.clock)
			first := t.closeLocked(behind)
			t.mu.Unlock()
			if first {
				t.node.leaveBehind(t, context.Cause(ctx), behind)
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

// leaveBehind settles a turn without its worker, who keeps the turn's permit until the engine
// returns.
func (n *node) leaveBehind(t *turn, cause error, behind *stuckCall) {
	defer n.workers.Done() // for the worker
	n.stuck.add(behind)
	n.log.Error("engine ignores that its turn has ended; going on without it, and without its place in Concurrency "+
		"until it returns",
		"call", behind.String(), "cause", cause)
	t.settle(cause, engine.Outcome{})
}

// settle stores what follows from the turn and takes it off the node's books. The cause is why the
// turn was interrupted, nil when it was not.
func (t *turn) settle(cause error, o engine.Outcome) {
	if cause != nil {
		o.Process = interrupted(cause, o.Process)
	}
	t.node.release(t, t.conclude(cause, o))
}
