package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/proof/cast"
)

// agent executes the jobs: in each turn it sends a few messages, works for a few milliseconds, and
// asks the next question or is done. It records its actions in the journal. Its answers are kept in
// the session's handle or, if the agent is sticky, only in this process.
type agent struct {
	enginetest.FakeAgent

	journal *journal
	deaths  sync.WaitGroup

	mu    sync.Mutex
	heard map[string]cast.Heard // guarded by mu; by run, if sticky
}

func newAgent(kind fsm.Profile, j *journal) *agent {
	return &agent{FakeAgent: enginetest.FakeAgent{Kind: kind, Reason: "of what was heard"}, journal: j,
		heard: make(map[string]cast.Heard)}
}

// RunTurn implements engine.Engine.
func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	n := note{What: noteBegin, Run: t.RunID, Attempt: t.Attempt, Epoch: t.Epoch}
	if len(t.Answers) > 0 {
		answer := t.Answers[len(t.Answers)-1]
		n.Answer, n.Text = answer.ID, answer.Text
	}
	a.journal.note(n)
	o, err := a.turn(ctx, t, s)
	n.What, n.Text = noteEnd, ""
	switch {
	case err != nil && ctx.Err() != nil:
		n.Outcome, n.Text = interrupted, context.Cause(ctx).Error()
	case err != nil:
		n.Outcome, n.Text = failed, err.Error()
	case len(o.Questions) > 0:
		n.Outcome = asked
	default:
		n.Outcome = finished
	}
	a.journal.note(n)
	return o, err
}

func (a *agent) turn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	j, err := readJob(t.Prompt)
	if err != nil {
		return engine.Outcome{}, err
	}
	heard, err := a.recall(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	for i := range j.Messages {
		if err := s.Message(ctx, engine.Message{Text: fmt.Sprintf("attempt %d, thought %d", t.Attempt,
			i+1)}); err != nil {
			return engine.Outcome{}, err
		}
	}
	select {
	case <-time.After(j.Work):
	case <-ctx.Done():
		return engine.Outcome{}, context.Cause(ctx)
	}
	next := len(heard) + 1
	o, err := heard.Next(j.Questions, question(t.RunID, next))
	if a.Kind == fsm.ProfileStickyProcess {
		if o.Session = nil; j.Dies == next && len(o.Questions) > 0 {
			a.deaths.Go(func() { // usually after the turn
				time.Sleep(3 * time.Millisecond)
				a.Kill(t.RunID)
			})
		}
	}
	return o, err
}

// question is the text of a run's question.
func question(run string, n int) string { return fmt.Sprintf("%s: how shall I go on? (%d)", run, n) }

// recall returns the run's answers, including this turn's.
func (a *agent) recall(t engine.Turn) (cast.Heard, error) {
	if a.Kind != fsm.ProfileStickyProcess {
		return cast.Recall(t)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.Enter(t); err != nil {
		return nil, err
	}
	if !t.GoesOn() {
		a.heard[t.RunID] = nil
	}
	heard, err := a.heard[t.RunID].Hear(t)
	a.heard[t.RunID] = heard
	return heard, err
}
