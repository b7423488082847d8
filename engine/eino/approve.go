package eino

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/tool"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Approve returns a tool that runs t after a person has approved the call. It interrupts with an
// approval of the tool's name and arguments. An approval runs t with exactly these arguments, an
// edit with the person's, with which the result then begins, because the model's own call keeps its
// arguments. Other decisions run nothing, and the model gets the person's text. Arguments that
// cannot be shown exactly, such as duplicate members, are not asked about: the model gets the
// reason.
//
// The callback may change the question before it is asked: a schema for edited arguments, a risk, a
// prompt. Tool and arguments of its subject are fixed. Nil changes nothing.
func Approve(t tool.InvokableTool, change func(*interaction.Question)) tool.InvokableTool {
	return approvedTool{t, change}
}

type approvedTool struct {
	tool.InvokableTool

	change func(*interaction.Question)
}

// InvokableRun asks, or runs the tool with the approved arguments.
func (a approvedTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	q, err := a.question(ctx, arguments)
	if err != nil {
		return "Not executed: " + err.Error(), nil
	}
	asked, _, before := tool.GetInterruptState[string](ctx)
	target, given, answer := tool.GetResumeContext[interaction.Answer](ctx)
	switch {
	case !asked || !target:
		return "", tool.StatefulInterrupt(ctx, q, arguments)
	case before != arguments || answer.Decision == interaction.Approve && string(answer.Arguments) != arguments:
		return "", &engine.Failure{Code: fsm.CodeSessionResumeFailed,
			Detail: "the call of " + q.Subject.Tool + " is not the one that a person was asked about"}
	case !given:
		return "", errors.New("eino: the answer to an approval is resumed with something else: Config.Reply must " +
			"return the interaction.Answer")
	case answer.Arguments == nil:
		return "Not executed. " + answer.Message(), nil
	}
	result, err := a.InvokableTool.InvokableRun(ctx, string(answer.Arguments), opts...)
	if err == nil && answer.Decision == interaction.Edit {
		result = "A person has changed the arguments. The tool was executed with exactly these: " +
			string(answer.Arguments) + "\n\n" + result
	}
	return result, err
}

func (a approvedTool) question(ctx context.Context, arguments string) (interaction.Question, error) {
	info, err := a.Info(ctx)
	if err != nil {
		return interaction.Question{}, fmt.Errorf("the tool has no name: %w", err)
	}
	subject := interaction.Subject{Tool: info.Name, Arguments: json.RawMessage(arguments)}
	if err := subject.Validate(); err != nil {
		return interaction.Question{}, err
	}
	q := interaction.Question{
		Kind: interaction.Approval, Prompt: "May the tool " + interaction.Visible(info.Name) + " run?",
		DefaultPolicy: interaction.SafeDefault, Subject: &interaction.Subject{},
	}
	*q.Subject = subject
	if a.change != nil {
		a.change(&q)
		if q.Subject == nil {
			q.Subject = &interaction.Subject{}
		}
		q.Subject.Tool, q.Subject.Arguments = subject.Tool, subject.Arguments
	}
	return q, nil
}
