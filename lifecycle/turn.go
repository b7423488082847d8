package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// turn is one attempt of a run that executes on this node.
type turn struct {
	node    *node
	epoch   uint64
	spec    Spec            // set by the worker before the engine is called
	started time.Time       // by monotonicNow
	ctx     context.Context //nolint:containedctx // its cause says why the turn was interrupted
	cancel  context.CancelCauseFunc

	engineReturn engineReturn

	mu            commitLock
	record        store.Run   // guarded by mu; as last stored by this worker
	profile       fsm.Profile // guarded by mu; the engine's, once it is known
	dialect       dialect     // guarded by mu; set with profile
	call          EngineCall  // Method is guarded by mu: the method that the worker called last; the rest is constant
	reportsClosed bool        // guarded by mu; the turn is being settled, by its worker or without it
	stuck         *stuckCall  // guarded by mu; not nil: the turn was settled without its worker
	reports       int         // guarded by mu

	acknowledged bool // the outcome was stored, and acknowledged; used by whoever settles the turn
	processLost  bool // guarded by node.mu; the resident process ended before the turn was removed from the node
}

// newTurn returns the turn of a run that this node has claimed.
func (n *node) newTurn(run store.Run) *turn {
	ctx, cancel := context.WithCancelCause(n.live)
	return &turn{
		node: n, epoch: run.Epoch, started: monotonicNow(n.clock), ctx: ctx, cancel: cancel, record: run,
		profile: run.Profile,
		call:    EngineCall{Engine: run.Engine, Method: "RunTurn", RunID: run.ID, Attempt: run.Attempt},
	}
}

// age is how long the turn has been executing.
func (t *turn) age() time.Duration { return monotonicNow(t.node.clock).Sub(t.started) }

// execute has the engine execute the turn. What the engine cannot do is evidence too: a failed
// process.
func (t *turn) execute(ctx context.Context) *turnEvidence {
	e := t.node.engines[t.call.Engine]
	if e == nil {
		return t.failed(fsm.CodeEngineUnavailable, fmt.Errorf("engine %q is not configured in this process",
			t.call.Engine))
	}
	if t.node.stuck.turnOf(t.call.RunID) { // RunTurn is never called concurrently for one run
		return t.collectEvidence(engine.Outcome{Process: engine.Process{
			Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted, Detail: "an earlier turn of the run has not " +
				"returned from its engine in this process",
		}})
	}
	profile, err := t.askProfile(ctx, e)
	if err != nil {
		return t.failed(fsm.CodeEngineUnavailable, err)
	}
	input, err := t.input(t.spec)
	if err != nil {
		return t.failed(fsm.CodeWorkspaceMissing, err)
	}
	if profile == fsm.ProfileStickyProcess {
		t.node.holdResident(t.call.RunID, t.call.Engine)
	}
	return t.runRounds(ctx, e, input)
}

// failed is the evidence of a turn that the engine could not execute.
func (t *turn) failed(code fsm.Code, err error) *turnEvidence {
	return t.collectEvidence(failed(code, err))
}

// limitTime interrupts the turn when d has passed on the node's clock, until the returned function
// has returned.
func (t *turn) limitTime(d time.Duration) (stop func()) {
	tick, stopTimer := t.node.clock.Timer(d)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-tick:
			t.interrupt(engine.ErrTurnTimeout)
		case <-done:
		}
	})
	return func() {
		close(done)
		watch.Wait()
		stopTimer()
	}
}

