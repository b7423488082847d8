package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// This file decides about held runs (J1, J5). A run is held instead of failed if somebody can
// repair the cause, or has to decide what happens next. If a turn fails, its run returns to the
// queue with its answer and session, and is not claimed while it is held. If the session of a
// parked run is refused, the run keeps waiting with its question open. A reply to it is stored, and
// the turn with this reply is executed after the hold has ended.

// Limits of the pause after which a held run is tried again automatically. The pause doubles with
// each hold in a row.
const (
	firstHoldPause = time.Minute
	maxHoldPause   = time.Hour
)

// holdPause returns the pause for the given hold in a row. The first hold has the number 1.
func holdPause(hold int) time.Duration {
	return min(firstHoldPause<<min(hold-1, 6), maxHoldPause)
}

// repairChoices are the choices that a person has for a run with a cause that can be repaired, and
// budgetChoices those for a run that has used up its budget.
var (
	repairChoices = []Choice{ChoiceRepeat, ChoiceEnd}
	budgetChoices = []Choice{ChoiceRaise, ChoiceEnd}
)

// hostPolicy has the defaults of the host's Config, for runs whose Spec does not set these fields.
type hostPolicy struct {
	onInterrupt OnInterrupt
	hold        HoldPolicy
	retry       *Retry
}

// onInterruptOf returns the policy for an interrupted turn of the run.
func (p hostPolicy) onInterruptOf(run *store.Run) OnInterrupt {
	if run.Repeatable {
		return Repeat
	}
	return cmp.Or(run.OnInterrupt, p.onInterrupt, Fail)
}

// holds reports whether the run is held instead of failed.
func (p hostPolicy) holds(run *store.Run) bool { return cmp.Or(run.Hold, p.hold) == HoldOn }

func knownOnInterrupt(o OnInterrupt) bool {
	return slices.Contains([]OnInterrupt{"", Fail, Repeat, Ask}, o)
}

func knownHold(h HoldPolicy) bool { return slices.Contains([]HoldPolicy{"", HoldOff, HoldOn}, h) }

// hold says why a run is held.
type hold struct {
	code   fsm.Code
	reason string
	// retried says that the run is tried again automatically: after a pause, and not before the
	// field after allows it. Otherwise a person must decide.
	retried bool
	after   time.Duration
}

// newHold returns a hold with a reason of bounded length. It replaces a code that neither an engine
// nor the library may report by ENGINE_FAILED.
func newHold(code fsm.Code, reason string) *hold {
	if source := code.Source(); source != "engine" && source != "run" {
		code, reason = fsm.CodeEngineFailed, string(code)+": "+reason
	}
	return &hold{code: code, reason: shortened(reason)}
}

// repairable has the codes of failures whose cause an operator can repair.
var repairable = []fsm.Code{fsm.CodeSessionResumeFailed, fsm.CodeWorkspaceMissing, fsm.CodeEngineUnavailable}

// reasonToHold returns why the failed turn holds its run; nil if the completion gate decides about
// the turn. If an engine reports that the run must be held, it is held under every policy.
func (t *turnEvidence) reasonToHold(run *store.Run) *hold {
	p := &t.process
	if p.Status != engine.Failed { // an interrupted turn has not failed
		return nil
	}
	code := cmp.Or(p.Code, fsm.CodeEngineFailed)
	canBeRepaired := p.Transient || p.Repairable || slices.Contains(repairable, code)
	if !p.Held && (!canBeRepaired || !t.host.holds(run)) {
		return nil
	}
	h := newHold(code, t.processFault())
	h.retried, h.after = true, min(p.After, MaxRetryPause)
	return h
}

// decideFailedTurn ends a failed turn that is not retried. It holds the run if the policy wants
// this and the run is not sticky. Otherwise the completion gate decides.
func decideFailedTurn(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	if h := turn.reasonToHold(run); h != nil {
		held, err := holdTurn(run, h, &details{
			now: now, node: node, profile: turn.profile, session: turn.session, warnings: turn.warnings,
		})
		if !isRefusal(err) {
			return held, err
		}
	}
	return decideByGate(run, turn, node, now)
}

