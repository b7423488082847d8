package lifecycletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

type turnStep func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error)

// plannedAgent is an engine that follows the case's plan and records its turns.
type plannedAgent struct {
	enginetest.FakeAgent

	mu      sync.Mutex
	plans   map[string][]turnStep // guarded by mu; by run id; "" for any other run
	turns   []engine.Turn         // guarded by mu
	refused map[string]bool       // guarded by mu; runs whose handle is refused
}

func newAgent(kind fsm.Profile) *plannedAgent {
	return &plannedAgent{FakeAgent: enginetest.FakeAgent{Kind: kind, Reason: "as the case says"},
		plans: make(map[string][]turnStep), refused: make(map[string]bool)}
}

// Plan adds the next turns of a run; the last one is repeated. An empty id plans for all other
// runs.
func (a *plannedAgent) Plan(runID string, steps ...turnStep) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plans[runID] = append(a.plans[runID], steps...)
}

func (a *plannedAgent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	step, err := a.next(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	return step(ctx, t, s)
}

func (a *plannedAgent) next(t engine.Turn) (turnStep, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns = append(a.turns, t)
	if err := a.Enter(t); err != nil {
		return nil, err
	}
	id := t.RunID
	if len(a.plans[id]) == 0 {
		id = ""
	}
	plan := a.plans[id]
	if len(plan) == 0 {
		return nil, errors.New("no turn is planned for this run")
	}
	if len(plan) > 1 && id != "" {
		a.plans[id] = plan[1:]
	}
	return plan[0], nil
}

// Turns returns the executed turns of a run, in order.
func (a *plannedAgent) Turns(runID string) []engine.Turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []engine.Turn
	for _, t := range a.turns {
		if t.RunID == runID {
			all = append(all, t)
		}
	}
	return all
}

func (a *plannedAgent) Check(_ context.Context, runID string, _ engine.SessionHandle) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused[runID] {
		return fmt.Errorf("%w: session expired", engine.ErrHandleRefused)
	}
	return nil
}

// Refuse makes Check refuse the run's handle from now on.
func (a *plannedAgent) Refuse(runID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused[runID] = true
}

// endWith ends the turn with this outcome, and ends the run's session.
func endWith(o engine.Outcome) turnStep {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		end := o // concurrent turns may use the step
		end.Session = &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session-" + t.RunID)}
		return end, nil
	}
}

// asksOne ends the turn with an open question.
func asksOne(prompt string) turnStep {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "I have a question.",
		Questions: []interaction.Question{{Kind: interaction.OpenText, Prompt: prompt}}})
}

// asksAll ends the turn with several open questions and their rule.
func asksAll(rule interaction.Rule, prompts ...string) turnStep {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "I have questions.", Rule: rule}
	for _, prompt := range prompts {
		o.Questions = append(o.Questions, interaction.Question{Kind: interaction.OpenText, Prompt: prompt})
	}
	return endWith(o)
}

// asksApprovals ends the turn with approvals by this many people, and their rule.
func asksApprovals(rule interaction.Rule, need int8, prompts ...string) turnStep {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "May I?", Rule: rule}
	for _, prompt := range prompts {
		o.Questions = append(o.Questions, interaction.Question{Kind: interaction.Approval, Prompt: prompt, Need: need,
			Subject: &interaction.Subject{Tool: "act"}})
	}
	return endWith(o)
}

// completes ends the turn with a text and the done marker.
func completes(text string) turnStep {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: text + "\n__SKILL_DONE__\n"})
}

// returnsOutput ends the turn with structured output and no marker.
func returnsOutput(output json.RawMessage) turnStep {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "Here it is.", Output: output})
}

func crashes() turnStep {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.Failed, Detail: "exit status 3", ExitCode: 3}})
}

// hangs runs until the turn is canceled.
func hangs(ctx context.Context, _ engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	<-ctx.Done()
	return engine.Outcome{}, context.Cause(ctx)
}
