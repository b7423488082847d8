package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

type call struct {
	*caller

	server *Server
	tool   *Tool
	params *sdk.CallToolParamsRaw
	run    string
	cursor uint64     // of the last event that the call has read
	view   front.View // as last read
	// skipped are questions that this call does not ask (again): dismissed by the person, or to be
	// answered on the page, in which case the call waits for the answer.
	skipped map[int]skip
	// remarks say why an answer was not accepted; they are shown when the question is asked again.
	remarks map[int]string
	asked   int // how often a dialog was repeated after an invalid answer
	// first reports that the call may ask before it becomes a task.
	first bool
}

type skip int

const (
	dismissed skip = iota + 1
	onThePage
)

// call starts a run or continues one. The result is a *sdk.CallToolResult or a *taskResult.
func (s *Server) call(ctx context.Context, by *caller, tool *Tool, params *sdk.CallToolParamsRaw) (sdk.Result, error) {
	c := &call{caller: by, server: s, tool: tool, params: params, cursor: front.FromNow,
		skipped: make(map[int]skip), remarks: make(map[int]string)}
	if tool.Serve >= TaskOnly && !by.tasks {
		return nil, missingTasks()
	}
	if fault := validate(tool.schema, params.Arguments); fault != "" {
		return failure(fault), nil
	}
	switch {
	case params.RequestState != "":
		if err := c.resume(ctx); err != nil {
			return nil, err
		}
	case tool.Name == s.config.WaitTool:
		c.run = waitRun(params.Arguments)
		if !front.Owns(by.Actor().ID, protocol, c.run) {
			return nil, errUnknownRun
		}
	default:
		refused, err := c.submit(ctx)
		if refused != nil || err != nil {
			return refused, err
		}
	}
	if by.tasks && tool.Serve != Hold {
		c.first = tool.Serve == AskFirst
		return c.task(ctx)
	}
	return c.hold(ctx)
}

// validate returns why the arguments do not fit the schema; empty if they do.
func validate(schema *jsonschema.Schema, arguments json.RawMessage) string {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "The arguments are not JSON."
	}
	err := schema.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		if err != nil {
			return "The arguments cannot be checked."
		}
		return ""
	}
	var all []string
	for _, e := range invalid.BasicOutput().Errors {
		if e.Error != "" && e.KeywordLocation != "" && !strings.HasPrefix(e.Error, "doesn't validate with") {
			all = append(all, fmt.Sprintf("%q: %s", e.InstanceLocation, e.Error))
		}
	}
	return "The arguments are invalid: " + strings.Join(all[:min(len(all), 10)], "; ")
}

// submit starts the run. The error of a host's Spec is a result, so that the model can correct the
// arguments.
func (c *call) submit(ctx context.Context) (refused sdk.Result, _ error) {
	arguments := c.params.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	spec, err := c.tool.Spec(ctx, c.Actor(), arguments)
	if err != nil {
		var fault front.Fault
		if errors.As(err, &fault) {
			return failure(fault.Text), nil
		}
		return nil, fmt.Errorf("the Spec of tool %s: %w", c.tool.Name, err)
	}
	spec.ID = front.NewRunID(c.Actor().ID, protocol)
	if spec.Submitter == "" {
		spec.Submitter = c.Actor().ID
	}
	spec.Labels = maps.Clone(spec.Labels)
	if spec.Labels == nil {
		spec.Labels = make(map[string]string)
	}
	spec.Labels[toolLabel] = c.tool.Name
	run, err := c.Client().Submit(ctx, spec)
	if errors.Is(err, lifecycle.ErrInvalidSpec) || errors.Is(err, lifecycle.ErrUnknownPool) {
		c.server.config.Logger.Warn("mcp: a call was refused", "tool", c.tool.Name, "err", err)
		return failure(front.FaultOf(err).Text), nil
	}
	c.run, c.cursor = run.ID, 0
	return nil, err
}

