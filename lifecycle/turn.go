package lifecycle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// turn is one attempt of a run that executes on this node.
type turn struct {
	node    *membership
	epoch   uint64
	spec    Spec            // set by the worker before the engine is called
	origin  *decide.Origin  // set with spec; what a fork inherits, nil for other runs
	started time.Time       // by monotonicNow
	created time.Time       // when the run was created, as its record says
	claimed time.Time       // when the run was claimed, as its record says
	ctx     context.Context //nolint:containedctx // its cause says why the turn was interrupted
	cancel  context.CancelCauseFunc

	engineReturn engineReturn
	journalRoom  journalRoom

	mu            node.CommitLock
	record        *store.Run      // guarded by mu; as last stored by this worker; constant once the turn is settled
	profile       fsm.Profile     // guarded by mu; the engine's, once it is known
	dialect       decide.Dialect  // guarded by mu; set with profile
	call          node.EngineCall // Method is guarded by mu: what the worker called last; the rest is constant
	reportsClosed bool            // guarded by mu; the turn is being settled, by its worker or without it
	stuck         *node.StuckCall // guarded by mu; not nil: the turn was settled without its worker
	inTransaction *store.Commit   // guarded by mu; a commit that a transaction of the host may store; see AppendIn
	begun         bool            // guarded by mu; the engine was called to execute the turn
	reports       int             // guarded by mu; how many were made
	reportBytes   int             // guarded by mu; the size of the events of those that are stored
	reportsFull   bool            // guarded by mu; what is reported from now on is left out

	// What Observer.Start returned; nil and empty if it was not called. Set under mu before the
	// engine is called, and constant once the turn is settled.
	observed context.Context //nolint:containedctx // for the notice that the turn has ended
	trace    string

	processLost bool // guarded by node.mu; the resident process ended before the turn was removed from the node
}

// newTurn returns the turn of a run that this node has claimed. The record is the turn's from then
// on.
func (n *membership) newTurn(run *store.Run) *turn {
	ctx, cancel := context.WithCancelCause(n.live)
	return &turn{
		node: n, epoch: run.Epoch, started: node.MonotonicNow(n.proc.Clock), created: run.CreatedAt,
		claimed: run.UpdatedAt, ctx: ctx, cancel: cancel, record: run, profile: run.Profile,
		call: node.EngineCall{Engine: run.Engine, Method: "RunTurn", RunID: run.ID, Attempt: run.Attempt},
	}
}

// age is how long the turn has been executing.
func (t *turn) age() time.Duration { return node.MonotonicNow(t.node.proc.Clock).Sub(t.started) }

