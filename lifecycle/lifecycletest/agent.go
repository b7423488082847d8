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

// Step is what an agent does in one turn.
type Step func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error)

// Agent is an engine that does what the story tells it, and remembers what it was asked to do.
type Agent struct {
	enginetest.FakeAgent

	mu      sync.Mutex
	plans   map[string][]Step // by run id; "" for any run
	turns   []engine.Turn
	refused map[string]bool // run ids whose handle is refused
	reaped  []string
	reapErr error
	ended   []string // whose resident process was ended
}

// NewAgent returns an agent of the profile.
func NewAgent(kind fsm.Profile) *Agent {
	return &Agent{FakeAgent: enginetest.FakeAgent{Kind: kind, Reason: "as the story says"},
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
		return nil, errors.New("the story has no turn for this run")
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

// Check refuses the handles of the runs that the story names.
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

// Reap remembers whose processes were to be ended.
func (a *Agent) Reap(_ context.Context, runID string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reaped = append(a.reaped, runID)
	return a.reapErr
}

// End ends the run's resident process.
func (a *Agent) End(ctx context.Context, runID string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Lives(runID) {
		a.ended = append(a.ended, runID)
	}
	return a.FakeAgent.End(ctx, runID)
}

// handle is the session of a run as this agent knows it.
func handle(t engine.Turn) *engine.SessionHandle {
	return &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session-" + t.RunID)}
}

// Says ends the turn with a final text.
func Says(text string) Step {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: text, Session: handle(t)}, nil
	}
}

// Asks ends the turn with a question.
func Asks(q interaction.Question) Step {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{
			Process: engine.Process{Status: engine.OK}, FinalText: "I have a question.",
			Questions: []interaction.Question{q}, Session: handle(t),
		}, nil
	}
}

// Wonders ends the turn with an open question.
func Wonders(prompt string) Step {
	return Asks(interaction.Question{Kind: interaction.OpenText, Prompt: prompt})
}

// Done ends the turn with the done marker.
func Done(text string) Step { return Says(text + "\n__SKILL_DONE__\n") }

// Returns ends the turn with structured output and no marker.
func Returns(output any) Step {
	body, err := json.Marshal(output)
	if err != nil {
		panic(err)
	}
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "Here it is.", Output: body,
			Session: handle(t)}, nil
	}
}

// Crashes ends the turn with a failed process, whatever it said.
func Crashes(code fsm.Code, text string) Step {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{
			Process:   engine.Process{Status: engine.Failed, Code: code, Detail: "exit status 3", ExitCode: 3},
			FinalText: text, Session: handle(t),
		}, nil
	}
}

// Forgets does the step without a session handle.
func Forgets(step Step) Step {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		o, err := step(ctx, t, s)
		o.Session = nil
		return o, err
	}
}

// Until waits for the channel before it does the step, and gives up when the turn is canceled.
func Until(open <-chan struct{}, step Step) Step {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		select {
		case <-open:
			return step(ctx, t, s)
		case <-ctx.Done():
			return engine.Outcome{}, context.Cause(ctx)
		}
	}
}

// Deaf waits for the channel even when the turn is canceled, as a process does that ignores
// signals.
func Deaf(open <-chan struct{}, step Step) Step {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		<-open
		return step(ctx, t, s)
	}
}
