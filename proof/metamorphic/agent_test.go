package metamorphic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// ending is the end of a turn: its evidence, and the agent's earlier reports.
type ending struct {
	Text, Output    string
	Asks            int // the number of questions
	Status          engine.Status
	Code            fsm.Code
	Breaks, Forgets bool // the engine fails; it returns no handle
	Held, Busy      bool // its engine has the run held; it is to be tried later
	Reports         int
	Warns, Early    bool // it reports a diagnostic; it reports its handle early
}

var endings = rapid.Custom(func(t *rapid.T) ending {
	return ending{
		Text: of(t, "text", "What now?", "What now?", "All is well.\n__SKILL_DONE__\n",
			"{\"answer\":42}\n__SKILL_DONE__", "", "<ASK_USER_YAML>\nkind: confirm\nprompt: \"Ship "+
				"it?\"\n</ASK_USER_YAML>",
			"<ASK_USER_YAML>\nkind: [choose_one\n</ASK_USER_YAML>", `{"answer":7,"__SKILL_DONE__":true}`),
		Output: of(t, "output", "", "", "", `{"answer":42}`, `{"answer":"x"}`, `{"b":1.50,"a":[1e3,"\u00e9<"]}`,
			`{"ask_user":{"kind":"risk_ack","prompt":"Sure?"}}`),
		Asks: of(t, "asks", 0, 0, 1, 1, 2), Status: of(t, "status", engine.OK, engine.OK, engine.OK, engine.OK,
			engine.OK, engine.Failed, engine.TimedOut, engine.Interrupted),
		Code:   of(t, "code", "", fsm.CodeEngineUnavailable, fsm.CodeTurnTimeout, "OF_ITS_OWN"),
		Breaks: rapid.IntRange(0, 15).Draw(t, "breaks") == 0, Forgets: rapid.IntRange(0, 7).Draw(t, "forgets") == 0,
		Held: rapid.IntRange(0, 5).Draw(t, "held") == 0, Busy: rapid.IntRange(0, 7).Draw(t, "busy") == 0,
		Reports: of(t, "reports", 0, 0, 0, 1, 3), Warns: rapid.IntRange(0, 3).Draw(t, "warns") == 0,
		Early: rapid.Bool().Draw(t, "early"),
	}
})

// agent is an engine whose turns wait until the log says how they end.
type agent struct {
	enginetest.FakeAgent

	mu    sync.Mutex
	turns map[string]chan ending // guarded by mu; the waiting turns, by run
}

func newAgent(kind fsm.Profile) *agent {
	a := &agent{turns: make(map[string]chan ending)}
	a.Kind, a.Reason = kind, "as the log says"
	return a
}

func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	told := make(chan ending)
	a.mu.Lock()
	lost := a.Enter(t)
	a.turns[t.RunID] = told
	a.mu.Unlock()
	if lost != nil {
		return engine.Outcome{}, lost
	}
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.turns[t.RunID] == told {
			delete(a.turns, t.RunID)
		}
	}()
	select {
	case e := <-told:
		return e.outcome(ctx, t, s)
	case <-ctx.Done():
		return engine.Outcome{Process: engine.Process{Status: engine.Interrupted}}, context.Cause(ctx)
	}
}

func (e ending) outcome(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	handle := &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("\x00session of " + t.RunID)}
	if e.Early {
		if err := s.Session(ctx, *handle); err != nil {
			return engine.Outcome{}, err
		}
	}
	for i := range e.Reports {
		if err := s.Message(ctx, engine.Message{Text: fmt.Sprintf("message %d\n<&>", i),
			RawRef: &engine.RawRef{File: "out.jsonl", Offset: int64(i), Length: 9}}); err != nil {
			return engine.Outcome{}, err
		}
	}
	if e.Warns {
		if err := s.Warn(ctx, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: "it smells"}); err != nil {
			return engine.Outcome{}, err
		}
	}
	if e.Held {
		return engine.Outcome{}, engine.Hold(e.Code, "not paid")
	}
	if e.Busy {
		return engine.Outcome{}, engine.Later(0, "overloaded")
	}
	if e.Breaks {
		return engine.Outcome{}, errors.New("no fuel")
	}
	o := engine.Outcome{Process: engine.Process{Status: e.Status, Detail: "as told"}, FinalText: e.Text,
		Output: json.RawMessage(e.Output)}
	if e.Status != engine.OK {
		o.Process.Code = e.Code
	}
	if !e.Forgets {
		o.Session = handle
	}
	for i := range e.Asks {
		o.Questions = append(o.Questions, interaction.Question{
			Kind: interaction.ChooseOne, Prompt: fmt.Sprintf("Question %d of attempt %d?", i, t.Attempt),
			Context:        "It <matters>.",
			Options:        []interaction.Option{{Label: "A", Value: "a"}, {Label: "B", Value: "b"}},
			RequiredFields: []string{"x"},
			UIHints:        map[string]any{"widget": "radio", "deep": map[string]any{"list": []any{"x", true, nil}}},
			DefaultPolicy:  interaction.SafeDefault,
		})
	}
	return o, nil
}

// end ends the run's turn, if one waits, and reports whether it did.
func (a *agent) end(runID string, e ending) bool {
	a.mu.Lock()
	told := a.turns[runID]
	delete(a.turns, runID)
	a.mu.Unlock()
	if told == nil {
		return false
	}
	told <- e
	return true
}

// kill makes the run's resident process die between its turns.
func (a *agent) kill(runID string) bool {
	a.mu.Lock()
	busy := a.turns[runID] != nil
	a.mu.Unlock()
	return !busy && a.Kill(runID)
}