// holdTurn returns the run to the queue and holds it there. It uses only the details that matter
// for a hold. The error is a *fsm.Refusal if the run is sticky, because a resident process cannot
// release its slot.
func holdTurn(run *store.Run, h *hold, d *details) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &details{
		now: d.now, node: d.node, facts: fsm.FactPassing, profile: d.profile, session: d.session, warnings: d.warnings,
		hold: h,
	})
}

// decideHandBack returns a run to the queue if the host shut down before the engine was called for
// its turn. Because no part of the turn was executed, nobody has to decide about it, and the turn
// counts neither as a repeat nor towards MaxAttempts (J1). The error is a *fsm.Refusal if the run
// is sticky.
func decideHandBack(run *store.Run, node, why string, now time.Time) (*store.Commit, error) {
	return repeatTurn(run, &details{
		now: now, node: node, facts: fsm.FactWorkerGone | fsm.FactRepeatable, shutdown: true, handedBack: true,
	}, why)
}

// decideBlock holds a parked run whose session the engine refuses.
func decideBlock(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunBlocked, &details{
		now: now, facts: fsm.FactContextLost, hold: newHold(fsm.CodeSessionResumeFailed, why),
	})
}

// Causes for the end of a hold, as the event run.unblocked has them.
const (
	causeResumed  = "resumed"
	causeDue      = "due"
	causeRepaired = "repaired"
	causeRaised   = "raised"
)

// decideUnblock ends a hold.
func decideUnblock(run *store.Run, cause string, actor Actor, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunUnblocked, &details{now: now, unblocked: cause, actor: actor})
}

// decideResume carries out a person's decision about a held run.
func decideResume(run *store.Run, r *Resume, now time.Time) (*store.Commit, error) {
	switch r.Choice {
	case ChoiceRepeat:
		return decideUnblock(run, causeResumed, r.Actor, now)
	case ChoiceRaise:
		raised := *run
		raised.Budget = raise(run.Budget, r.Budget)
		return decideUnblock(&raised, causeRaised, r.Actor, now)
	}
	message := run.Block.Reason + " (given up)"
	if r.Actor.ID != "" {
		message = fmt.Sprintf("%s (given up by %s)", run.Block.Reason, r.Actor.ID)
	}
	return transition(run, fsm.EventRunGivenUp, &details{
		now: now, code: run.Block.Code, message: message, settled: abandoned(run, now),
	})
}

// holdRun sets the block of a run when its hold begins.
func holdRun(next *store.Run, h *hold, now time.Time) {
	next.Block = &store.Block{Kind: store.BlockHeld, Code: h.code, Reason: h.reason,
		Choices: slices.Clone(repairChoices)}
	if next.State != fsm.StateQueued {
		return
	}
	next.Holds++
	next.Yielded++
	if h.retried {
		next.Block.Until = now.Add(max(holdPause(next.Holds), h.after)).Truncate(time.Microsecond)
	}
}

// keepBlock keeps a parked run held after its question is settled. Because nothing checks the
// sessions of queued runs, the run is tried again automatically from then on.
func keepBlock(next *store.Run, block *store.Block, now time.Time) {
	b := *block
	b.Until = now.Add(firstHoldPause)
	next.Block = &b
}

// unblock ends the block of a run. If a person resumed the run, the counts of repeats and holds
// start at zero again.
func unblock(next *store.Run, cause string) {
	next.Block = nil
	if cause == causeResumed {
		next.Repeats, next.Holds = 0, 0
	}
}

func blocked(r *store.Run) *fcmp.Blocked {
	return &fcmp.Blocked{Code: string(r.Block.Code), Message: r.Block.Reason, Choices: choiceTexts(r.Block)}
}

func choiceTexts(b *store.Block) []string {
	texts := make([]string, len(b.Choices))
	for i, c := range b.Choices {
		texts[i] = string(c)
	}
	return texts
}

// Resume is a person's decision about a held run.
type Resume struct {
	// Choice is one of the choices of the run's block: ChoiceRepeat or ChoiceEnd, and ChoiceRaise
	// or ChoiceEnd if the run has used up its budget.
	Choice Choice
	// Budget has the new limits for ChoiceRaise; it is zero for the other choices. A field that is
	// 0 leaves this limit as it is. What the run has used so far still counts towards the new
	// limits.
	Budget Budget
	// Version is the version of the run that the person has seen. The decision is refused if the
	// run has changed since. With 0, the decision applies to whatever the run is held for now.
	Version uint64
	// Actor is the person who decides, for the run's events.
	Actor Actor
}

