package stories

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// agents is the state that the agents of all nodes share: their script and their sessions.
type agents struct {
	shared *shared
	ended  chan struct{} // closed at the story's end

	mu       sync.Mutex
	turns    map[string][]turnScript // guarded by mu; not executed yet, by run
	prompts  map[string]string       // guarded by mu; the last one, by run
	children map[string][]string     // guarded by mu; the runs that a run has started
	expired  map[string]bool         // guarded by mu; runs whose session is refused
	immortal map[string]bool         // guarded by mu; runs whose process cannot be ended by another node
	working  []*work                 // guarded by mu; turns that wait for finish
}

// work is a turn that runs until the story says finish.
type work struct {
	run, node string
	finish    chan struct{}
}

func newAgents(s *shared) *agents {
	return &agents{shared: s, turns: make(map[string][]turnScript), prompts: make(map[string]string),
		children: make(map[string][]string),
		expired:  make(map[string]bool), immortal: make(map[string]bool), ended: make(chan struct{})}
}

// agent is the engine of one node and profile.
type agent struct {
	*agents
	enginetest.FakeAgent

	conn *connection
}

// addNote reports something about the run, unless the node is dead.
func (a *agent) addNote(runID, text string) {
	if !a.conn.isGone() {
		a.shared.addNote(runID, fmt.Sprintf("(%s %s)", a.conn.name, text))
	}
}

// RunTurn implements engine.Engine.
func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	a.addNote(t.RunID, fmt.Sprintf("executes attempt %d: %s", t.Attempt, a.describeInput(t)))
	if err := a.enter(t); err != nil {
		return engine.Outcome{}, err
	}
	turn, err := a.nextTurn(nameOf(t))
	if err != nil {
		return engine.Outcome{}, err
	}
	var usage engine.Usage
	for _, step := range turn {
		if step.verb == "uses" {
			usage.OutputTokens, _ = strconv.ParseInt(step.word(0), 10, 64) // broken: none
		}
		if err := a.do(ctx, step, t, s); err != nil {
			a.addNote(t.RunID, fmt.Sprintf("ends attempt %d: %s", t.Attempt, describeCause(err)))
			return engine.Outcome{}, err
		}
	}
	last := turn[len(turn)-1]
	o, err := last.outcome()
	o.Usage = usage
	if last.verb == "awaits" {
		o.Children, o.AnyChild = a.childrenOf(t.RunID), last.word(0) == "any"
	}
	if err == nil && last.named["handle"] != "none" {
		o.Session = sessionOf(t)
	}
	return o, err
}

// describeInput describes the agent's input and its session.
func (a *agent) describeInput(t engine.Turn) string {
	if len(t.Answers) > 1 {
		var all []string
		for _, answer := range t.Answers {
			all = append(all, describeAnswer(answer))
		}
		return strings.Join(all, ", ")
	}
	if len(t.Answers) == 1 && t.Answers[0].Arguments != nil {
		return fmt.Sprintf("%s, which allows it to execute %s%s", t.Answers[0].Decision, t.Answers[0].Arguments,
			formatVotes(t.Answers[0].Votes))
	}
	switch {
	case !t.GoesOn() && t.Session == nil:
		return "the prompt"
	case !t.GoesOn():
		return "the prompt, in its session"
	case a.Kind == fsm.ProfileStickyProcess:
		return fmt.Sprintf("%q, in its process", t.Input())
	}
	return fmt.Sprintf("%q, in its session", t.Input())
}

func describeAnswer(a engine.Answer) string {
	switch {
	case !a.Answered():
		return fmt.Sprintf("%d %s", a.ID, a.Resolution)
	case a.Decision != "":
		return fmt.Sprintf("%d %s", a.ID, a.Decision)
	case a.Auto != nil:
		return fmt.Sprintf("%d is to be decided", a.ID)
	case a.Resolution == interaction.DefaultAnswer:
		return fmt.Sprintf("%d by default %q", a.ID, a.Text)
	}
	return fmt.Sprintf("%d %q", a.ID, a.Text)
}

// enter finds the turn's resident process or session. It fails if there is none, if the session
// belongs to another run, or if the story let it expire.
func (a *agent) enter(t engine.Turn) error {
	a.mu.Lock()
	refused := t.Session != nil && a.expired[t.RunID]
	a.prompts[t.RunID] = t.Prompt
	a.mu.Unlock()
	if t.Session != nil && string(t.Session.Data) != string(sessionOf(t).Data) {
		return fmt.Errorf("a turn of %s is given the %s", t.RunID, t.Session.Data)
	}
	if refused {
		return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session has expired"}
	}
	return a.Enter(t)
}

// nextTurn takes the next turn that the story wrote for the run.
func (a *agents) nextTurn(runID string) (turnScript, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	turns := a.turns[runID]
	if len(turns) == 0 {
		return nil, errors.New("the script is at its end")
	}
	a.turns[runID] = turns[1:]
	return turns[0], nil
}

