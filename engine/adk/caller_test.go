package adk_test

import (
	"context"
	"iter"
	"maps"
	"sync"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/interlude-go/interlude/interaction"
)

func call(id string, n int64) genai.FunctionCall {
	return genai.FunctionCall{ID: id, Name: "count", Args: map[string]any{"n": n}}
}

// caller is a model that makes its calls once, and ends when it has their results.
type caller []genai.FunctionCall

// Name is the model's.
func (caller) Name() string { return "caller" }

// GenerateContent answers.
func (c caller) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, said := range req.Contents {
			for _, part := range said.Parts {
				if part.FunctionResponse != nil {
					yield(&model.LLMResponse{Content: genai.NewContentFromText("all is done\n"+interaction.DoneMarker,
						genai.RoleModel)}, nil)
					return
				}
			}
		}
		answer := &genai.Content{Role: genai.RoleModel}
		for _, one := range c {
			one.Args = maps.Clone(one.Args)
			answer.Parts = append(answer.Parts, &genai.Part{FunctionCall: &one})
		}
		yield(&model.LLMResponse{Content: answer}, nil)
	}
}

// newCaller makes agents that make the calls of a tool that needs confirmation and records its
// arguments.
func newCaller(got *[]int64, calls ...genai.FunctionCall) func(context.Context) (agent.Agent, error) {
	type number struct {
		N   int64  `json:"n"`
		Why string `json:"why,omitempty"`
	}
	var mu sync.Mutex
	return func(context.Context) (agent.Agent, error) {
		count, err := functiontool.New(functiontool.Config{Name: "count", Description: "counts",
			RequireConfirmation: true},
			func(_ agent.Context, in number) (map[string]any, error) {
				mu.Lock()
				defer mu.Unlock()
				*got = append(*got, in.N)
				return map[string]any{"ok": true}, nil
			})
		if err != nil {
			return nil, err
		}
		return llmagent.New(llmagent.Config{Name: "caller", Description: "calls", Model: caller(calls),
			Tools: []tool.Tool{count}})
	}
}
