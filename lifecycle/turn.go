package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	begun  time.Time  // an instant
	what   EngineCall // the worker's own; its Method is written under mu
	cancel context.CancelCauseFunc

	mu      commitLock
	run     store.Run   // guarded by mu; as last stored by this worker
	profile fsm.Profile // guarded by mu; the engine's, once it is known
	speech  speech      // guarded by mu; as profile
	closed  bool        // guarded by mu; the turn is settled, by its worker or without it: reports are refused
	behind  *stuckCall  // guarded by mu; the worker was left behind in the engine
	reports int         // guarded by mu

	settled  bool // the worker's own; its outcome was stored, and acknowledged
	orphaned bool // guarded by node.mu; the resident process ended after the turn and before its commit
}

// lasted is how long the turn has been executing.
func (t *turn) lasted() time.Duration { return instant(t.node.clock).Sub(t.begun) }

// execute runs the engine. What the engine cannot do is evidence too: a failed process.
func (t *turn) execute(ctx context.Context) engine.Outcome {
	e := t.node.engines[t.what.Engine]
	if e == nil {
		return failed(fsm.CodeEngineUnavailable, fmt.Errorf("engine %q is not configured in this process",
			t.what.Engine))
	}
	if t.node.stuck.turnOf(t.what.RunID) { // RunTurn is never called concurrently for one run
		return engine.Outcome{Process: engine.Process{
			Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted, Detail: "an earlier turn of the run has not " +
				"returned from its engine in this process",
		}}
	}
	profile, why := t.askProfile(ctx, e)
	if why != nil {
		return *why
	}
	input, err := t.input(t.spec)
	if err != nil {
		return failed(fsm.CodeWorkspaceMissing, err)
	}
	if profile == fsm.ProfileStickyProcess {
		t.node.holdResident(t.what.RunID, t.what.Engine)
	}
	return t.repair(ctx, e, input, profile, t.runEngine(ctx, e, input))
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

// runEngine calls the engine for one round of the turn, unless the turn has ended. Whatever the
// engine hands over that is code, errors and hints, is read here, where it can do no harm.
func (t *turn) runEngine(ctx context.Context, e engine.Engine, in engine.Turn) (o engine.Outcome) {
	if ctx.Err() != nil {
		return engine.Outcome{Process: interrupted(context.Cause(ctx), engine.Process{})}
	}
	err := t.node.guarded(t.calls("RunTurn"), func() error {
		given, err := e.RunTurn(ctx, in, (*sink)(t))
		if err != nil {
			o = failed(fsm.CodeEngineFailed, err)
			return nil
		}
		o = given
		if len(o.Questions) > 0 {
			o.Questions = slices.Clone(o.Questions)
			q := &o.Questions[0]
			if q.UIHints, err = interaction.PlainHints(q.UIHints); err != nil {
				odd := engine.Diagnostic{Code: fsm.WarnAskUserTruncated,
					Detail: shortened(fmt.Sprintf("ui_hints are left out: %v", err))}
				o.Diagnostics = append(slices.Clip(o.Diagnostics), odd)
			}
		}
		return nil
	})
	if err != nil {
		return failed(fsm.CodeEngineFailed, err)
	}
	return o
}

// askProfile asks the engine how it goes on after a wait, and remembers it. When the engine cannot
// say, that is the turn's outcome.
func (t *turn) askProfile(ctx context.Context, e engine.Engine) (kind fsm.Profile, why *engine.Outcome) {
	what := t.calls("Profile")
	var unavailable engine.Outcome
	var how speech
	err := t.node.guarded(what, func() error {
		profile, err := e.Profile(ctx)
		if err != nil {
			unavailable = failed(fsm.CodeEngineUnavailable, err)
			why = &unavailable
		}
		kind, how = profile.Kind, speechOf(profile, t.spec.Mode)
		if why == nil && kind != fsm.ProfileResumable && kind != fsm.ProfileStickyProcess {
			unavailable = failed(fsm.CodeEngineUnavailable,
				fmt.Errorf("the engine's Profile has Kind %q, want %q or %q",
					kind, fsm.ProfileResumable, fsm.ProfileStickyProcess))
			why = &unavailable
		}
		return nil
	})
	if err != nil {
		unavailable = failed(fsm.CodeEngineUnavailable, err)
		why = &unavailable
	}
	if why == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.profile, t.speech = kind, how
	}
	return kind, why
}

// calls notes which method of the engine the worker is in, for who leaves it behind.
func (t *turn) calls(method string) EngineCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.what.Method = method
	return t.what
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
func interrupted(cause error, p engine.Process) engine.Process {
	if p.Detail == "" {
		p.Detail = strings.TrimPrefix(cause.Error(), "engine: ")
	}
	p.Status, p.Code = engine.Interrupted, fsm.CodeTurnInterrupted
	if errors.Is(cause, engine.ErrTurnTimeout) {
		p.Status, p.Code = engine.TimedOut, fsm.CodeTurnTimeout
	}
	return p
}

// conclude stores what the turn's evidence leads to, and returns the run as it then stands.
func (t *turn) conclude(cause error, o engine.Outcome) store.Run {
	if errors.Is(cause, engine.ErrCanceled) || errors.Is(cause, engine.ErrStale) {
		return t.reload() // whatever came late changes nothing (I6)
	}
	ch := t.verdict(o)
	if errors.Is(cause, engine.ErrShutdown) {
		run, _ := t.stored()
		ch = broken(&run, true, "the host shut down during the turn")
	} else if cause == nil && o.Process.Status == engine.Interrupted {
		ch = t.lostAgent(ch)
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
				event: fsm.EventTurnFailed, now: now, node: t.node.id, code: fsm.CodeProtocolSchemaViolation,
				message: shortened(err.Error()),
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

// statusCodes are the codes of a process that names none.
var statusCodes = map[engine.Status]fsm.Code{engine.Interrupted: fsm.CodeTurnInterrupted,
	engine.TimedOut: fsm.CodeTurnTimeout}

// verdict puts the turn's evidence before the completion gate.
func (t *turn) verdict(o engine.Outcome) change {
	run, profile := t.stored()
	ev := weigh(t.spec, run, profile, t.spoken(), o)
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
			ch.code = cmp.Or(o.Process.Code, statusCodes[o.Process.Status])
		}
	}
	return ch
}

// lostAgent is what becomes of a turn whose agent was ended by somebody else while its host lives:
// a repeatable one is treated as if its worker were lost (E4, J3), any other has failed.
func (t *turn) lostAgent(otherwise change) change {
	run, _ := t.stored()
	ch := broken(&run, false, orText(otherwise.message, "the agent was interrupted"))
	if ch.event == fsm.EventRestartRequeue || facts(&run).Has(fsm.FactRepeatsExhausted) {
		ch.session = otherwise.session
		return ch
	}
	return otherwise
}

// reload returns the run as others left it.
func (t *turn) reload() store.Run {
	known, _ := t.stored()
	if run, err := t.node.store.Run(t.node.live, known.ID); err == nil {
		return run
	}
	return known
}

// shortened bounds a text for an error message.
func shortened(s string) string {
	s, _ = bounded(s, maxDetail)
	return s
}
