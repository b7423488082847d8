package eino

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	handlers "github.com/cloudwego/eino/utils/callbacks"
)

func countUsage(u *usage) callbacks.Handler {
	on := &handlers.ModelCallbackHandler{
		OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *model.CallbackOutput) context.Context {
			u.count(out)
			return ctx
		},
		OnEndWithStreamOutput: func(ctx context.Context, _ *callbacks.RunInfo,
			out *schema.StreamReader[*model.CallbackOutput]) context.Context {
			defer out.Close()
			for {
				piece, err := out.Recv()
				if errors.Is(err, io.EOF) || err != nil {
					return ctx
				}
				u.count(piece)
			}
		},
	}
	return handlers.NewHandlerHelper().ChatModel(on).Handler()
}

// watchNodes is a handler that sets nodeStarted when a component other than a graph starts.
func (p *activeTurn) watchNodes() callbacks.Handler {
	watch := func(info *callbacks.RunInfo) {
		switch {
		case info == nil:
		case info.Component == compose.ComponentOfGraph, info.Component == compose.ComponentOfChain,
			info.Component == compose.ComponentOfWorkflow:
		default:
			p.nodeStarted.Store(true)
		}
	}
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			watch(info)
			return ctx
		}).
		OnStartWithStreamInputFn(func(ctx context.Context, info *callbacks.RunInfo,
			in *schema.StreamReader[callbacks.CallbackInput]) context.Context {
			in.Close()
			watch(info)
			return ctx
		}).Build()
}

func (u *usage) count(out *model.CallbackOutput) {
	switch {
	case out == nil:
	case out.TokenUsage != nil:
		u.add(out.TokenUsage.PromptTokens, out.TokenUsage.CompletionTokens)
	default:
		u.countMessage(out.Message)
	}
}

func (u *usage) countMessage(m *schema.Message) {
	if m != nil && m.ResponseMeta != nil && m.ResponseMeta.Usage != nil {
		u.add(m.ResponseMeta.Usage.PromptTokens, m.ResponseMeta.Usage.CompletionTokens)
	}
}
