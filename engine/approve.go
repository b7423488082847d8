package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/interaction"
)

// ApprovalOf returns the question whether a tool may be called. The arguments are a value to encode
// as JSON, or a json.RawMessage, shown in the order of struct fields or text, with sorted map keys.
// The error reports invalid JSON or too many bytes.
//
// A function asks it and, in the next turn, executes the arguments that Turn.Approved returns:
//
//	q, err := engine.ApprovalOf("Pay the invoice?", "pay", invoice)
//	if err != nil {
//		return engine.Outcome{}, err
//	}
//	if len(t.Answers) == 0 {
//		return engine.Ask(q), nil
//	}
//	arguments, err := t.Approved(q)
//	if err != nil {
//		return engine.Done(err.Error()), nil // rejected, or another invoice by now
//	}
//	return pay(ctx, arguments)
func ApprovalOf(prompt, tool string, arguments any) (Question, error) {
	raw, isJSON := arguments.(json.RawMessage)
	if !isJSON {
		var err error
		if raw, err = encode(arguments); err != nil {
			return Question{}, fmt.Errorf("engine: arguments of %s: %w", tool, err)
		}
	}
	subject := Subject{Tool: tool, Arguments: raw}
	if err := subject.Validate(); err != nil {
		return Question{}, fmt.Errorf("engine: %w", err)
	}
	return Question{Kind: interaction.Approval, Prompt: prompt, DefaultPolicy: interaction.SafeDefault,
		Subject: &subject}, nil
}

// encode is json.Marshal without escapes of <, > and &, for readability.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// Errors of Turn.Approved and As, for errors.Is.
var (
	// ErrNotApproved: nothing may be executed; see NotApprovedError.
	ErrNotApproved = interaction.ErrNotApproved
	// ErrNoValue: the answer is a text, a decision or automatic.
	ErrNoValue = interaction.ErrNoValue
)

// Approved returns the arguments that the turn may execute: the approved or the edited ones. Pass
// the question as the engine would ask it now: if it differs from the asked one, for example in its
// arguments, or was not approved, the error is a *NotApprovedError and nothing may be executed.
// Give questions asked together different Refs, such as their calls' ids: then each call gets its
// own answer, even with equal arguments. Several answers to equal questions must all approve the
// same arguments.
func (t Turn) Approved(q Question) (json.RawMessage, error) {
	var approved *Answer
	refusal := &interaction.NotApprovedError{}
	for i := range t.Answers {
		a := &t.Answers[i]
		_, err := a.Approved(q)
		var not *interaction.NotApprovedError
		switch {
		case errors.As(err, &not) && not.Changed: // perhaps it is about another question of the turn
			refusal = not
		case err != nil:
			return nil, err
		case approved != nil && string(approved.Arguments) != string(a.Arguments):
			return nil, &interaction.NotApprovedError{Answer: *a}
		default:
			approved = a
		}
	}
	if approved == nil {
		return nil, refusal
	}
	return approved.Approved(q)
}
