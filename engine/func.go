package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Func is an engine in the host's own process: a function that does one turn. It is resumable: what the
// function needs to go on it keeps itself, under Turn.RunID or in the Outcome's handle. An outcome without a handle
// gets one that names the run.
//
//	agent := engine.Func(func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
//		if len(t.Answers) == 0 {
//			return engine.Ask(interaction.Question{Kind: interaction.Confirm, Prompt: "Ship it?"}), nil
//		}
//		return engine.Done("shipped"), nil
//	})
type Func func(ctx context.Context, t Turn, s Sink) (Outcome, error)

// Profile is resumable.
func (Func) Profile(context.Context) (Profile, error) {
	return Profile{Kind: fsm.ProfileResumable, Reason: "a function of the host is called anew for each turn"}, nil
}

// RunTurn calls the function.
func (f Func) RunTurn(ctx context.Context, t Turn, s Sink) (Outcome, error) {
	o, err := f(ctx, t, s)
	if err == nil && o.Process.Status == "" {
		o.Process.Status = OK
	}
	if o.Handle == nil && t.Handle == nil {
		o.Handle = &Handle{Engine: "func", Data: []byte(t.RunID)}
	}
	return o, err
}

// Ask is the outcome of a turn that asks a person.
func Ask(q interaction.Question) Outcome {
	return Outcome{Process: Process{Status: OK}, Questions: []interaction.Question{q}}
}

// Say is the outcome of a turn that ends with a message. In an interactive run it does not complete the run.
func Say(text string) Outcome {
	return Outcome{Process: Process{Status: OK}, FinalText: text}
}

// Done is the outcome of a turn that completes its run: the text, and the done marker on a line of its own.
func Done(text string) Outcome {
	return Say(text + "\n" + interaction.DoneMarker + "\n")
}

// Output is the outcome of a turn that completes its run with structured output: v as a JSON object with the done
// marker. The error says that v is no JSON object.
func Output(v any) (Outcome, error) {
	body, err := json.Marshal(v)
	var object map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(body, &object)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("engine: output must be a JSON object: %w", err)
	}
	if object == nil {
		object = make(map[string]json.RawMessage)
	}
	object[interaction.DoneMarker] = json.RawMessage("true")
	if body, err = json.Marshal(object); err != nil {
		return Outcome{}, fmt.Errorf("engine: output: %w", err)
	}
	return Outcome{Process: Process{Status: OK}, Output: body}, nil
}
