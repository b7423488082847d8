package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/lifecycle"
)

// The tasks extension: a task is a run, and its id is the run's.

// taskParams are the parameters of the three methods.
type taskParams struct {
	sdk.ParamsBase

	TaskID string `json:"taskId"`
	// InputResponses are decoded one by one, since unknown keys may have any value.
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

type taskResult struct {
	sdk.ResultBase

	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      time.Time           `json:"createdAt"`
	LastUpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTLMs          *int64              `json:"ttlMs"`
	PollIntervalMs int64               `json:"pollIntervalMs"`
	InputRequests  sdk.InputRequestMap `json:"inputRequests,omitempty"`
	Result         any                 `json:"result,omitempty"`
	Error          *jsonrpc.Error      `json:"error,omitempty"`
}

// acknowledgement is the empty result of tasks/update and tasks/cancel.
type acknowledgement struct {
	sdk.ResultBase

	ResultType string `json:"resultType"`
}

// inlined is the result of the call, in a task that is completed. Some clients refuse it without its
// own resultType.
type inlined struct {
	ResultType        string        `json:"resultType"`
	Content           []sdk.Content `json:"content"`
	StructuredContent any           `json:"structuredContent,omitempty"`
	IsError           bool          `json:"isError,omitempty"`
}

// task returns a task for the run, which is stored. A tool with AskFirst asks the questions of the
// first turn in the call.
func (c *call) task(ctx context.Context) (sdk.Result, error) {
	if c.first && c.params.RequestState == "" {
		v, err := c.follow(ctx)
		if err != nil {
			return nil, err
		}
		if asks := c.askable(&v); len(asks) > 0 {
			return c.inputRequired(asks), nil
		}
	}
	run, err := c.Client().Get(ctx, c.run)
	if err != nil {
		return nil, err
	}
	t := c.server.newTask(&run)
	t.ResultType, t.Status = "task", "working"
	return t, nil
}

func (s *Server) newTask(r *lifecycle.Run) *taskResult {
	t := &taskResult{ResultType: "complete", TaskID: r.ID, CreatedAt: r.CreatedAt, LastUpdatedAt: r.UpdatedAt,
		PollIntervalMs: s.config.Poll.Milliseconds()}
	if s.config.TTL > 0 {
		ttl := s.config.TTL.Milliseconds()
		t.TTLMs = &ttl
	}
	return t
}

func taskMethod[R sdk.Result](do func(context.Context, *caller, *taskParams) (R, error)) func(
	context.Context, *sdk.ServerSession, *taskParams) (R, error) {
	return func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (none R, _ error) {
		c, ok := ctx.Value(callerKey{}).(*caller)
		switch {
		case !ok:
			return none, internalError()
		case !c.stateless:
			return none, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not supported in this revision"}
		case !c.tasks:
			return none, missingTasks()
		case p == nil || !front.Owns(c.Actor().ID, protocol, p.TaskID):
			return none, errUnknownTask
		}
		return do(ctx, c, p)
	}
}

var errUnknownTask = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such task."}

func (s *Server) taskError(ctx context.Context, method string, err error) error {
	if errors.Is(err, lifecycle.ErrNotFound) {
		return errUnknownTask
	}
	return s.rpcError(ctx, method, err)
}

// getTask is tasks/get. A task whose caller may not answer its questions is working.
func (s *Server) getTask(ctx context.Context, c *caller, p *taskParams) (*taskResult, error) {
	v, err := c.Load(ctx, p.TaskID)
	if err != nil {
		return nil, s.taskError(ctx, "tasks/get", err)
	}
	t := s.newTask(&v.Run)
	switch {
	case v.Run.State == lifecycle.StateCanceled:
		t.Status = "cancelled"
	case v.Run.State == lifecycle.StateFailed && v.Run.Error != nil && serverFaults[v.Run.Error.Code]:
		t.Status = "failed"
		t.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: resultText(&v.Run)}
	case v.Ended():
		r := resultOf(&v.Run)
		t.Status = "completed"
		t.Result = inlined{"complete", r.Content, r.StructuredContent, r.IsError}
	default:
		t.Status, t.StatusMessage = "working", v.Status()
		requests := make(sdk.InputRequestMap)
		for i := range v.Asks {
			q := &v.Asks[i]
			if request := s.request(&c.client, p.TaskID, q, v.Message(q)); request != nil {
				requests[s.keyOf(&v.Run, q)] = request
			} else if s.config.Page != nil {
				t.StatusMessage = "answer at " + s.config.Page(p.TaskID, q.ID)
			}
		}
		if len(requests) > 0 {
			t.Status, t.InputRequests = "input_required", requests
		}
	}
	return t, nil
}

func resultText(r *lifecycle.Run) string { return "The run failed with " + string(r.Error.Code) + "." }

// keyOf returns the name of the request for a question of a task, whose tool is a label of the run.
func (s *Server) keyOf(r *lifecycle.Run, q *lifecycle.Question) string {
	return s.tools[r.Labels[toolLabel]].keyOf(q)
}

// updateTask is tasks/update. Answers to questions that are unknown or not open are ignored.
func (s *Server) updateTask(ctx context.Context, c *caller, p *taskParams) (*acknowledgement, error) {
	const method = "tasks/update"
	if len(p.InputResponses) > MaxResponses {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "too many input responses"}
	}
	v, err := c.Load(ctx, p.TaskID)
	if err != nil {
		return nil, s.taskError(ctx, method, err)
	}
	for i := range v.Asks {
		q := &v.Asks[i]
		raw, ok := p.InputResponses[s.keyOf(&v.Run, q)]
		if !ok {
			continue
		}
		var r response
		if reqbody.Unmarshal(raw, &r) != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "an input response is not an object"}
		}
		_, err := s.answer(ctx, c.Caller, p.TaskID, q, r)
		if errors.Is(err, lifecycle.ErrSettled) || errors.Is(err, lifecycle.ErrNotWaiting) {
			continue // another front end was faster; tasks/get shows it
		}
		if err != nil {
			return nil, s.taskError(ctx, method, err)
		}
	}
	return &acknowledgement{ResultType: "complete"}, nil
}

// cancelTask is tasks/cancel. It cancels the run; for an ended one it does nothing.
func (s *Server) cancelTask(ctx context.Context, c *caller, p *taskParams) (*acknowledgement, error) {
	err := c.Client().Cancel(ctx, p.TaskID, "canceled by "+c.Actor().ID)
	if err != nil && !errors.Is(err, lifecycle.ErrTerminal) {
		return nil, s.taskError(ctx, "tasks/cancel", err)
	}
	return &acknowledgement{ResultType: "complete"}, nil
}
