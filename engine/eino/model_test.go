package eino_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// till is a shop: its tool pays after a person agreed, and counts payments.
type till struct{ paid atomic.Int64 }

func refund(sum string) interaction.Question {
	return interaction.Question{
		Kind: interaction.ChooseOne, Prompt: "Pay " + sum + "?",
		Options: []interaction.Option{{Label: "Yes", Value: "yes"}, {Label: "No", Value: "no"}},
		UIHints: map[string]any{"icons": []any{"ok", map[string]any{"tone": "red"}}},
	}
}

func (*till) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "pay", Desc: "pays a sum"}, nil
}

// InvokableRun pays the sum in the arguments after a person's yes.
func (s *till) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	if asked, _, _ := tool.GetInterruptState[string](ctx); !asked {
		return "", tool.StatefulInterrupt(ctx, refund(args), args)
	}
	meant, _, answer := tool.GetResumeContext[string](ctx)
	if !meant {
		return "", tool.StatefulInterrupt(ctx, refund(args), args)
	}
	if answer != "yes" {
		return "not paid", nil
	}
	s.paid.Add(1)
	return "paid " + args, nil
}

// clerk is a chat model that calls the tool for each sum in the last request, and then reports.
type clerk struct{ sums []string }

func (c clerk) Generate(_ context.Context, said []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	var results []string
	for _, m := range said {
		if m.Role == schema.User {
			results = nil
		}
		if m.Role == schema.Tool {
			results = append(results, m.Content)
		}
	}
	last := said[len(said)-1]
	meta := &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 10, CompletionTokens: 3}}
	switch {
	case last.Role == schema.Tool:
		return &schema.Message{
			Role: schema.Assistant, Content: strings.Join(results, ", ") + "\n" + interaction.DoneMarker,
			ResponseMeta: meta,
		}, nil
	case strings.Contains(last.Content, "hello"):
		return &schema.Message{Role: schema.Assistant, Content: fmt.Sprintf("%d messages so far. What shall I pay?",
			len(said)), ResponseMeta: meta}, nil
	}
	m := &schema.Message{Role: schema.Assistant, Content: "I shall ask first.", ResponseMeta: meta}
	for i, sum := range c.sums {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: fmt.Sprint("call-", i),
			Function: schema.FunctionCall{Name: "pay", Arguments: sum}})
	}
	return m, nil
}

// Stream answers in one piece.
func (c clerk) Stream(ctx context.Context, said []*schema.Message,
	opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := c.Generate(ctx, said, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

func newClerk(s *till, sums ...string) func(context.Context) (adk.Agent, error) {
	return func(ctx context.Context) (adk.Agent, error) {
		return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "clerk", Description: "pays", Model: clerk{sums},
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{s}}},
		})
	}
}

// paying is a graph with one node that pays after a person agreed.
func paying(tb testing.TB, s *till) *compose.Graph[string, string] {
	tb.Helper()
	g := compose.NewGraph[string, string]()
	require.NoError(tb, g.AddLambdaNode("pay", compose.InvokableLambda(s.pay)))
	require.NoError(tb, g.AddEdge(compose.START, "pay"))
	require.NoError(tb, g.AddEdge("pay", compose.END))
	return g
}

func (s *till) pay(ctx context.Context, sum string) (string, error) {
	if _, kept, before := compose.GetInterruptState[string](ctx); kept {
		sum = before
	}
	if meant, _, answer := compose.GetResumeContext[string](ctx); meant {
		if answer == "yes" {
			s.paid.Add(1)
			return "paid " + sum, nil
		}
		return "not paid", nil
	}
	return "", compose.StatefulInterrupt(ctx, refund(sum), sum)
}
