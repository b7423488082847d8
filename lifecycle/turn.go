package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// turn is one attempt that executes on this node: its worker's view of the run.
type turn struct {
	node   *node
	epoch  uint64
	spec   Spec
	begun  time.Time // an instant
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	run     store.Run // guarded by mu; as last stored by this worker
	closed  bool      // guarded by mu; RunTurn has returned, reports are refused
	reports int       // guarded by mu

	orphaned bool // guarded by node.mu; the resident process ended after the turn and before its commit
}

// lasted is how long the turn has been executing.
func (t *turn) lasted() time.Duration { return instant(t.node.clock).Sub(t.begun) }

// assignment is a turn for a worker.
type assignment struct {
	turn *turn
	ctx  context.Context //nolint:containedctx // it is handed to the worker with its turn
	spec []byte
}

// begin has a worker execute a claimed run: one that is idle, or a new one. The caller has taken a permit of n.slots for it, and the
// node does not leave yet.
func (n *node) begin(c store.Claimed) {
	ctx, cancel := context.WithCancelCause(n.live)
	t := &turn{node: n, epoch: c.Run.Epoch, begun: instant(n.clock), cancel: cancel, run: c.Run}
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
	n.workers.Go(func() { n.work(a) })
}

// work executes one turn after the other, until the node leaves and there is none: a goroutine that has grown its stack is worth
// keeping. There are no more of them than turns that executed at one time.
func (n *node) work(a assignment) {
	for {
		a.turn.work(a.ctx, a.spec)
		a.turn.cancel(nil)
		n.mu.Lock()
		n.idle++ // before the permit is free, so that who takes it finds this worker
		n.mu.Unlock()
		n.slots.Release(1)
		n.wakeClaims()
		select {
		case a = <-n.next:
		case <-n.left:
			return
		}
	}
}

// work executes the attempt and stores what follows from it.
func (t *turn) work(ctx context.Context, spec []byte) {
	outcome, profile := t.execute(ctx, spec)
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()

	run := t.conclude(ctx, profile, outcome)
	t.node.release(t, run)
}

// execute runs the engine. What the engine cannot do is evidence too: a failed process.
func (t *turn) execute(ctx context.Context, body []byte) (engine.Outcome, fsm.Profile) {
	spec, err := readSpec(t.run.ID, body)
	if err != nil {
		return failed(fsm.CodeEngineFailed, err), t.run.Profile
	}
	t.spec = spec
	e := t.node.engines[t.run.Engine]
	if e == nil {
		return failed(fsm.CodeEngineUnavailable, fmt.Errorf("engine %q is not configured in this process", t.run.Engine)), t.run.Profile
	}
	if spec.TurnTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = t.node.within(ctx, spec.TurnTimeout)
		defer stop()
	}
	profile, err := profileOf(ctx, e)
	if err != nil {
		return failed(fsm.CodeEngineUnavailable, err), t.run.Profile
	}
	input, err := t.input(spec)
	if err != nil {
		return failed(fsm.CodeWorkspaceMissing, err), profile.Kind
	}
	if profile.Kind == fsm.ProfileStickyProcess {
		t.node.holdResident(t.run.ID, t.run.Engine)
	}
	outcome := evidenceOf(runTurn(ctx, e, input, (*sink)(t)))
	outcome = t.repair(ctx, e, input, profile.Kind, outcome)
	if outcome.Process.Status != engine.OK {
		outcome.Process = interrupted(ctx, outcome.Process)
	}
	return outcome, profile.Kind
}

// evidenceOf makes evidence of an engine's error, too.
func evidenceOf(o engine.Outcome, err error) engine.Outcome {
	if err != nil {
		return failed(fsm.CodeEngineFailed, err)
	}
	return o
}

