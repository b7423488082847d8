package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Resume is a person's decision about a held run.
type Resume struct {
	// Choice is one of the block's choices: ChoiceRepeat or ChoiceEnd; ChoiceRaise or ChoiceEnd if
	// the budget is used up.
	Choice Choice
	// Budget has ChoiceRaise's new limits, towards which earlier usage counts. A zero field keeps its
	// limit.
	Budget Budget
	// Version is the run's version that the person has seen: a changed run refuses the decision. 0:
	// any version.
	Version uint64
	// Actor is the person who decides, for the run's events.
	Actor Actor
}

// Resume ends the hold of a run. ChoiceRepeat executes a queued run, with its answer and session,
// as soon as a slot is free, and lets a parked run continue to wait; if the cause persists, the run
// is held again. ChoiceRaise raises a used-up budget first. ChoiceEnd fails the run with the code
// of its hold. Of concurrent decisions about one hold, one succeeds.
//
// Errors, with nothing written: ErrNotFound, ErrNotHeld (for instance because the run has
// continued), ErrTerminal, ErrRunChanged (the run no longer has this Version), an *ArgumentError
// (the run does not offer this choice, the new budget is already used up, or Actor is invalid).
// After any other error, including one of the context, call again: the decision may have been
// stored. ErrNotHeld or ErrTerminal then means that the hold has ended.
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
	cmd := node.Command{Verb: "resume", Run: id}
	return c.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		run, err := c.proc.Store.Run(ctx, id)
		if err != nil {
			return nil, cmd.Failed(err)
		}
		if err := c.allowActor(ctx, r.Actor, ActionResume, &run, run.FirstOpen()); err != nil {
			return nil, err
		}
		if r.refusal(&run) != nil { // the caller relies on the refusal, so the read must be durable
			if run, err = c.proc.ConfirmedRun(ctx, id); err != nil {
				return nil, cmd.Failed(err)
			}
			if err := r.refusal(&run); err != nil {
				return nil, err
			}
		}
		return decide.Resume(&run, r.Choice, r.Budget, r.Actor, c.proc.Now())
	})
}

// validate checks the decision independently of the run.
func (r *Resume) validate() error {
	var fault *FieldError
	if err := r.Actor.Validate(); errors.As(err, &fault) {
		return &ArgumentError{"resume." + fault.Field, fault.Value, fault.Want, nil}
	}
	if r.Budget != (Budget{}) && r.Choice != ChoiceRaise {
		return &ArgumentError{"resume.Budget", decide.BudgetText(r.Budget), fmt.Sprintf("none unless Choice is %q",
			ChoiceRaise), nil}
	}
	if fault := validateBudget(r.Budget); fault != nil {
		return &ArgumentError{"resume.Budget", fault.Value, fault.Want, nil}
	}
	return nil
}

// refusal returns why this run refuses the decision, or nil.
func (r *Resume) refusal(run *store.Run) error {
	switch {
	case run.State.Terminal():
		return &TerminalError{RunID: run.ID, State: run.State}
	case r.Version != 0 && r.Version != run.Version:
		return fmt.Errorf("%w: run %s is at version %d, and the decision is about %d: read it again", ErrRunChanged,
			run.ID, run.Version, r.Version)
	case !run.Held():
		return fmt.Errorf("%w: run %s is %s", ErrNotHeld, run.ID, run.State)
	case !decide.Offers(run, r.Choice):
		return &ArgumentError{"resume.Choice", quote(string(r.Choice)), fmt.Sprintf("one of %q", run.Block.Choices),
			nil}
	case r.Choice == ChoiceRaise && decide.Raise(run.Budget, r.Budget).Spent():
		used := run.Budget.Used
		return &ArgumentError{"resume.Budget", decide.BudgetText(r.Budget),
			"a budget that is not used up: the run has used " + decide.BudgetText(used), nil}
	}
	return nil
}