// runEngine has the engine execute one round of the turn, unless the turn has ended. Errors and
// hints have methods of the engine's, which may panic, so they are read here, within guarded.
func (t *turn) runEngine(ctx context.Context, e engine.Engine, in engine.Turn) (o engine.Outcome) {
	if ctx.Err() != nil {
		return engine.Outcome{Process: interrupted(context.Cause(ctx), engine.Process{})}
	}
	err := t.node.guarded(t.enterMethod("RunTurn"), func() error {
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
				odd := interaction.Diagnostic{Code: fsm.WarnAskUserTruncated,
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

// askProfile asks the engine how it goes on after a wait, and remembers it for the turn.
func (t *turn) askProfile(ctx context.Context, e engine.Engine) (fsm.Profile, error) {
	var profile engine.Profile
	var fault error
	err := t.node.guarded(t.enterMethod("Profile"), func() error {
		given, err := e.Profile(ctx)
		if err != nil {
			o := failed(fsm.CodeEngineUnavailable, err) // reads the error, which is code of the engine
			fault = &engine.Failure{Code: o.Process.Code, Detail: o.Process.Detail}
		}
		profile = given
		return nil
	})
	if err == nil {
		err = fault
	}
	if err == nil && profile.Kind != fsm.ProfileResumable && profile.Kind != fsm.ProfileStickyProcess {
		err = fmt.Errorf("the engine's Profile has Kind %q, want %q or %q", profile.Kind, fsm.ProfileResumable,
			fsm.ProfileStickyProcess)
	}
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.profile, t.dialect = profile.Kind, dialectOf(profile, t.spec.Mode)
	return profile.Kind, nil
}

// enterMethod records which method of the engine the worker calls, in case it gets stuck there.
func (t *turn) enterMethod(method string) EngineCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call.Method = method
	return t.call
}

// failed is an outcome that stands for an error.
func failed(code fsm.Code, err error) engine.Outcome {
	detail := err.Error()
	var f *engine.Failure
	if errors.As(err, &f) && f.Code != "" {
		code = f.Code
		detail = strings.TrimPrefix(detail, string(code)+": ") // it stands beside
	}
	return engine.Outcome{Process: engine.Process{Status: engine.Failed, Code: code, Detail: detail}}
}

// interrupted is how a process ended that the library interrupted for the given cause.
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

// input is what the engine is given for the turn. It makes the run's folders.
func (t *turn) input(spec Spec) (engine.Turn, error) {
	dirs, err := t.node.folders(t.record, spec)
	if err != nil {
		return engine.Turn{}, err
	}
	d := t.currentDialect()
	in := engine.Turn{
		RunID: t.record.ID, Attempt: t.record.Attempt, Epoch: t.epoch, Mode: t.record.Mode,
		Prompt: d.prompt(spec, dirs.artifacts),
		Plain:  d.plain, Nonce: d.nonce,
		Answers: answers(t.record), OutputSchema: spec.OutputSchema,
		WorkDir: dirs.work, ArtifactDir: dirs.artifacts, TranscriptDir: dirs.transcripts, HomeDir: dirs.home,
		Session: forEngine(t.record.Session),
	}
	return in, nil
}

// prompt is the host's prompt, with instructions for an agent unless the engine is plain code (H1,
// H2, M4).
func (d dialect) prompt(spec Spec, artifacts string) string {
	if d.plain {
		return spec.Prompt
	}
	return interaction.Patch(interaction.PromptParts{
		Task: spec.Prompt, Mode: spec.Mode, ArtifactDir: artifacts, OutputSchema: spec.OutputSchema, Nonce: d.nonce,
	})
}

// answers are the answers that the turn goes on with; none in a first turn.
func answers(run Run) []interaction.Answer {
	if run.Answer == nil {
		return nil
	}
	return []interaction.Answer{*run.Answer}
}

// runRounds has the engine execute the turn, and gives an agent whose output is not valid further
// rounds in the same attempt to repair it, as many as the spec allows (B3, B5). The evidence is
// that of the last round.
func (t *turn) runRounds(ctx context.Context, e engine.Engine, in engine.Turn) *turnEvidence {
	o := t.runEngine(ctx, e, in)
	for round := 1; ; round++ {
		ev := t.collectEvidence(o)
		if round > t.spec.RepairRounds || !t.repairable(ev) {
			return ev
		}
		fault := shortened(ev.outputFault.Error())
		if t.reportRepair(ctx, ev, fmt.Sprintf("round %d of %d: %s", round, t.spec.RepairRounds, fault)) != nil ||
			ctx.Err() != nil {
			ev.setProcess(engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
				Detail: "the turn was interrupted before its output was repaired"})
			return ev
		}
		in.Repair, in.Answers, in.Session = t.repairText(fault), nil, o.Session
		if in.Session == nil {
			in.Session = forEngine(t.lastStored().Session)
		}
		next := t.runEngine(ctx, e, in)
		next.Diagnostics = slices.Concat(o.Diagnostics, next.Diagnostics)
		o = next // without a handle, where it has none: that of the round before is stored
	}
}

// repairText says why the output is not valid, and, unless the engine is plain code, what to do.
func (t *turn) repairText(why string) string {
	d := t.currentDialect()
	if d.plain {
		return why
	}
	return interaction.RepairText(t.spec.Mode, d.nonce, why)
}

// repairable reports whether the gate would fail the turn for its output, and there is a session
// that can be told why.
func (t *turn) repairable(ev *turnEvidence) bool {
	if ev.outputFault == nil || ev.sessionFault != nil {
		return false
	}
	run := t.lastStored()
	d := ev.details()
	facts := factsOf(&run, &d)
	return (facts.Has(fsm.FactSticky) || facts.Has(fsm.FactHandlePresent)) &&
		fsm.Decide(facts).Error == fsm.CodeOutputInvalid
}

// reportRepair stores that a round of repair begins: what the agent said until then, and the
// session that it goes on with.
func (t *turn) reportRepair(ctx context.Context, ev *turnEvidence, why string) error {
	var events []fcmp.Payload
	if f := ev.final; f != nil {
		text, cut := bounded(f.text, maxMessage)
		events = append(events, intermediate(text, cut, f.ref))
	}
	requested := interaction.Diagnostic{Code: fsm.WarnOutputRepairRequested, Detail: shortened(why)}
	events = append(events, warning(requested))
	return (*sink)(t).report(ctx, ev.session, events...)
}
