package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file decides about held runs (J1, J5). A run is held, instead of failing, because of
// something that somebody can repair or has to decide. A turn that is held goes back to the queue
// with its answer and session, and is not claimed. A parked run whose session is refused goes on
// waiting, with its question open; a reply to it is stored, and executed when the run is held no
// more.

// The pause before a held run is tried again by itself. It doubles from one hold to the next.
const (
	firstHoldPause = time.Minute
	maxHoldPause   = time.Hour
)

// holdPause is the pause of the given hold in a row, which is at least 1.
func holdPause(hold int) time.Duration {
	return min(firstHoldPause<<min(hold-1, 6), maxHoldPause)
}

// choices are what may be decided about a run that is held for a reason that can be repaired, and
// budgetChoices about one that has used up its budget.
var (
	choices       = []Choice{ChoiceRepeat, ChoiceEnd}
	budgetChoices = []Choice{ChoiceRaise, ChoiceEnd}
)

// hostPolicy is what a host's Config says about the runs whose spec leaves it open.
type hostPolicy struct {
	onInterrupt OnInterrupt
	hold        HoldPolicy
	retry       *Retry
}

// onInterruptOf says what becomes of an interrupted turn of the run.
func (p hostPolicy) onInterruptOf(run *store.Run) OnInterrupt {
	if run.Repeatable {
		return Repeat
	}
	return cmp.Or(run.OnInterrupt, p.onInterrupt, Fail)
}

// holds reports whether the run is held rather than failed.
func (p hostPolicy) holds(run *store.Run) bool { return cmp.Or(run.Hold, p.hold) == HoldOn }

func knownOnInterrupt(o OnInterrupt) bool {
	return slices.Contains([]OnInterrupt{"", Fail, Repeat, Ask}, o)
}

func knownHold(h HoldPolicy) bool { return slices.Contains([]HoldPolicy{"", HoldOff, HoldOn}, h) }

// hold is why a run is held.
type hold struct {
	code   fsm.Code
	reason string
	// retried: the run is tried again by itself, after a pause and no earlier than after. Otherwise
	// somebody must decide.
	retried bool
	after   time.Duration
}

// newHold returns a hold with a reason of bounded length. A code that neither an engine nor the
// library may report becomes ENGINE_FAILED.
func newHold(code fsm.Code, reason string) *hold {
	if source := code.Source(); source != "engine" && source != "run" {
		code, reason = fsm.CodeEngineFailed, string(code)+": "+reason
	}
	return &hold{code: code, reason: shortened(reason)}
}

// repairable are the codes of failures that an operator can repair.
var repairable = []fsm.Code{fsm.CodeSessionResumeFailed, fsm.CodeWorkspaceMissing, fsm.CodeEngineUnavailable}

// hold says why the run is held after the turn's failure; nil if the gate decides. What an engine
// declares held always is.
func (t *turnEvidence) hold(run *store.Run) *hold {
	p := &t.process
	if t.interruption != nil || p.Status != engine.Failed {
		return nil
	}
	code := cmp.Or(p.Code, fsm.CodeEngineFailed)
	if !p.Held && (!t.host.holds(run) || !p.Transient && !slices.Contains(repairable, code)) {
		return nil
	}
	h := newHold(code, t.processFault())
	h.retried, h.after = true, min(p.After, MaxRetryPause)
	return h
}

// decideFailedTurn ends a turn that is not retried: the run is held where that is wanted and the
// engine is not sticky, and otherwise the completion gate decides.
func decideFailedTurn(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	if h := turn.hold(run); h != nil {
		held, err := holdTurn(run, h, &details{
			now: now, node: node, profile: turn.profile, session: turn.session, warnings: turn.warnings,
		})
		if !isRefusal(err) {
			return held, err
		}
	}
	return decideByGate(run, turn, node, now)
}

// holdTurn returns the run to the queue and holds it there. It uses only those details that matter
// for a hold. The error is a *fsm.Refusal if the run is sticky, since a resident process cannot
// give its slot away.
func holdTurn(run *store.Run, h *hold, d *details) (*store.Commit, error) {
	return transition(run, fsm.EventTurnYielded, &details{
		now: d.now, node: d.node, facts: fsm.FactPassing, profile: d.profile, session: d.session, warnings: d.warnings,
		hold: h,
	})
}

// decideHandBack returns a turn to the queue whose engine was not called before the host shut down.
// Nothing of it was executed, so nobody is asked, and it counts neither as a repeat nor as a round
// (J1). The error is a *fsm.Refusal if the run is sticky.
func decideHandBack(run *store.Run, node string, now time.Time) (*store.Commit, error) {
	return repeatTurn(run, &details{
		now: now, node: node, facts: fsm.FactWorkerGone | fsm.FactRepeatable, shutdown: true, handedBack: true,
	}, "the host shut down before the turn began")
}

// decideBlock holds a parked run whose session is refused.
func decideBlock(run *store.Run, why string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunBlocked, &details{
		now: now, facts: fsm.FactContextLost, hold: newHold(fsm.CodeSessionResumeFailed, why),
	})
}

