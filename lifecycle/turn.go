package lifecycle

import (
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

// input is what the engine is given for the attempt.
func (t *turn) input(spec Spec) (engine.Turn, error) {
	dirs, err := t.node.folders(t.run, spec)
	if err != nil {
		return engine.Turn{}, err
	}
	how := t.spoken()
	in := engine.Turn{
		RunID: t.run.ID, Attempt: t.run.Attempt, Epoch: t.epoch, Mode: t.run.Mode,
		Prompt: how.prompt(spec, dirs.artifacts),
		Plain:  how.plain, Nonce: how.nonce,
		Answers: answers(t.run), OutputSchema: spec.OutputSchema,
		WorkDir: dirs.work, ArtifactDir: dirs.artifacts, TranscriptDir: dirs.transcripts, HomeDir: dirs.home,
	}
	if s := t.run.Session; s != nil {
		in.Handle = &engine.Handle{Engine: s.Engine, Version: s.Version, Data: s.Data}
	}
	return in, nil
}

// prompt is the host's, with instructions unless the engine is plain code (H1, H2, M4).
func (how speech) prompt(spec Spec, artifacts string) string {
	if how.plain {
		return spec.Prompt
	}
	return interaction.Patch(interaction.PromptParts{
		Task: spec.Prompt, Mode: spec.Mode, ArtifactDir: artifacts, OutputSchema: spec.OutputSchema, Nonce: how.nonce,
	})
}

// answers are what the turn goes on with.
func answers(run Run) []interaction.Answer {
	if run.Answer == nil {
		return nil
	}
	return []interaction.Answer{*run.Answer}
}

// repair has the agent give an output again that is not valid, in rounds of the same attempt, as
// often as the spec allows (B3, B5). The last round's outcome is the turn's.
func (t *turn) repair(ctx context.Context, e engine.Engine, in engine.Turn, profile fsm.Profile,
	o engine.Outcome) engine.Outcome {
	for round := 1; round <= t.spec.RepairRounds; round++ {
		ev, goesOn := t.repairable(profile, o)
		if !goesOn {
			return o
		}
		why := shortened(ev.invalid.Error())
		if t.askAgain(ctx, ev, fmt.Sprintf("round %d of %d: %s", round, t.spec.RepairRounds, why)) != nil ||
			ctx.Err() != nil {
			o.Process = engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
				Detail: "the turn was interrupted before its output was repaired"}
			return o
		}
		in.Repair, in.Answers, in.Handle = t.repairText(why), nil, o.Handle
		if s := t.session(); in.Handle == nil && s != nil {
			in.Handle = &engine.Handle{Engine: s.Engine, Version: s.Version, Data: s.Data}
		}
		next := t.runEngine(ctx, e, in)
		next.Diagnostics = slices.Concat(o.Diagnostics, next.Diagnostics)
		o = next // without a handle, where it has none: that of the round before is stored
	}
	return o
}

// repairText is what the engine is told: why its output is not valid, and where it is no plain code
// what to do.
func (t *turn) repairText(why string) string {
	how := t.spoken()
	if how.plain {
		return why
	}
	return interaction.RepairText(t.spec.Mode, how.nonce, why)
}

// session is the run's, as last stored.
func (t *turn) session() *store.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run.Session
}

// repairable weighs what the round left, and reports whether the gate would fail the turn for its
// output and there is a session that can be told so.
func (t *turn) repairable(profile fsm.Profile, o engine.Outcome) (ev evidence, goesOn bool) {
	run, _ := t.stored()
	ev = weigh(t.spec, run, profile, t.spoken(), o)
	known := profile == fsm.ProfileStickyProcess || ev.facts&fsm.FactHandlePresent != 0
	return ev, fsm.Decide(ev.facts).Error == fsm.CodeOutputInvalid && known && ev.lost == nil
}

// askAgain stores that a round of repair begins: what the agent said until then, and the session
// that it goes on with.
func (t *turn) askAgain(ctx context.Context, ev evidence, why string) error {
	var events []telling
	if f := ev.final; f != nil {
		text, cut := bounded(f.text, maxMessage)
		data := make(map[string]any, 3)
		message(data, text, cut, f.ref)
		events = append(events, telling{contract.TypeMessageIntermediate, data})
	}
	events = append(events, told(engine.Diagnostic{Code: fsm.WarnOutputRepairRequested, Detail: shortened(why)}))
	return (*sink)(t).report(ctx, ev.session, events...)
}
