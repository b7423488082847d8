package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// execute lets the engine execute the turn, if the turn is allowed and possible. The evidence is
// nil if the turn was settled without this worker.
func (t *turn) execute(ctx context.Context) *decide.Evidence {
	e := t.node.proc.Engines[t.call.Engine]
	if e == nil {
		return t.failed(fsm.CodeEngineUnavailable, fmt.Errorf("engine %q is not configured in this process",
			t.call.Engine))
	}
	if t.node.proc.Stuck.HasTurnOf(t.call.RunID) { // an engine never executes two turns of one run concurrently
		return t.collectEvidence(engine.Outcome{Process: engine.Process{
			Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted, Detail: "an earlier turn of the run has not " +
				"returned from its engine in this process",
		}})
	}
	if t.cancelWithParent(ctx) {
		return t.collectEvidence(engine.Outcome{})
	}
	if t.record.AsksAgain() && t.origin != nil && len(t.origin.Asks) > 0 {
		return decide.AskAgain(t.origin, t.node.proc.Host)
	}
	profile, err := t.askProfile(ctx, e)
	if err != nil {
		return t.failed(fsm.CodeEngineUnavailable, err)
	}
	if t.settledWithoutWorker() {
		return nil // Profile took too long
	}
	dirs, err := t.node.cfg.Folders.Prepare(t.record, t.spec.WorkDir)
	if err != nil {
		return t.failed(fsm.CodeWorkspaceMissing, err)
	}
	if profile == fsm.ProfileStickyProcess {
		t.owner.addResident(t.call.RunID, t.call.Engine)
	}
	answers, err := t.answers(ctx)
	if err != nil {
		return t.failed(fsm.CodeEngineFailed, err)
	}
	in := t.input(dirs, answers)
	if in.Session == nil {
		if in.Session, err = t.firstSession(ctx, e, profile, in); err != nil {
			return t.failed(fsm.CodeSessionResumeFailed, err)
		}
	}
	return t.runRounds(ctx, e, in)
}

// firstSession returns the session for a run that has none yet: a fork's branched session, or nil
// to begin one. After an answer it returns an error, since the engine would get the answer to a
// question that it has not asked.
func (t *turn) firstSession(ctx context.Context, e engine.Engine, p fsm.Profile, in engine.Turn) (
	*engine.SessionHandle, error) {
	switch {
	case t.origin != nil && t.origin.Session != nil:
		return t.branchSession(ctx, e, in)
	case t.origin == nil && p == fsm.ProfileResumable && len(in.Answers) > 0:
		return nil, ErrNoSession
	}
	return nil, nil //nolint:nilnil // no session, and no fault
}

// failed is the evidence of a turn that the engine could not execute. A transient error of the
// library, such as too many open files, is retried; a Failure is the engine's own decision.
func (t *turn) failed(code fsm.Code, err error) *decide.Evidence {
	o := failedOutcome(code, err)
	if f := (*engine.Failure)(nil); !errors.As(err, &f) {
		o.Process.Transient = engine.PassingError(err)
	}
	return t.collectEvidence(o)
}

// limitTime interrupts the turn after d on the node's clock, unless stop was called before.
func (t *turn) limitTime(d time.Duration) (stop func()) {
	tick, stopTimer := t.node.proc.Clock.Timer(d)
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

// runRounds lets the engine execute the turn. If the agent's output is invalid, it may repair the
// output in as many rounds as the spec allows. The evidence comes from the last round.
func (t *turn) runRounds(ctx context.Context, e engine.Engine, in engine.Turn) *decide.Evidence {
	ctx = t.observeStart(ctx)
	o := t.runEngine(ctx, e, in)
	ev := t.collectEvidence(o)
	for round := 1; round <= t.spec.RepairRounds && t.repairable(ev); round++ {
		fault := decide.Shortened(ev.OutputFault.Error())
		err := t.reportRepair(ctx, ev, fmt.Sprintf("round %d of %d: %s", round, t.spec.RepairRounds, fault))
		if err != nil || ctx.Err() != nil {
			ev.SetProcess(engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
				Detail: "the turn was interrupted before its output was repaired"})
			return ev
		}
		in = t.repairInput(in, o.Session, fault)
		repaired := t.runEngine(ctx, e, in)
		repaired.Diagnostics = slices.Concat(o.Diagnostics, repaired.Diagnostics)
		repaired.Usage = o.Usage.Add(repaired.Usage)
		o = repaired
		ev = t.collectEvidence(o)
	}
	return ev
}