// within bounds a turn by the node's clock.
func (n *node) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	tick, stop := n.clock.Timer(d)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-tick:
			cancel(engine.ErrTurnTimeout)
		case <-done:
		}
	})
	return ctx, func() {
		close(done)
		watch.Wait()
		stop()
		cancel(nil)
	}
}

// runTurn calls the engine and turns a panic into an error, so that one engine's fault ends one turn.
func runTurn(ctx context.Context, e engine.Engine, t engine.Turn, s engine.Sink) (o engine.Outcome, err error) {
	defer caught(&err)
	return e.RunTurn(ctx, t, s)
}

// profileOf asks the engine, with the same care.
func profileOf(ctx context.Context, e engine.Engine) (p engine.Profile, err error) {
	defer caught(&err)
	return e.Profile(ctx)
}

// caught is deferred around calls of an engine.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = &engine.Failure{Code: fsm.CodeEngineFailed, Detail: fmt.Sprintf("engine panicked: %v\n%s", p, debug.Stack())}
	}
}

// failed is the outcome of a turn that the engine could not execute.
func failed(code fsm.Code, err error) engine.Outcome {
	detail := err.Error()
	var f *engine.Failure
	if errors.As(err, &f) && f.Code != "" {
		code = f.Code
		detail = strings.TrimPrefix(detail, string(code)+": ") // it stands beside
	}
	return engine.Outcome{Process: engine.Process{Status: engine.Failed, Code: code, Detail: detail}}
}

// interrupted names the reason for which the library itself ended the turn.
func interrupted(ctx context.Context, p engine.Process) engine.Process {
	cause := context.Cause(ctx)
	if errors.Is(cause, engine.ErrTurnTimeout) {
		p.Status, p.Code = engine.TimedOut, fsm.CodeTurnTimeout
	} else if cause != nil {
		p.Status, p.Code = engine.Interrupted, fsm.CodeTurnInterrupted
	}
	return p
}

// conclude stores what the turn's evidence leads to, and returns the run as it then stands.
func (t *turn) conclude(ctx context.Context, profile fsm.Profile, o engine.Outcome) store.Run {
	if cause := context.Cause(ctx); errors.Is(cause, engine.ErrCanceled) || errors.Is(cause, engine.ErrStale) {
		return t.reload() // whatever came late changes nothing (I.6)
	}
	ch := t.verdict(profile, o)
	if o.Process.Status == engine.Interrupted && errors.Is(context.Cause(ctx), engine.ErrShutdown) {
		ch = broken(&t.run, "the host shut down during the turn")
	}
	run, err := t.commit(func(run *store.Run, now time.Time) (store.Commit, error) {
		ch.now, ch.node = now, t.node.id
		return transition(run, &ch)
	})
	var violation *contract.SchemaViolation
	var refusal *fsm.Refusal
	if errors.As(err, &violation) || errors.As(err, &refusal) || errors.Is(err, store.ErrInvalid) {
		t.node.log.Error("turn's result refused", "run", run.ID, "attempt", run.Attempt, "err", err)
		run, err = t.commit(func(run *store.Run, now time.Time) (store.Commit, error) {
			return transition(run, &change{
				event: fsm.EventTurnFailed, now: now, node: t.node.id, code: fsm.CodeProtocolSchemaViolation, message: shortened(err.Error()),
			})
		})
	}
	if errors.Is(err, store.ErrStaleEpoch) {
		return t.reload() // others ended or took it, or it was stored after all, and went on
	}
	if err != nil {
		t.node.log.Error("turn's result not stored; recovery settles the run", "run", run.ID, "attempt", run.Attempt, "err", err)
	}
	return run
}

