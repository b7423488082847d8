package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// agent executes the jobs: in each turn it sends a few messages, works for a few milliseconds, and
// asks the next question or is done. It notes in the journal what it does. The answers that it has
// heard are kept in the session's handle or, if the agent is sticky, in this process alone.
type agent struct {
	journal *journal
	sticky  bool

	mu        sync.Mutex
	residents map[string]answers          // guarded by mu; by run, if sticky
	onLoss    func(runID string, _ error) // guarded by mu
	deaths    sync.WaitGroup
}

// answers are the answers that an agent has heard, by question.
type answers map[int]string

// Profile implements engine.Engine.
func (a *agent) Profile(context.Context) (engine.Profile, error) {
	if a.sticky {
		return engine.Profile{Kind: fsm.ProfileStickyProcess, Reason: "what was said is kept in this process"}, nil
	}
	return engine.Profile{Kind: fsm.ProfileResumable, Reason: "what was said is kept in the handle"}, nil
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
	if next > j.Questions {
		return engine.Output(map[string]any{"heard": heard.list()})
	}
	o := engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: question(t.RunID, next)})
	if !a.sticky {
		data, err := json.Marshal(heard.list())
		if err != nil {
			return engine.Outcome{}, err
		}
		o.Session = &engine.SessionHandle{Engine: "cluster", Version: "1", Data: data}
	} else if j.Dies == next {
		a.die(t.RunID)
	}
	return o, nil
}

// question is the text of a run's question.
func question(run string, n int) string { return fmt.Sprintf("%s: how shall I go on? (%d)", run, n) }

func (m answers) list() []string {
	all := make([]string, 0, len(m))
	for i := 1; m[i] != ""; i++ {
		all = append(all, m[i])
	}
	return all
}

// recall returns the answers that the run has heard, including those of this turn.
func (a *agent) recall(t engine.Turn) (answers, error) {
	heard := make(answers)
	switch {
	case a.sticky:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.residents[t.RunID] == nil {
			if len(t.Answers) > 0 {
				return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost,
					Detail: "the resident process is gone"}
			}
			a.residents[t.RunID] = make(answers)
		}
		heard = a.residents[t.RunID]
	case t.Session != nil:
		var list []string
		if err := json.Unmarshal(t.Session.Data, &list); err != nil {
			return nil, fmt.Errorf("handle: %w", err)
		}
		for i, text := range list {
			heard[i+1] = text
		}
	}
	for _, answer := range t.Answers {
		if have := heard[answer.ID]; answer.ID > len(heard)+1 || have != "" && have != answer.Text {
			return nil, fmt.Errorf("answer %d (%q) was given to an agent that has heard %v", answer.ID, answer.Text,
				heard)
		}
		heard[answer.ID] = answer.Text
	}
	return maps.Clone(heard), nil
}

// die makes the resident process end by itself, a little later, which is usually after the turn.
func (a *agent) die(run string) {
	a.deaths.Go(func() {
		time.Sleep(3 * time.Millisecond)
		a.mu.Lock()
		_, lived := a.residents[run]
		delete(a.residents, run)
		fn := a.onLoss
		a.mu.Unlock()
		if lived && fn != nil {
			fn(run, errors.New("it fell over"))
		}
	})
}

// resident is the agent with the methods of engine.Resident.
type resident struct{ *agent }

// End implements engine.Resident.
func (r resident) End(_ context.Context, run string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.residents, run)
	return nil
}

// OnLoss implements engine.Resident.
func (r resident) OnLoss(fn func(string, error)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onLoss = fn
	return func() {
		r.mu.Lock()
		r.onLoss = nil
		r.mu.Unlock()
	}
}