// hold waits until the run has ended or the person is to be asked, and returns the result.
func (c *call) hold(ctx context.Context) (sdk.Result, error) {
	if c.tool.Name == c.server.config.WaitTool {
		if err := c.expectPage(ctx); err != nil {
			return nil, err
		}
	}
	for {
		v, err := c.follow(ctx)
		if err != nil {
			return nil, err
		}
		asks := c.askable(&v)
		switch {
		case v.Ended():
			return resultOf(&v.Run), nil
		case len(asks) == 0:
			return c.pending(&v), nil
		case c.stateless:
			return c.inputRequired(asks), nil
		}
		if err := c.elicit(ctx, &asks[0]); err != nil {
			return nil, err
		}
	}
}

// expectPage makes the wait tool hold while the open questions can only be answered elsewhere. The
// result of the first call has shown them; a model would otherwise call the tool in a loop.
func (c *call) expectPage(ctx context.Context) error {
	v, err := c.Load(ctx, c.run)
	c.view = v
	for i := range v.Asks {
		if q := &v.Asks[i]; c.skipped[q.ID] == 0 && c.request(q) == nil {
			c.skipped[q.ID] = onThePage
		}
	}
	return err
}

// follow waits until the run has ended, this call has a question to ask, or the time to hold the call
// is over. In the meantime it reports progress.
func (c *call) follow(ctx context.Context) (v front.View, _ error) {
	limit, stop := context.WithTimeout(ctx, c.server.config.Hold)
	defer stop()
	token := c.params.GetProgressToken()
	for step, err := range c.FollowUntil(limit, c.run, c.cursor, c.enough) {
		switch {
		case err != nil && limit.Err() != nil && ctx.Err() == nil: // the time to hold the call is over
			if v.Run.ID == "" { // reading the run took longer: an error would have the client start another one
				v, err = c.Load(ctx, c.run)
				c.view = v
				return v, err
			}
			return v, nil
		case err != nil:
			return v, err
		case step.View != nil:
			v = *step.View
			c.view = v
			if c.cursor == front.FromNow {
				c.cursor = v.Run.Seq
			}
		default:
			c.cursor = step.Event.Seq
			if token != nil {
				c.progress(ctx, token, step.Event)
			}
		}
	}
	return v, nil
}

// enough reports whether the call has something to do: a result, a question to ask, or nothing to
// wait for because the person has dismissed the open questions.
func (c *call) enough(v *front.View) bool {
	waits := slices.ContainsFunc(v.Asks, func(q lifecycle.Question) bool { return c.skipped[q.ID] != onThePage })
	return v.Ended() || waits
}

func (c *call) askable(v *front.View) []lifecycle.Question {
	var asks []lifecycle.Question
	for _, q := range v.Asks {
		if c.skipped[q.ID] == 0 && c.request(&q) != nil {
			asks = append(asks, q)
		}
	}
	return asks
}

// request returns the dialog for a question: a form, otherwise a reference to the host's page; nil if
// the client supports neither.
func (c *call) request(q *lifecycle.Question) *sdk.ElicitParams {
	message := c.view.Message(q)
	if remark := c.remarks[q.ID]; remark != "" {
		message = remark + "\n\n" + message
	}
	return c.server.request(&c.client, c.run, q, message)
}

func (s *Server) request(client *client, run string, q *lifecycle.Question, message string) *sdk.ElicitParams {
	if form, ok := front.FormOf(q); ok && client.form {
		return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: form.Schema}
	}
	if client.url && s.config.Page != nil {
		return &sdk.ElicitParams{Mode: "url", Message: message, URL: s.config.Page(run, q.ID),
			ElicitationID: run + "/" + strconv.Itoa(q.ID)}
	}
	return nil
}

func (t *Tool) keyOf(q *lifecycle.Question) string {
	if t != nil && t.Key != nil {
		return t.Key(q)
	}
	return strconv.Itoa(q.ID)
}

// response is a decoded answer to a request.
type response struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
}

const maxRemarks = 5