// execute prepares the turn (engine, profile, folders), and has the engine execute it in one or
// more rounds. If the engine cannot execute the turn, the evidence is that of a process that failed
// or was interrupted. It is nil if the turn was settled without this worker.
func (t *turn) execute(ctx context.Context) *decide.Evidence {
	e := t.node.proc.Engines[t.call.Engine]
	if e == nil {
		return t.failed(fsm.CodeEngineUnavailable, fmt.Errorf("engine %q is not configured in this process",
			t.call.Engine))
	}
	if t.node.proc.Stuck.HasTurnOf(t.call.RunID) { // an engine never executes two turns of one run at one time
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
	if t.stuckCall() != nil {
		return nil // Profile took so long that the turn was settled without this worker
	}
	dirs, err := t.node.folders.Prepare(t.record, t.spec.WorkDir)
	if err != nil {
		return t.failed(fsm.CodeWorkspaceMissing, err)
	}
	if profile == fsm.ProfileStickyProcess {
		t.node.holdResident(t.call.RunID, t.call.Engine)
	}
	answers, err := t.answers(ctx)
	if err != nil {
		return t.failed(fsm.CodeEngineFailed, err)
	}
	in := t.input(dirs, answers)
	if in.Session == nil && t.origin != nil && t.origin.Session != nil {
		if in.Session, err = t.branchSession(ctx, e, in); err != nil {
			return t.failed(fsm.CodeSessionResumeFailed, err)
		}
	}
	if in.Session == nil && profile == fsm.ProfileResumable && len(answers) > 0 && t.origin == nil {
		// An engine would begin again, with an answer to a question that it has not asked (E2).
		return t.failed(fsm.CodeSessionResumeFailed, node.ErrNoSession)
	}
	return t.runRounds(ctx, e, in)
}

// failed is the evidence of a turn that the engine could not execute.
//
// An error of the library that passes, such as too many open files, is retried like one of an engine
// (J2); an engine that returned a Failure has decided about that.
func (t *turn) failed(code fsm.Code, err error) *decide.Evidence {
	o := failedOutcome(code, err)
	if f := (*engine.Failure)(nil); !errors.As(err, &f) {
		o.Process.Transient = engine.PassingError(err)
	}
	return t.collectEvidence(o)
}

// limitTime interrupts the turn when d has passed on the node's clock, unless stop was called
// before.
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

// runRounds has the engine execute the turn, and gives an agent whose output is not valid further
// rounds in the same attempt to repair it, as many as the spec allows (B3, B5). The evidence is
// that of the last round.
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

// observeStart calls Observer.Start before the engine executes the turn, and returns the context
// for the engine: the one that Start returned, or ctx.
func (t *turn) observeStart(ctx context.Context) context.Context {
	n := t.node.notices
	if n == nil || n.observer.Start == nil {
		return ctx
	}
	turn := StartedTurn{ObservedRun: observed(t.record), Before: t.record.Trace, Meta: t.spec.Meta}
	turn.At = t.claimed
	forEngine, trace := n.startTurn(ctx, turn)
	if forEngine == nil {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reportsClosed {
		t.observed, t.trace = forEngine, trace
	}
	return forEngine
}

// runEngine has the engine execute one round of the turn, unless the turn has been interrupted.
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

// failedOutcome is the outcome of a turn that has failed with the error.
func failedOutcome(code fsm.Code, err error) engine.Outcome {
	return engine.Outcome{Process: decide.FailedProcess(code, err)}
}

// withPlainHints returns the outcome with such hints of its questions as can be stored. It is
// called within guarded: hints may have methods, which are code of the engine.
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

// askProfile asks the engine how it goes on after a wait, and notes it for the turn.
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

// noteCall notes which method of the engine the worker is about to call: if it gets stuck there,
// Stuck names it. It returns the whole call.
func (t *turn) noteCall(method string) node.EngineCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call.Method = method
	return t.call
}

// noteBegin records that the worker is about to call the engine. It refuses if the turn was settled
// without this worker, because a turn that was handed back must not be executed afterwards.
func (t *turn) noteBegin() (what node.EngineCall, allowed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reportsClosed {
		return t.call, false
	}
	t.begun, t.call.Method = true, "RunTurn"
	return t.call, true
}

// dialectOf is the dialect of an engine with the profile, for one turn: each has a nonce of its
// own, which is not stored (J12).
func dialectOf(p engine.Profile, s *Spec) decide.Dialect {
	d := decide.Dialect{Plain: p.Plain, Questions: s.MaxQuestions}
	if p.Signed && !p.Plain && s.Mode == fsm.ModeInteractive {
		d.Nonce = strings.ToLower(rand.Text()[:12]) // 60 bits
	}
	return d
}

// currentDialect is the engine's dialect, once its profile is known.
func (t *turn) currentDialect() decide.Dialect {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialect
}

// collectEvidence reads the outcome of a turn, or of one round of it.
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

// forEngine returns a stored handle for an engine, which may write into the struct.
func forEngine(h *engine.SessionHandle) *engine.SessionHandle {
	if h == nil {
		return nil
	}
	given := *h
	return &given
}

// input is what the engine is given for the turn.
func (t *turn) input(dirs node.Workspace, answers []interaction.Answer) engine.Turn {
	d := t.currentDialect()
	var inherited, withheld []Record
	if t.origin != nil {
		inherited, withheld = t.origin.History, t.origin.WithheldRecords()
	}
	return engine.Turn{
		RunID: t.record.ID, Attempt: t.record.Attempt, Epoch: t.epoch, Mode: t.record.Mode,
		Prompt: promptFor(d, t.spec, dirs.Artifacts),
		Plain:  d.Plain, Nonce: d.Nonce,
		Answers: answers, OutputSchema: t.spec.OutputSchema,
		WorkDir: dirs.Work, ArtifactDir: dirs.Artifacts, TranscriptDir: dirs.Transcripts, HomeDir: dirs.Home,
		Session: forEngine(t.record.Session), Meta: maps.Clone(t.spec.Meta), Inherited: inherited, Withheld: withheld,
		InputJSON: t.spec.Input, Labels: maps.Clone(t.record.Labels), Clock: t.node.proc.Clock, History: (*history)(t),
		Holds: t.node.proc.Host.Holds(t.record),
	}
}

// history is the turn as an engine.History.
type history turn

// Records implements engine.History.
func (h *history) Records(ctx context.Context) ([]Record, error) {
	_, records, err := store.ReadHistory(ctx, h.node.proc.Store, h.call.RunID)
	if errors.Is(err, store.ErrCorrupt) {
		return nil, heldForRows(err)
	}
	return records, err
}

// Record implements engine.History.
func (h *history) Record(ctx context.Context, question int) (record Record, _ error) {
	t := (*turn)(h)
	err := t.untilAnswered(ctx, "question not read", func() (err error) {
		record, err = t.node.proc.Store.Interaction(ctx, t.call.RunID, question)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		err = heldForRows(fmt.Errorf("question %d: %w", question, err))
	}
	return record, err
}

// heldForRows holds the run: an operator may restore the rows from a backup.
func heldForRows(err error) error {
	return &engine.Failure{Code: fsm.CodeEngineFailed, Held: true, Err: err}
}

// promptFor is the host's prompt, with instructions for an agent unless the engine is plain code (H1,
// H2, M4).
func promptFor(d decide.Dialect, spec Spec, artifacts string) string {
	if d.Plain {
		return spec.Prompt
	}
	return interaction.Patch(interaction.PromptParts{
		Task: spec.Prompt, Mode: spec.Mode, ArtifactDir: artifacts, OutputSchema: spec.OutputSchema, Nonce: d.Nonce,
		Questions: d.Questions,
	})
}

// answers are the answers that the turn goes on with; none in a first turn. Those to several
// questions stand in the run's history, or in what a fork inherits. As long as the store fails,
// they are read again, until ctx ends.
func (t *turn) answers(ctx context.Context) ([]interaction.Answer, error) {
	run := t.record
	switch {
	case run.Answer != nil:
		return []interaction.Answer{*run.Answer}, nil
	case run.Together == nil:
		return nil, nil
	case run.Together.Inherited:
		return t.origin.Answers, nil
	}
	backoff := firstBackoff
	for {
		answers, err := t.readAnswers(ctx, run.Together)
		switch {
		case err == nil:
			return answers, nil
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
			return nil, heldForRows(err)
		case ctx.Err() != nil:
			return nil, nil // the engine is not called
		}
		t.node.proc.Log.Error("answers not read; trying again", "run", run.ID, "err", err)
		if t.node.proc.Sleep(ctx, backoff) != nil {
			return nil, nil
		}
		backoff = min(2*backoff, t.node.cfg.Poll)
	}
}

// readAnswers reads the answers to questions that were asked together, in their order.
func (t *turn) readAnswers(ctx context.Context, asked *store.Together) ([]interaction.Answer, error) {
	all := make([]interaction.Answer, 0, asked.Asked)
	for number := asked.First; number < asked.First+asked.Asked; number++ {
		record, err := t.node.proc.Store.Interaction(ctx, t.record.ID, number)
		if err != nil {
			return nil, fmt.Errorf("answer to question %d: %w", number, err)
		}
		all = append(all, record.Answer())
	}
	return all, nil
}

// repairInput is what the engine is given for a round of repair: why the output is not valid, and
// the session that the round before handed over, or the stored one if it handed over none.
func (t *turn) repairInput(in engine.Turn, session *engine.SessionHandle, fault string) engine.Turn {
	in.Repair, in.Answers, in.Session = t.repairText(fault), nil, session
	if session == nil {
		in.Session = forEngine(t.lastStored().Session)
	}
	return in
}

// repairText says why the output is not valid, and, unless the engine is plain code, what to do.
func (t *turn) repairText(why string) string {
	d := t.currentDialect()
	if d.Plain {
		return why
	}
	return interaction.RepairText(t.spec.Mode, d.Nonce, why)
}

// repairable reports whether the gate would fail the turn for its output, and the agent's session
// can continue.
func (t *turn) repairable(ev *decide.Evidence) bool {
	run := t.lastStored()
	return decide.Repairable(&run, ev)
}

// reportRepair stores what the agent said in the round before a repair, its session, and why a
// repair is requested.
func (t *turn) reportRepair(ctx context.Context, ev *decide.Evidence, why string) error {
	var events []fcmp.Payload
	if said := ev.Said(); said != nil {
		events = append(events, said)
	}
	requested := interaction.Diagnostic{Code: fsm.WarnOutputRepairRequested, Detail: decide.Shortened(why)}
	events = append(events, decide.Warning(requested))
	return (*sink)(t).report(ctx, ev.Session, events...)
}
