package main

import (
	"context"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow/toolloop"
)

// model is Anthropic's Messages as a toolloop.Model. Copy it. Disable the client's
// retries, because the loop retries.
type model struct {
	client anthropic.Client
	name   anthropic.Model
}

func (model) User(text string) any { return anthropic.NewUserMessage(anthropic.NewTextBlock(text)) }

func (model) Results(results []toolloop.Result) []any {
	var blocks []anthropic.ContentBlockParamUnion
	for _, r := range results {
		blocks = append(blocks, anthropic.NewToolResultBlock(r.Call.ID, r.Text, r.Failed))
	}
	return []any{anthropic.NewUserMessage(blocks...)}
}

func (m model) Next(ctx context.Context, r toolloop.Request) (a toolloop.Answer, _ error) {
	p := anthropic.MessageNewParams{Model: m.name, MaxTokens: 4096,
		System: []anthropic.TextBlockParam{{Text: r.System}}}
	for _, said := range r.Messages {
		p.Messages = append(p.Messages, param.Override[anthropic.MessageParam](said))
	}
	for _, t := range r.Tools {
		tool := anthropic.ToolUnionParamOfTool(param.Override[anthropic.ToolInputSchemaParam](t.Schema), t.Name)
		tool.OfTool.Description = anthropic.String(t.Description)
		p.Tools = append(p.Tools, tool)
	}
	stream := m.client.Messages.NewStreaming(ctx, p)
	defer stream.Close()
	var said anthropic.Message
	for stream.Next() {
		event := stream.Current()
		if err := said.Accumulate(event); err != nil {
			return a, err
		}
		if err := r.Text(event.Delta.Text); err != nil {
			return a, err
		}
	}
	if err := stream.Err(); err != nil {
		return a, err
	}
	if said.StopReason == "" {
		return a, errors.New("unexpected EOF: the model's answer has no end") // transient, so the loop retries
	}
	a.Message = said.ToParam()
	a.Usage = engine.Usage{InputTokens: said.Usage.InputTokens, OutputTokens: said.Usage.OutputTokens}
	for _, block := range said.Content {
		switch block := block.AsAny().(type) {
		case anthropic.TextBlock:
			a.Text += block.Text
		case anthropic.ToolUseBlock:
			a.Calls = append(a.Calls, toolloop.Call{ID: block.ID, Tool: block.Name, Arguments: block.Input})
		}
	}
	return a, nil
}
