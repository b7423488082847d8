package main

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// operator is who resumes held runs, as their events say it.
const operator = "olga"

// operate has an operator decide about each held run, all the time. Before she does, she gives the
// run the time that a person needs at least.
func (c *conductor) operate(ctx context.Context) error {
	for {
		err := c.held(ctx, func(run *lifecycle.Run) error {
			if time.Since(run.HeldSince()) < 300*time.Millisecond {
				return nil
			}
			return c.decide(ctx, run)
		})
		if err == nil {
			err = rest(ctx, 100*time.Millisecond)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *conductor) held(ctx context.Context, fn func(*lifecycle.Run) error) error {
	for q := (lifecycle.Query{Held: true, Limit: 500}); ; {
		page, err := c.client.Runs(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			if err := fn(&page.Runs[i]); err != nil {
				return err
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// decide resumes a run, or ends it if its plan is that nobody pays. It remembers what was
// acknowledged.
func (c *conductor) decide(ctx context.Context, run *lifecycle.Run) error {
	p := c.plans[run.ID]
	if p.unattended && run.Block.Code == lifecycle.CodeSessionResumeFailed {
		return nil
	}
	r := lifecycle.Resume{Choice: lifecycle.ChoiceRepeat, Version: run.Version, Actor: operator}
	if p.kind == givenUp && run.Block.Code == lifecycle.CodeEngineFailed {
		r.Choice = lifecycle.ChoiceEnd
	}
	err := c.client.Resume(ctx, run.ID, r)
	if errors.Is(err, lifecycle.ErrNotHeld) || errors.Is(err, lifecycle.ErrRunChanged) ||
		errors.Is(err, lifecycle.ErrTerminal) {
		return nil // it was canceled or answered, or goes on by itself
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumed[run.ID]++
	return nil
}
