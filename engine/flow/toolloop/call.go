package toolloop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/interaction"
)

// prepare validates a call and decides whether people must approve it.
func (l Loop) prepare(asked Call) call {
	p := call{ID: asked.ID, Tool: asked.Tool, Arguments: cmp.Or(string(asked.Arguments), "{}")}
	t := l.tool(asked.Tool)
	switch {
	case t == nil:
		p.Invalid = fmt.Sprintf("There is no tool %.200q.", asked.Tool)
		return p
	case !json.Valid([]byte(p.Arguments)):
		p.Invalid = "The arguments are not valid JSON."
		return p
	}
	arguments := json.RawMessage(p.Arguments)
	if !t.asks(l.Approve, arguments) {
		return p
	}
	q := t.Ask
	q.Kind, q.Ref, q.Schema = engine.Approval, approval.Ref(asked.ID), t.Schema
	q.Prompt, q.DefaultPolicy = cmp.Or(q.Prompt, "Allow this call?"), interaction.SafeDefault
	q.Subject = &engine.Subject{Tool: t.Name, Title: t.Title, Risk: t.Risk, Arguments: arguments}
	if t.Summary != nil {
		q.Subject.Summary = t.Summary(arguments)
	}
	if t.Changes != nil {
		q.Subject.Changes = t.Changes(arguments)
	}
	if err := q.Subject.Validate(); err != nil {
		p.Invalid = "The arguments cannot be approved: " + err.Error() + "."
		return p
	}
	q, _ = interaction.Normalize(q) // limits the texts and drops an unusable schema
	q.Subject.Arguments = nil
	p.Question = &q
	return p
}

func (t *Tool) asks(loop Approval, arguments json.RawMessage) bool {
	switch {
	case t.Approve != nil:
		return t.Approve(*t, arguments)
	case loop != nil:
		return loop(*t, arguments)
	}
	return true
}

// question returns the prepared question about the call's approval.
func (p *call) question() engine.Question {
	q := *p.Question
	subject := *q.Subject
	subject.Arguments = json.RawMessage(p.Arguments)
	q.Subject = &subject
	return q
}

// execute asks for the approvals of an answer's calls, executes the permitted calls, and returns a
// result for each call.
func (l Loop) execute(c *flow.Ctx, calls []call) ([]Result, error) {
	answers, err := approvals(c, calls)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(calls))
	for i := range calls {
		p := &calls[i]
		if results[i], err = l.result(c, p, answers[p]); err != nil {
			return nil, err
		}
		results[i].Call = Call{ID: p.ID, Tool: p.Tool, Arguments: json.RawMessage(p.Arguments)}
	}
	return results, nil
}

// approvals asks about all calls together, or in groups if the limits of one round require it.
func approvals(c *flow.Ctx, calls []call) (map[*call]engine.Answer, error) {
	answers := make(map[*call]engine.Answer)
	var group []*call
	var questions []engine.Question
	size := 0
	ask := func() error {
		if len(group) == 0 {
			return nil
		}
		given, err := flow.AskAll(c, "approve", engine.Rule{}, questions...)
		if err != nil {
			return err
		}
		for i, p := range group {
			answers[p] = given[i]
		}
		group, questions, size = nil, nil, 0
		return nil
	}
	for i := range calls {
		p := &calls[i]
		if p.Question == nil {
			continue
		}
		q := p.question()
		body, err := json.Marshal(q)
		if err != nil {
			return nil, fmt.Errorf("toolloop: a question cannot be encoded: %w", err)
		}
		more := len(body) + 2<<10 // room for the host's policy
		if len(group) == engine.MaxQuestions || size+more > engine.MaxTogether {
			if err := ask(); err != nil {
				return nil, err
			}
		}
		group, questions, size = append(group, p), append(questions, q), size+more
	}
	return answers, ask()
}

// maxResult limits the text of a result, in bytes.
const maxResult = 256 << 10

// result executes a call if it is permitted. The error is the flow's.
func (l Loop) result(c *flow.Ctx, p *call, a engine.Answer) (r Result, _ error) {
	t, arguments, note := l.tool(p.Tool), json.RawMessage(p.Arguments), ""
	switch {
	case p.Invalid != "":
		return Result{Text: p.Invalid, Failed: true}, nil
	case t == nil:
		return Result{Text: fmt.Sprintf("There is no tool %.200q any more.", p.Tool), Failed: true}, nil
	case p.Question != nil:
		var err error
		if arguments, err = a.Approved(p.question()); err != nil {
			return Result{Text: refusal(a), Failed: true}, nil
		}
		note = noteOf(a)
	}
	text, err := flow.Step(c, t.Name, func(ctx context.Context) (string, error) {
		text, err := t.Run(ctx, arguments)
		text, _ = approval.Cut(text, maxResult)
		return text, err
	}, t.Policy)
	var failed *flow.StepError
	switch {
	case errors.As(err, &failed):
		return Result{Text: note + "The call failed: " + failed.Text, Failed: true}, nil
	case err != nil:
		return Result{}, err
	}
	return Result{Text: note + text}, nil
}

// refusal explains to the model why a call was not executed.
func refusal(a engine.Answer) string {
	switch {
	case a.Decision == interaction.Respond:
		return "The call was not executed. The answer to it is: " + a.Text
	case a.Decision != interaction.Reject:
		return "The call was not executed: nobody has decided about it."
	case a.Text != "":
		return "The call was rejected and not executed. The reason is: " + a.Text
	}
	return "The call was rejected and not executed."
}

// noteOf informs the model about an edit and the approver's note.
func noteOf(a engine.Answer) string {
	note := ""
	if a.Decision == interaction.Edit {
		note = "The arguments were changed before the call, which was executed with " + string(a.Arguments) + ".\n"
	}
	if a.Text != "" {
		note += "Note of the approval: " + a.Text + "\n"
	}
	return note
}
