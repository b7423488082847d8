package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/interaction"
)

// ApprovalOf is the question whether a tool may be called. The arguments are the value as JSON, or
// JSON itself as a json.RawMessage. They are shown in their order: that of a struct's fields or of
// the JSON text; the keys of a map are sorted. The error says that they are no JSON, or too long.
//
// A function asks it, and in the turn that goes on executes what Turn.Approved returns:
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

// encode is json.Marshal without escapes of <, > and &, which people would have to read.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// Approved returns the arguments that the turn may execute: those in the question if a person has
// approved them, or the edited ones. Pass the question as the engine would ask it now. If it
// differs from the question that was asked, for instance because the arguments have changed
// meanwhile, or if nobody has approved it, nothing may be executed and the error is an
// *interaction.NotApprovedError. Of questions that are asked together, give each a Ref of its own,
// such as the id of the call: then each call gets its own answer, even if two have the same
// arguments. If several answers are about equal questions, all of them must approve the same
// arguments.
func (t Turn) Approved(q Question) (json.RawMessage, error) {
	var approved *Answer
	refusal := &interaction.NotApprovedError{}
	for i := range t.Answers {
		a := &t.Answers[i]
		_, err := a.Approved(q)
		var not *interaction.NotApprovedError
		switch {
		case errors.As(err, &not) && not.Changed: // it is about another question of the turn, perhaps
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