// Why a run is held no more, as run.unblocked says it.
const (
	causeResumed  = "resumed"
	causeDue      = "due"
	causeRepaired = "repaired"
	causeRaised   = "raised"
)

// decideUnblock ends a hold.
func decideUnblock(run *store.Run, cause, actor string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventRunUnblocked, &details{now: now, unblocked: cause, actor: actor})
}

// decideResume carries out what somebody decided about a held run.
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
	if r.Actor != "" {
		message = fmt.Sprintf("%s (given up by %s)", run.Block.Reason, r.Actor)
	}
	return transition(run, fsm.EventRunGivenUp, &details{
		now: now, code: run.Block.Code, message: message, settled: abandoned(run, now),
	})
}

// holdRun sets the block of a run that is held from now on.
func holdRun(next *store.Run, h *hold, now time.Time) {
	next.Block = &store.Block{Kind: store.BlockHeld, Code: h.code, Reason: h.reason, Choices: slices.Clone(choices)}
	if next.State != fsm.StateQueued {
		return
	}
	next.Holds++
	next.Yielded++
	if h.retried {
		next.Block.Until = now.Add(max(holdPause(next.Holds), h.after)).Truncate(time.Microsecond)
	}
}

// keepBlock keeps a parked run held when its question is settled. Nobody checks the sessions of
// queued runs, so from then on the run is tried again by itself.
func keepBlock(next *store.Run, block *store.Block, now time.Time) {
	b := *block
	b.Until = now.Add(firstHoldPause)
	next.Block = &b
}

// unblock ends the block of a run. If a person resumed it, repeats and holds are counted from zero
// again.
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

// Resume is what somebody decides about a held run.
type Resume struct {
	// Choice is one of the choices of the run's block: ChoiceRepeat or ChoiceEnd, and ChoiceRaise
	// or ChoiceEnd if the run has used up its budget.
	Choice Choice
	// Budget is the new budget of a run whose budget is raised, and zero otherwise. A field that is
	// 0 leaves that limit as it is. What the run has used already counts.
	Budget Budget
	// Version is that of the run as the one who decides has seen it; the decision is refused if the
	// run has changed since. 0: whatever the run is held for by now.
	Version uint64
	// Actor is who decides, for the run's events; at most 255 bytes of UTF-8 without NUL.
	Actor string
}

// Resume decides about a held run (J1, J5, J13): to go on, or to end it. With ChoiceRepeat a queued
// run is executed as soon as there is room, with its answer and session, and a parked one waits on;
// what kept it from going on is found again if it is still there. With ChoiceRaise a run that has
// used up its budget gets a larger one, and is executed likewise. With ChoiceEnd the run fails with
// the code that it was held for. Of several callers, and of a caller and the library's own tries,
// one wins.
//
// Errors, with nothing written: ErrNotFound, ErrNotHeld (it goes on already, for instance),
// ErrTerminal, ErrRunChanged (its version is another one), an *ArgumentError (it does not have the
// choice, the budget is used up already, or the actor is no such text). After any other error, of
// the context too, it may or may not have been stored: call again, and ErrNotHeld or ErrTerminal
// says that the run is held no more.
func (c *Client) Resume(ctx context.Context, id string, r Resume) error {
	if err := c.checkRun(ctx, id); err != nil {
		return err
	}
	if err := r.findFault(); err != nil {
		return err
	}
	for {
		run, err := c.store.Run(ctx, id)
		if err == nil && r.refusal(&run) != nil { // the caller relies on that, so it must be durable (J8)
			run, err = c.confirmedRun(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("lifecycle: resume run %s: %w", id, err)
		}
		if err := r.refusal(&run); err != nil {
			return err
		}
		cm, err := decideResume(&run, &r, commitTime(c.clock))
		if err != nil {
			return err
		}
		if err := c.commit(ctx, cm); !errors.Is(err, store.ErrConflict) {
			if err != nil {
				return fmt.Errorf("lifecycle: resume run %s: %w", id, err)
			}
			c.due.noteRun(&cm.Run)
			return nil
		}
	}
}

// findFault says what is wrong with the decision, whatever the run is held for; nil if nothing is.
func (r *Resume) findFault() error {
	if len(r.Actor) > interaction.MaxActor || !utf8.ValidString(r.Actor) || strings.IndexByte(r.Actor, 0) >= 0 {
		return &ArgumentError{"resume.Actor", quote(r.Actor),
			fmt.Sprintf("at most %d bytes of UTF-8 without NUL", interaction.MaxActor), nil}
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

// refusal says why the decision cannot be carried out; nil if it can.
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
		!slices.Contains(choices, r.Choice) && !slices.Contains(budgetChoices, r.Choice):
		return &ArgumentError{"resume.Choice", quote(string(r.Choice)), fmt.Sprintf("one of %q", run.Block.Choices),
			nil}
	case r.Choice == ChoiceRaise && raise(run.Budget, r.Budget).Spent():
		used := run.Budget.Used
		return &ArgumentError{"resume.Budget", textOfBudget(r.Budget),
			"a budget that is not used up: the run has used " + textOfBudget(used), nil}
	}
	return nil
}
