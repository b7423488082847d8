package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow/toolloop"
)

// model is OpenAI's Chat Completions as a toolloop.Model. Copy it. Disable the client's
// retries, because the loop retries.
type model struct {
	client openai.Client
	name   string
}

func (model) User(text string) any { return openai.UserMessage(text) }

func (model) Results(results []toolloop.Result) (all []any) {
	for _, r := range results {
		all = append(all, openai.ToolMessage(r.Text, r.Call.ID))
	}
	return all
}

func (m model) Next(ctx context.Context, r toolloop.Request) (a toolloop.Answer, _ error) {
	p := openai.ChatCompletionNewParams{Model: m.name,
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(r.System)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}}
	for _, said := range r.Messages {
		p.Messages = append(p.Messages, param.Override[openai.ChatCompletionMessageParamUnion](said))
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description)}
		if err := json.Unmarshal(t.Schema, &f.Parameters); err != nil {
			return a, err
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	stream := m.client.Chat.Completions.NewStreaming(ctx, p)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		chunk := stream.Current()
		if !all.AddChunk(chunk) {
			return a, errors.New("the model's stream is malformed")
		}
		for _, choice := range chunk.Choices {
			if err := r.Text(choice.Delta.Content); err != nil {
				return a, err
			}
		}
	}
	if err := stream.Err(); err != nil {
		return a, err
	}
	if len(all.Choices) == 0 || all.Choices[0].FinishReason == "" {
		return a, errors.New("unexpected EOF: the model's answer has no end") // transient, so the loop retries
	}
	said := all.Choices[0].Message
	a.Message, a.Text = said.ToParam(), said.Content
	a.Usage = engine.Usage{InputTokens: all.Usage.PromptTokens, OutputTokens: all.Usage.CompletionTokens}
	for _, c := range said.ToolCalls {
		a.Calls = append(a.Calls, toolloop.Call{ID: c.ID, Tool: c.Function.Name,
			Arguments: json.RawMessage(c.Function.Arguments)})
	}
	return a, nil
}