// Resume ends the hold of a run: the run goes on, or it fails (J1, J5, J13). With ChoiceRepeat, a
// queued run is executed as soon as a slot is free, with its answer and session, and a parked run
// goes on waiting. If the cause of the hold still exists, the run is held again. With ChoiceRaise,
// a run that has used up its budget gets a larger one, and is then executed in the same way. With
// ChoiceEnd, the run fails with the code that it was held for. If several callers, or a caller and
// the library, end the same hold at once, one of them succeeds.
//
// Errors, with nothing written: ErrNotFound, ErrNotHeld (for instance because the run goes on
// already), ErrTerminal, ErrRunChanged (the run no longer has this Version), an *ArgumentError (the
// run does not offer this choice, the new budget is used up already, or Actor is invalid). After
// any other error, including one of the context, the decision may or may not have been stored: call
// again. ErrNotHeld or ErrTerminal then says that the hold has ended.
func (c *Client) Resume(ctx context.Context, id string, r Resume) error {
	if err := c.checkRun(ctx, id); err != nil {
		return err
	}
	var err error
	if r.Actor, err = c.resolveActor("resume.Actor", r.Actor); err != nil {
		return err
	}
	if err := r.validate(); err != nil {
		return err
	}
	cmd := command{verb: "resume", run: id}
	return c.carryOut(ctx, cmd, func() (*store.Commit, error) {
		run, err := c.store.Run(ctx, id)
		if err != nil {
			return nil, cmd.failed(err)
		}
		if err := c.allowActor(ctx, r.Actor, ActionResume, &run, run.Pending); err != nil {
			return nil, err
		}
		if r.refusal(&run) != nil { // the caller relies on the refusal, so what was read must be durable (J8)
			if run, err = c.confirmedRun(ctx, id); err != nil {
				return nil, cmd.failed(err)
			}
			if err := r.refusal(&run); err != nil {
				return nil, err
			}
		}
		return decideResume(&run, &r, commitTime(c.clock))
	})
}

// validate returns what is wrong with the decision independently of the run; nil if nothing is.
func (r *Resume) validate() error {
	var fault *FieldError
	if err := r.Actor.Validate(); errors.As(err, &fault) {
		return &ArgumentError{"resume." + fault.Field, fault.Value, fault.Want, nil}
	}
	if r.Budget != (Budget{}) && r.Choice != ChoiceRaise {
		return &ArgumentError{"resume.Budget", textOfBudget(r.Budget), fmt.Sprintf("none unless Choice is %q",
			ChoiceRaise), nil}
	}
	if value, want := faultOfBudget(r.Budget); value != "" {
		return &ArgumentError{"resume.Budget", value, want, nil}
	}
	return nil
}

// refusal returns why the decision cannot be carried out for this run; nil if it can.
func (r *Resume) refusal(run *store.Run) error {
	switch {
	case run.State.Terminal():
		return &TerminalError{RunID: run.ID, State: run.State}
	case r.Version != 0 && r.Version != run.Version:
		return fmt.Errorf("%w: run %s is at version %d, and the decision is about %d: read it again", ErrRunChanged,
			run.ID, run.Version, r.Version)
	case !run.Held():
		return fmt.Errorf("%w: run %s is %s", ErrNotHeld, run.ID, run.State)
	case !slices.Contains(run.Block.Choices, r.Choice) ||
		!slices.Contains(repairChoices, r.Choice) && !slices.Contains(budgetChoices, r.Choice):
		return &ArgumentError{"resume.Choice", quote(string(r.Choice)), fmt.Sprintf("one of %q", run.Block.Choices),
			nil}
	case r.Choice == ChoiceRaise && raise(run.Budget, r.Budget).Spent():
		used := run.Budget.Used
		return &ArgumentError{"resume.Budget", textOfBudget(r.Budget),
			"a budget that is not used up: the run has used " + textOfBudget(used), nil}
	}
	return nil
}
