package main

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// operator is the name of the operator, as events have it.
const operator = "olga"

// operate decides about held runs until the context ends, as an operator would. It leaves each run
// held for a while first, because a person needs some time.
func (c *conductor) operate(ctx context.Context) error {
	for ctx.Err() == nil {
		for run, err := range cast.Runs(ctx, c.client.Runs, lifecycle.Query{Held: true}) {
			if err == nil && time.Since(run.HeldSince()) >= 300*time.Millisecond {
				err = c.decide(ctx, &run)
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
		cast.Pause(ctx, 100*time.Millisecond)
	}
	return nil
}

// decide resumes a run, or ends it if its plan is never to pay. It records acknowledged decisions.
func (c *conductor) decide(ctx context.Context, run *lifecycle.Run) error {
	p := c.plans[run.ID]
	if p.unattended && run.Block.Code == lifecycle.CodeSessionResumeFailed {
		return nil
	}
	r := lifecycle.Resume{Choice: lifecycle.ChoiceRepeat, Version: run.Version, Actor: lifecycle.Actor{ID: operator}}
	if p.kind == givenUp && run.Block.Code == lifecycle.CodeEngineFailed {
		r.Choice = lifecycle.ChoiceEnd
	}
	err := c.client.Resume(ctx, run.ID, r)
	if errors.Is(err, lifecycle.ErrNotHeld) || errors.Is(err, lifecycle.ErrRunChanged) ||
		errors.Is(err, lifecycle.ErrTerminal) {
		return nil // the run was canceled or answered, or was tried again automatically
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumed[run.ID]++
	return nil
}
