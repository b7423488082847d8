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

// Step is an agent's behaviour in one turn.
type Step func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error)

// Agent is an engine that follows the case's plan, and records its turns.
type Agent struct {
	enginetest.FakeAgent

	mu      sync.Mutex
	plans   map[string][]Step // guarded by mu; by run id; "" for any other run
	turns   []engine.Turn     // guarded by mu
	refused map[string]bool   // guarded by mu; runs whose handle is refused
}

// NewAgent returns an agent of the profile.
func NewAgent(kind fsm.Profile) *Agent {
	return &Agent{FakeAgent: enginetest.FakeAgent{Kind: kind, Reason: "as the case says"},
		plans: make(map[string][]Step), refused: make(map[string]bool)}
}

// Plan adds the next turns of a run; the last one is repeated. An empty id plans for all other
// runs.
func (a *Agent) Plan(runID string, steps ...Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plans[runID] = append(a.plans[runID], steps...)
}

// RunTurn does the planned step.
func (a *Agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	step, err := a.next(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	return step(ctx, t, s)
}

func (a *Agent) next(t engine.Turn) (Step, error) {
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

// Turns returns the turns of a run that were executed, in order.
func (a *Agent) Turns(runID string) []engine.Turn {
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

// Check refuses the handles of the runs that Refuse was called for.
func (a *Agent) Check(_ context.Context, runID string, _ engine.SessionHandle) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused[runID] {
		return fmt.Errorf("%w: session expired", engine.ErrHandleRefused)
	}
	return nil
}

// Refuse has the agent refuse the run's handle from now on.
func (a *Agent) Refuse(runID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused[runID] = true
}

// endWith ends the turn with this outcome, and the session of the run.
func endWith(o engine.Outcome) Step {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		end := o // concurrent turns may use the step
		end.Session = &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session-" + t.RunID)}
		return end, nil
	}
}

// Asks ends the turn with an open question.
func Asks(prompt string) Step {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "I have a question.",
		Questions: []interaction.Question{{Kind: interaction.OpenText, Prompt: prompt}}})
}

// AsksAll ends the turn with several open questions and their rule.
func AsksAll(rule interaction.Rule, prompts ...string) Step {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "I have questions.", Rule: rule}
	for _, prompt := range prompts {
		o.Questions = append(o.Questions, interaction.Question{Kind: interaction.OpenText, Prompt: prompt})
	}
	return endWith(o)
}

// AsksApprovals ends the turn with approvals by this many people, and their rule.
func AsksApprovals(rule interaction.Rule, need int, prompts ...string) Step {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "May I?", Rule: rule}
	for _, prompt := range prompts {
		o.Questions = append(o.Questions, interaction.Question{Kind: interaction.Approval, Prompt: prompt, Need: need,
			Subject: &interaction.Subject{Tool: "act"}})
	}
	return endWith(o)
}

// Done ends the turn with a text and the done marker.
func Done(text string) Step {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: text + "\n__SKILL_DONE__\n"})
}

// Returns ends the turn with structured output and no marker.
func Returns(output json.RawMessage) Step {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "Here it is.", Output: output})
}

// Crashes ends the turn with a failed process.
func Crashes() Step {
	return endWith(engine.Outcome{Process: engine.Process{Status: engine.Failed, Detail: "exit status 3", ExitCode: 3}})
}

// Hangs runs until the turn is canceled.
func Hangs(ctx context.Context, _ engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	<-ctx.Done()
	return engine.Outcome{}, context.Cause(ctx)
}