// observeStart returns the engine's context from Observer.Start.
func (t *turn) observeStart(ctx context.Context) context.Context {
	forEngine, trace := t.node.proc.Notices.StartTurn(ctx, t.record, t.claimed, t.spec.Meta)
	if forEngine == nil {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.settling {
		t.observed, t.trace = forEngine, trace
	}
	return forEngine
}

// runEngine executes one round of the turn, unless the turn was interrupted.
func (t *turn) runEngine(ctx context.Context, e engine.Engine, in engine.Turn) (o engine.Outcome) {
	if ctx.Err() != nil {
		return engine.Outcome{Process: decide.InterruptedProcess(context.Cause(ctx), engine.Process{})}
	}
	what, allowed := t.noteBegin()
	if !allowed {
		return engine.Outcome{} // the turn was settled without this worker
	}
	err := t.node.proc.Guard(what, func() error {
		returned, err := e.RunTurn(ctx, in, (*sink)(t))
		if err != nil {
			o = failedOutcome(fsm.CodeEngineFailed, err)
			o.Usage = returned.Usage
		} else {
			o = withPlainHints(returned)
		}
		return nil
	})
	if err != nil {
		return failedOutcome(fsm.CodeEngineFailed, err)
	}
	return o
}

func failedOutcome(code fsm.Code, err error) engine.Outcome {
	return engine.Outcome{Process: decide.FailedProcess(code, err)}
}

// withPlainHints keeps the hints that can be stored. They may have methods of the engine, so it is
// called within Guard.
func withPlainHints(o engine.Outcome) engine.Outcome {
	o.Questions = slices.Clone(o.Questions)
	for i := range o.Questions[:min(len(o.Questions), interaction.MaxQuestions)] {
		hints, err := interaction.PlainHints(o.Questions[i].UIHints)
		o.Questions[i].UIHints = hints
		if err != nil {
			o.Diagnostics = append(slices.Clip(o.Diagnostics), interaction.Diagnostic{
				Code: fsm.WarnAskUserTruncated, Detail: decide.Shortened(fmt.Sprintf("ui_hints are left out: %v", err)),
			})
		}
	}
	return o
}

// askProfile asks how the engine continues after a wait, for this turn.
func (t *turn) askProfile(ctx context.Context, e engine.Engine) (fsm.Profile, error) {
	var profile engine.Profile
	var failure *engine.Failure
	err := t.node.proc.Guard(t.noteCall("Profile"), func() error {
		returned, err := e.Profile(ctx)
		if err != nil {
			failure = decide.Failure(fsm.CodeEngineUnavailable, err)
		}
		profile = returned
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case failure != nil:
		return "", failure
	case profile.Kind != fsm.ProfileResumable && profile.Kind != fsm.ProfileStickyProcess:
		return "", fmt.Errorf("the engine's Profile has Kind %q, want %q or %q", profile.Kind, fsm.ProfileResumable,
			fsm.ProfileStickyProcess)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.profile, t.dialect = profile.Kind, dialectOf(profile, &t.spec)
	return profile.Kind, nil
}

// noteCall records the method about to be called, for Stuck. It returns the whole call.
func (t *turn) noteCall(method string) EngineCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call.Method = method
	return t.call
}

// noteBegin records that the worker is about to call the engine. If the turn was already settled
// without this worker, another node may execute the run, so the call is not allowed.
func (t *turn) noteBegin() (what EngineCall, allowed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settling {
		return t.call, false
	}
	t.begun, t.call.Method = true, "RunTurn"
	return t.call, true
}

// dialectOf returns a profile's dialect for one turn, with a new nonce.
func dialectOf(p engine.Profile, s *Spec) decide.Dialect {
	d := decide.Dialect{Plain: p.Plain, Questions: s.MaxQuestions}
	if p.Signed && !p.Plain && s.Mode == fsm.ModeInteractive {
		d.Nonce = strings.ToLower(rand.Text()[:12]) // 60 bits
	}
	return d
}

func (t *turn) currentDialect() decide.Dialect {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialect
}

// collectEvidence reads the outcome of a turn or round.
func (t *turn) collectEvidence(o engine.Outcome) *decide.Evidence {
	t.mu.Lock()
	terms := decide.Terms{Profile: t.profile, Dialect: t.dialect, Begun: t.begun, Host: t.node.proc.Host,
		Retry: t.spec.Retry, OutputSchema: t.spec.OutputSchema, Ask: t.spec.Ask, Submitter: t.spec.Submitter}
	t.mu.Unlock()
	ev := decide.Read(o, &terms)
	if len(o.Journal) > 0 {
		run := t.lastStored()
		ev.AddJournal(o.Journal, run.Journal)
	}
	return ev
}

// cancelWithParent cancels the run, without calling the engine, if its parent ended before this
// turn could begin.
func (t *turn) cancelWithParent(ctx context.Context) bool {
	run := t.lastStored()
	id := run.Parent()
	if id == "" {
		return false
	}
	parent := store.Run{ID: id, State: "pruned"}
	err := t.untilAnswered(ctx, "parent not read", func() error {
		read, err := t.node.proc.Store.Run(ctx, id)
		if err == nil {
			parent = read
		}
		return err
	})
	ended := errors.Is(err, store.ErrNotFound) || err == nil && parent.State.Terminal()
	if !ended {
		return false
	}
	err = t.commit(func(run *store.Run, now time.Time) (*store.Commit, error) {
		return decide.Cancel(run, ParentEnded(&parent), now)
	})
	if err == nil {
		t.interrupt(engine.ErrCanceled)
	}
	return err == nil
}