// verdict puts the turn's evidence before the completion gate.
func (t *turn) verdict(profile fsm.Profile, o engine.Outcome) change {
	ev := weigh(t.spec, t.run, profile, o)
	rule := fsm.Decide(ev.facts)
	ch := change{
		event: rule.Outcome, facts: ev.facts, code: rule.Error, profile: profile, session: ev.session,
		warnings: ev.warnings, final: ev.final, output: ev.reading.Output,
	}
	for _, w := range rule.Warnings {
		ch.warnings = append(ch.warnings, engine.Diagnostic{Code: w})
	}
	switch rule.Outcome {
	case fsm.EventTurnNeedsInput:
		ch.question = &ev.question
		ch.warnings = append(ch.warnings, ev.asking...)
	case fsm.EventTurnFailed:
		ch.message = ev.reason(rule)
		if o.Process.Status != engine.OK {
			ch.code = o.Process.Code
		}
	}
	return ch
}

// commit stores a change of this worker. It returns the run as it then stands.
func (t *turn) commit(build func(*store.Run, time.Time) (store.Commit, error)) (store.Run, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(build)
}

// put stores the change under the worker's fence, and tries again as long as the store is out of order and the node lives. The caller holds mu.
func (t *turn) put(build func(*store.Run, time.Time) (store.Commit, error)) (store.Run, error) {
	wait := 20 * time.Millisecond
	for {
		cm, err := build(&t.run, stamp(t.node.clock))
		if err != nil {
			return t.run, err
		}
		cm.Fence = &store.Fence{Node: t.node.id, Epoch: t.epoch}
		if err = t.node.commit(t.node.live, cm); err == nil {
			t.run = cm.Run
			t.node.alarm.at(t.run.Deadline)
			return t.run, nil
		}
		if errors.Is(err, store.ErrStaleEpoch) {
			t.cancel(engine.ErrStale)
			return t.run, err
		}
		if errors.Is(err, store.ErrInvalid) || t.node.live.Err() != nil {
			return t.run, err
		}
		t.node.log.Error("commit failed; trying again", "run", t.run.ID, "attempt", t.run.Attempt, "err", err)
		if t.node.rest(t.node.live, wait) != nil {
			return t.run, err
		}
		wait = min(2*wait, t.node.cfg.Poll)
		arrived, err := t.arrived(&cm.Run)
		if err != nil {
			t.cancel(err)
			return t.run, err
		}
		if arrived {
			t.node.alarm.at(t.run.Deadline)
			return t.run, nil
		}
	}
}

// errForgotten ends a turn of which the store has lost commits that it had acknowledged: a standby without the last ones took over, or a backup
// was restored. It is settled as one that was interrupted.
var errForgotten = fmt.Errorf("%w: the store has lost commits that it had acknowledged", engine.ErrStale)

// arrived looks whether a commit of unknown outcome was made after all: this one, or one of the tries before it, which differ in their time
// alone. Nobody but this worker changes a run under its epoch but to end it, until it waits; so version and state tell.
func (t *turn) arrived(run *store.Run) (bool, error) {
	stored, err := t.node.store.Run(t.node.live, run.ID)
	if err != nil || stored.Epoch != t.epoch {
		return false, nil
	}
	if stored.Version < t.run.Version {
		return false, fmt.Errorf("%w: run %s is at version %d, and was at %d", errForgotten, run.ID, stored.Version, t.run.Version)
	}
	made := stored.Version == run.Version && stored.State == run.State
	// What waited for a person was answered meanwhile, and is still ours: its process is here.
	answered := stored.Version > run.Version && run.State == fsm.StateWaitingUser && stored.Owner == t.node.id
	if made || answered {
		t.run = stored
	}
	return made || answered, nil
}

// reload returns the run as others left it.
func (t *turn) reload() store.Run {
	if run, err := t.node.store.Run(t.node.live, t.run.ID); err == nil {
		return run
	}
	return t.run
}

// shortened bounds a text for an error message.
func shortened(s string) string {
	s, _ = bounded(s, maxDetail)
	return s
}

// answers are what the turn goes on with.
func answers(run store.Run) []interaction.Answer {
	if run.Answer == nil {
		return nil
	}
	return []interaction.Answer{*run.Answer}
}
