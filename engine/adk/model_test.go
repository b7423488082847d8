package adk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/interaction"
)

// till is a shop: its tool pays after a confirmation and counts payments.
type till struct {
	paid atomic.Int64
	mu   sync.Mutex
	all  []string // guarded by mu
}

func (s *till) pay(sum string) {
	s.paid.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, sum)
}

func (s *till) sums() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

type payment struct {
	Sum string `json:"sum"`
}

type paid struct {
	Result string `json:"result"`
}

// tools are pay, which needs confirmation, and approve, whose result comes from a person.
func (s *till) tools() ([]tool.Tool, error) {
	pay, err := functiontool.New(functiontool.Config{Name: "pay", Description: "pays a sum", RequireConfirmation: true},
		func(_ agent.Context, p payment) (paid, error) {
			s.pay(p.Sum)
			return paid{"paid " + p.Sum}, nil
		})
	approve, wrong := functiontool.New(functiontool.Config{Name: "approve", Description: "asks the office",
		IsLongRunning: true},
		func(agent.Context, payment) (map[string]any, error) {
			return nil, nil //nolint:nilnil // there is no interim result
		})
	pending, also := functiontool.New(functiontool.Config{Name: "ticket", Description: "opens a ticket",
		IsLongRunning: true},
		func(agent.Context, payment) (map[string]any, error) { return map[string]any{"status": "pending"}, nil })
	return []tool.Tool{pay, approve, pending}, errors.Join(err, wrong, also)
}

// clerk is a model that calls the tool for each sum of the conversation's last request, and then
// reports. A request is a tool and sums; otherwise it reports the length of the conversation.
type clerk struct{}

// Name is the model's.
func (clerk) Name() string { return "clerk" }

// GenerateContent answers.
func (c clerk) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{
			Content:       c.answer(req.Contents),
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 3},
		}, nil)
	}
}

func (clerk) answer(said []*genai.Content) *genai.Content {
	var results []string
	request := ""
	for _, c := range said {
		for _, part := range c.Parts {
			switch {
			case part.FunctionResponse != nil:
				for _, v := range part.FunctionResponse.Response {
					results = append(results, fmt.Sprint(v))
				}
			case c.Role == genai.RoleUser && part.Text != "":
				request, results = requested(part.Text), nil
			}
		}
	}
	words := strings.Fields(request)
	switch {
	case len(results) > 0:
		return genai.NewContentFromText(strings.Join(results, ", ")+"\n"+interaction.DoneMarker, genai.RoleModel)
	case len(words) < 2:
		return genai.NewContentFromText(fmt.Sprintf("%d messages so far. What shall I pay?", len(said)),
			genai.RoleModel)
	}
	c := genai.NewContentFromText("I shall ask first.", genai.RoleModel)
	for i, sum := range words[1:] {
		c.Parts = append(c.Parts, &genai.Part{
			FunctionCall: &genai.FunctionCall{ID: fmt.Sprint("call-", len(said), "-", i), Name: words[0],
				Args: map[string]any{"sum": sum}},
		})
	}
	return c
}

// requested returns the line of a prompt with the request: a run's prompt also has instructions.
func requested(prompt string) string {
	for line := range strings.Lines(prompt) {
		for _, word := range []string{"pay ", "approve ", "ticket "} {
			if strings.HasPrefix(line, word) {
				return line
			}
		}
	}
	return ""
}

// newClerk makes agents that pay with the till.
func newClerk(s *till) func(context.Context) (agent.Agent, error) {
	return func(context.Context) (agent.Agent, error) {
		tools, err := s.tools()
		if err != nil {
			return nil, err
		}
		return llmagent.New(llmagent.Config{Name: "clerk", Description: "pays", Model: clerk{}, Tools: tools})
	}
}

// newOffice makes workflows of a node that requests input and one that pays the given sum.
func newOffice(s *till, ask func() workflow.Node) func(context.Context) (agent.Agent, error) {
	return func(context.Context) (agent.Agent, error) {
		pay := workflow.NewFunctionNode("pay", func(_ agent.Context, in any) (string, error) {
			s.paid.Add(1)
			return fmt.Sprintf("paid %v (%T)", in, in), nil
		}, workflow.NodeConfig{})
		return workflowagent.New(workflowagent.Config{Name: "office", Edges: workflow.Chain(workflow.Start, ask(),
			pay)})
	}
}