// apply sends the person's response to a question. An invalid answer is asked again, with a remark.
func (c *call) apply(ctx context.Context, q *lifecycle.Question, r response) error {
	done, err := c.server.answer(ctx, c.Caller, c.run, q, r)
	switch {
	case err == nil && !done && r.Action == "accept":
		c.skipped[q.ID] = onThePage
		return nil
	case err == nil && !done:
		c.skipped[q.ID] = dismissed
		return nil
	case err == nil:
		delete(c.remarks, q.ID)
		return nil
	}
	fault := front.FaultOf(err)
	if fault.Unknown {
		return err
	}
	c.remarks[q.ID] = fault.Text // if the question is still open and the person's, it is asked again
	return nil
}

// answer sends a response to a question. It reports false if the response leaves the question open:
// it was dismissed, declined where the host keeps it open, or the person opens the page.
func (s *Server) answer(ctx context.Context, by *front.Caller, run string, q *lifecycle.Question, r response) (
	sent bool, err error,
) {
	a := front.Answer{Exchange: run, Question: q.ID, Seen: q.Digest()}
	switch r.Action {
	case "accept":
		if len(r.Content) == 0 || string(r.Content) == "null" {
			if _, flat := front.FormOf(q); flat {
				return false, front.Fault{Code: "INVALID_REPLY", Text: "The answer is invalid: the values are missing."}
			}
			return false, nil // the person opens the page
		}
		form, flat := front.FormOf(q)
		if !flat {
			return false, nil
		}
		if a, err = form.Read(r.Content); err != nil {
			return false, err
		}
		a.Exchange = run
	case "decline":
		switch {
		case q.Subject != nil:
			a.Decision = lifecycle.Reject
		case s.config.Decline == nil:
			return false, nil
		default:
			text, answers := s.config.Decline(q)
			if !answers {
				return false, nil
			}
			a.Text = text
		}
	case "cancel":
		return false, nil
	default:
		return false, front.Fault{Code: "INVALID_REPLY", Text: "The action must be accept, decline or cancel."}
	}
	_, err = by.Send(ctx, run, a)
	return err == nil, err
}

func (c *call) progress(ctx context.Context, token any, e *lifecycle.Event) {
	var m lifecycle.MessageIntermediate // the text of a final message has the same name
	message := e.Type == lifecycle.TypeMessageIntermediate || e.Type == lifecycle.TypeMessageFinal
	if !message || e.Decode(&m) != nil || m.Text == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	_ = c.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: cut(m.Text),
		Progress: float64(e.Seq)}) // a client that does not read it misses nothing else
}

func (c *call) inputRequired(asks []lifecycle.Question) *sdk.CallToolResult {
	requests := make(sdk.InputRequestMap, len(asks))
	for i := range asks {
		requests[c.tool.keyOf(&asks[i])] = c.request(&asks[i])
	}
	return &sdk.CallToolResult{InputRequests: requests, RequestState: c.state(asks)}
}

// resume checks the state that the client has returned, and applies the answers.
func (c *call) resume(ctx context.Context) error {
	shown, err := c.readState()
	if err != nil {
		return err
	}
	if len(c.params.InputResponses) > MaxResponses {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "too many input responses"}
	}
	v, err := c.Load(ctx, c.run)
	if err != nil {
		return err
	}
	for i := range v.Asks {
		q := &v.Asks[i]
		given, ok := c.params.InputResponses[c.tool.keyOf(q)]
		if !ok || shown[q.ID] != q.Digest() {
			continue // not answered, or another question than the person has seen
		}
		result, ok := given.(*sdk.ElicitResult)
		if !ok {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "an input response has the wrong type"}
		}
		r := response{Action: result.Action}
		if result.Content != nil {
			if r.Content, err = json.Marshal(result.Content); err != nil {
				return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "an input response is not JSON"}
			}
		}
		if err := c.apply(ctx, q, r); err != nil {
			return err
		}
	}
	return nil
}

// sortedKeys returns the names in order, for deterministic texts.
func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