// do does everything but the end of a turn.
func (a *agent) do(ctx context.Context, step agentStep, t engine.Turn, s engine.Sink) error {
	switch step.verb {
	case "message":
		return s.Message(ctx, engine.Message{Text: step.word(0), RawRef: step.rawRef()})
	case "warn":
		return s.Warn(ctx, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: step.word(0)})
	case "handle":
		return s.Session(ctx, *sessionOf(t))
	case "keep":
		return s.(engine.Journal).Append(ctx, engine.JournalEntry{Path: step.word(0), Type: "step", Body: []byte(`1`)})
	case "starts":
		return a.start(ctx, step.word(0), t, s)
	case "dies":
		a.Kill(t.RunID)
	case "work":
		return a.work(ctx, t, step.word(0) == "on")
	}
	return nil
}

// work runs until the story says finish. With on, it ignores requests to end.
func (a *agent) work(ctx context.Context, t engine.Turn, on bool) error {
	canceled := ctx.Done()
	if on {
		canceled = nil
	}
	turn := &work{t.RunID, a.conn.name, make(chan struct{})}
	a.mu.Lock()
	a.working = append(a.working, turn)
	a.mu.Unlock()
	select {
	case <-turn.finish:
		return nil
	case <-canceled:
		a.mu.Lock()
		defer a.mu.Unlock()
		a.working = slices.DeleteFunc(a.working, func(other *work) bool { return other == turn })
		return context.Cause(ctx)
	case <-a.ended:
		return engine.ErrCanceled
	}
}

// finish ends the `work` step of the run's turn. With a node it means the turn on that node.
func (a *agents) finish(runID, node string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []*work
	for _, turn := range a.working {
		if turn.run == runID && (node == "" || turn.node == node) {
			found = append(found, turn)
		}
	}
	switch {
	case len(found) == 0:
		return fmt.Errorf("no turn of %s works there", runID)
	case len(found) > 1:
		return fmt.Errorf("%d turns of %s work: name the node", len(found), runID)
	}
	close(found[0].finish)
	a.working = slices.DeleteFunc(a.working, func(turn *work) bool { return turn == found[0] })
	return nil
}

func describeCause(err error) string {
	for cause, text := range map[error]string{
		engine.ErrCanceled: "the run is canceled", engine.ErrStale: "the attempt is no longer the run's",
		engine.ErrShutdown: "the node shuts down", engine.ErrTurnTimeout: "its time is over",
	} {
		if errors.Is(err, cause) {
			return text
		}
	}
	return err.Error()
}

func sessionOf(t engine.Turn) *engine.SessionHandle {
	return &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session of " + t.RunID)}
}

// Check implements engine.Checker.
func (a *agent) Check(_ context.Context, runID string, _ engine.SessionHandle) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.expired[runID] {
		return fmt.Errorf("%w: the session has expired", engine.ErrHandleRefused)
	}
	return nil
}

// CanBranch implements engine.Brancher.
func (a *agent) CanBranch(context.Context, engine.BranchPoint) error { return nil }

// Branch implements engine.Brancher.
func (a *agent) Branch(_ context.Context, p engine.BranchPoint, t engine.Turn) (engine.SessionHandle, error) {
	a.mu.Lock()
	refused := a.expired[p.RunID]
	a.mu.Unlock()
	if of := string(sessionOf(engine.Turn{RunID: p.RunID}).Data); string(p.Session.Data) != of {
		return engine.SessionHandle{}, fmt.Errorf("the session of %s is the %s", p.RunID, p.Session.Data)
	}
	if refused {
		a.addNote(t.RunID, "finds that the session of "+p.RunID+" has expired")
		return engine.SessionHandle{}, fmt.Errorf("%w: the session has expired", engine.ErrHandleRefused)
	}
	a.addNote(t.RunID, "branches the session of "+p.RunID)
	return *sessionOf(t), nil
}

// Reap implements engine.Reaper.
func (a *agent) Reap(_ context.Context, runID string) error {
	a.mu.Lock()
	immortal := a.immortal[runID]
	a.mu.Unlock()
	if immortal {
		a.addNote(runID, "cannot end what was left of it")
		return errors.New("it does not end")
	}
	a.addNote(runID, "ends what was left of it")
	return nil
}

// End implements engine.Resident.
func (a *agent) End(ctx context.Context, runID string) error {
	if a.Lives(runID) {
		a.addNote(runID, "ends its process")
	}
	return a.FakeAgent.End(ctx, runID)
}

// unplayed lists the runs with turns that were not executed.
func (a *agents) unplayed() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for id, left := range a.turns {
		if len(left) > 0 {
			all = append(all, fmt.Sprintf("the script of %s has %d lines that nobody executed", id, len(left)))
		}
	}
	return all
}
