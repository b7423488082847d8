package adk

import (
	"strings"

	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/interaction"
)

// Ask creates the question for an interrupt. If its payload is an interaction.Question, or the
// payload or a long-running tool's arguments have the shape of one (kind, prompt, options …), it is
// that question; arguments chosen by a model never create a form or an approval or set the
// audience. Otherwise a confirmation becomes an approval of the tool with its arguments and hint,
// which also accepts a plain yes or no; input a question with its message; a result a question with
// the tool and its arguments.
func Ask(i Interrupt) interaction.Question {
	if q, ok := questionIn(i.Payload); ok {
		return q
	}
	switch i.Kind {
	case Confirmation:
		prompt := i.Message
		if prompt == "" {
			prompt = "May the tool " + i.Tool + " run?"
		}
		q := interaction.Question{
			Kind: interaction.RiskAck, Prompt: interaction.Visible(prompt), Context: contextOf(i),
			Options:       []interaction.Option{{Label: "Yes", Value: "yes"}, {Label: "No", Value: "no"}},
			DefaultPolicy: interaction.SafeDefault,
		}
		if s := subjectOf(i); s != nil {
			q.Kind, q.Subject, q.AlsoText = interaction.Approval, s, true
		}
		return q
	case Input:
		q := interaction.Baseline(i.Message)
		q.Context = contextOf(i)
		return q
	case Result:
	}
	if q, ok := questionIn(i.Args); ok {
		q.Schema, q.Subject, q.AlsoText, q.To, q.Ref = nil, nil, false, nil, ""
		return q
	}
	return interaction.Question{Kind: interaction.OpenText, Prompt: "The tool " + i.Tool + " waits for its result.",
		Context: contextOf(i)}
}

func questionIn(carried any) (interaction.Question, bool) {
	var q interaction.Question
	switch carried := carried.(type) {
	case nil:
		return q, false
	case interaction.Question:
		return carried, true
	case *interaction.Question:
		if carried == nil {
			return q, false
		}
		return *carried, true
	}
	if convert(carried, &q) != nil || strings.TrimSpace(q.Prompt) == "" {
		return q, false
	}
	if q.Kind == "" {
		q.Kind = interaction.OpenText
	}
	return q, true
}

// contextOf is the question's context, of any length.
func contextOf(i Interrupt) string {
	var lines []string
	add := func(what string, v any) {
		lines = append(lines, interaction.Visible(what)+" "+approval.JSON(v))
	}
	if i.Tool != "" {
		add(i.Tool, i.Args)
	}
	if i.Payload != nil {
		add("with", i.Payload)
	}
	if i.Interim != nil {
		add("so far:", i.Interim)
	}
	return strings.Join(lines, "\n")
}
