package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

const newest = "2026-07-28"

// identify reads the person from the header of the tests.
func identify(r *http.Request) (lifecycle.Actor, error) {
	return lifecycle.Actor{ID: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}, nil
}

// desk is a server with tools for tests, over HTTP.
type desk struct {
	tb  testing.TB
	url string
	lc  *lifecycle.Client
}

func serve(tb testing.TB, cfg mcp.Config) *desk {
	tb.Helper()
	cfg.Identify = identify
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := mcp.New(cfg)
	require.NoError(tb, err)
	handler, err := s.Handler()
	require.NoError(tb, err)
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return &desk{tb, server.URL, cfg.Client}
}

// host serves an agent.
func host(tb testing.TB, agent engine.Func) *lifecycle.Client {
	tb.Helper()
	return hostOf(tb, lifecycle.Config{}, agent)
}

func hostOf(tb testing.TB, cfg lifecycle.Config, agent engine.Func) *lifecycle.Client {
	tb.Helper()
	cfg.Store, cfg.Engine, cfg.Poll = memory.New(), agent, 20*time.Millisecond
	cfg.Logger = slog.New(slog.DiscardHandler)
	lc, err := lifecycle.New(cfg)
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	tb.Cleanup(func() {
		stop()
		require.NoError(tb, <-served)
	})
	return lc.Client
}

// promptTool runs its argument.
func promptTool(how mcp.Serve) mcp.Tool {
	return mcp.Tool{Name: "start", Description: "Starts a run.", Serve: how,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`),
		Spec: func(_ context.Context, _ lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
			var a struct{ Prompt string }
			err := json.Unmarshal(arguments, &a)
			return lifecycle.Spec{Prompt: a.Prompt}, err
		}}
}

// object is a JSON object.
type object = map[string]any

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// capabilities of clients.
var (
	dialogs = object{"elicitation": object{}}
	tasks   = object{"elicitation": object{}, "extensions": object{"io.modelcontextprotocol/tasks": object{}}}
	neither = object{}
)

// rpc makes a request of revision 2026-07-28 and decodes its result.
func (d *desk) rpc(ctx context.Context, person string, capabilities object, method string, params object) (
	object, error,
) {
	name, _ := params["name"].(string)
	if id, ok := params["taskId"].(string); ok {
		name = id
	}
	status, body, err := d.post(ctx, person, capabilities, method, name, params)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result object
		Error  *rpcError
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%d %s", status, body)
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Result, nil
}

func (d *desk) post(ctx context.Context, person string, capabilities object, method, name string, params object) (
	int, []byte, error,
) {
	all := object{"_meta": object{"io.modelcontextprotocol/protocolVersion": newest,
		"io.modelcontextprotocol/clientInfo":         object{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities}}
	for k, v := range params {
		all[k] = v
	}
	raw, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": all})
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {newest}, "Mcp-Method": {method}, "Mcp-Name": {name},
		"Authorization": {"Bearer " + person}}
	if name == "" {
		r.Header.Del("Mcp-Name")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(res.Body)
		return res.StatusCode, body, err
	}
	var last []byte
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, `"id":1`) {
			last = []byte(data)
		}
	}
	if last == nil {
		return res.StatusCode, nil, errors.New("the stream ends without a response")
	}
	return res.StatusCode, last, ctx.Err()
}

func (d *desk) call(person string, capabilities object, tool string, arguments, more object) (object, error) {
	params := object{"name": tool, "arguments": arguments}
	for k, v := range more {
		params[k] = v
	}
	return d.rpc(d.tb.Context(), person, capabilities, "tools/call", params)
}

// seen reads requests for input, a result, or neither.
func seen(requests any, result object) (s fronttest.Seen) {
	all, _ := requests.(object)
	for key := range all {
		n, _ := strconv.Atoi(key)
		s.Questions = append(s.Questions, n)
	}
	slices.Sort(s.Questions)
	if content, ok := result["content"].([]any); ok && len(content) > 0 {
		s.Result, _ = content[0].(object)["text"].(string)
	}
	return s
}

func formOf(a fronttest.Answer) object {
	if a.Decision != "" {
		return object{"action": "accept", "content": object{"decision": string(a.Decision)}}
	}
	return object{"action": "accept", "content": object{"answer": a.Text}}
}

// byTasks is a client of the tasks extension.
type byTasks struct {
	*desk
	fronttest.Config
}

func specOf(c fronttest.Config) mcp.Tool {
	tool := promptTool(mcp.Task)
	tool.Spec = func(_ context.Context, actor lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
		var a struct{ Prompt string }
		err := json.Unmarshal(arguments, &a)
		return c.Spec(actor.ID, a.Prompt), err
	}
	return tool
}

func (b byTasks) Start(ctx context.Context, person, prompt string) (string, error) {
	r, err := b.rpc(ctx, person, tasks, "tools/call", object{"name": "start", "arguments": object{"prompt": prompt}})
	id, _ := r["taskId"].(string)
	return id, err
}

func (b byTasks) See(ctx context.Context, person, run string) (s fronttest.Seen, err error) {
	for range 10 {
		r, err := b.rpc(ctx, person, tasks, "tasks/get", object{"taskId": run})
		if err != nil {
			return s, err
		}
		result, _ := r["result"].(object)
		s = seen(r["inputRequests"], result)
		switch r["status"] {
		case "completed", "failed", "cancelled":
			s.Ended = true
			return s, nil
		case "input_required":
			return s, nil
		}
		s.Status, _ = r["statusMessage"].(string)
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return s, nil
}

func (b byTasks) respond(ctx context.Context, person, run string, question int, response object) error {
	_, err := b.rpc(ctx, person, tasks, "tasks/update", object{"taskId": run,
		"inputResponses": object{strconv.Itoa(question): response, "99": object{"ignored": true}}})
	return err
}

func (b byTasks) Answer(ctx context.Context, person, run, _ string, a fronttest.Answer) error {
	return b.respond(ctx, person, run, a.Question, formOf(a))
}

func (b byTasks) Dismiss(ctx context.Context, person, run string, question int) error {
	return b.respond(ctx, person, run, question, object{"action": "cancel"})
}

// byRepeating is a client with dialogs, which repeats its calls with the answers.
type byRepeating struct {
	byTasks

	mu     *sync.Mutex
	states map[string]string // guarded by mu; the last requestState by run
}

func (b byRepeating) wait(ctx context.Context, person, run string, more object) (object, error) {
	params := object{"name": "wait", "arguments": object{"run_id": run}}
	for k, v := range more {
		params[k] = v
	}
	return b.rpc(ctx, person, dialogs, "tools/call", params)
}

func (b byRepeating) See(ctx context.Context, person, run string) (s fronttest.Seen, err error) {
	r, err := b.wait(ctx, person, run, nil)
	if err != nil {
		return s, err
	}
	if state, ok := r["requestState"].(string); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.states[person+run] = state
		return seen(r["inputRequests"], nil), nil
	}
	s = seen(nil, r)
	if pending, ok := r["structuredContent"].(object); ok {
		s.Status, _ = pending["status"].(string)
		return s, nil
	}
	s.Ended = true
	return s, nil
}

func (b byRepeating) respond(ctx context.Context, person, run string, question int, response object) error {
	b.mu.Lock()
	state := b.states[person+run]
	b.mu.Unlock()
	if state == "" {
		s, err := b.See(ctx, person, run)
		if err != nil || len(s.Questions) == 0 {
			return err
		}
		return b.respond(ctx, person, run, question, response)
	}
	r, err := b.wait(ctx, person, run, object{"requestState": state,
		"inputResponses": object{strconv.Itoa(question): response}})
	if next, ok := r["requestState"].(string); ok && response["action"] == "accept" {
		b.mu.Lock()
		defer b.mu.Unlock()
		if question > 1 || len(seen(r["inputRequests"], nil).Questions) == 0 {
			b.states[person+run] = next
		}
	}
	return err
}

func (b byRepeating) Answer(ctx context.Context, person, run, id string, a fronttest.Answer) error {
	if id != "m1" { // a new answer follows the newest requests
		if _, err := b.See(ctx, person, run); err != nil {
			return err
		}
	}
	return b.respond(ctx, person, run, a.Question, formOf(a))
}

func (b byRepeating) Dismiss(ctx context.Context, person, run string, question int) error {
	return b.respond(ctx, person, run, question, object{"action": "cancel"})
}

func newByTasks(tb testing.TB, c fronttest.Config) byTasks {
	tb.Helper()
	return byTasks{serve(tb, mcp.Config{Client: c.Client, Tools: []mcp.Tool{specOf(c)},
		Hold: 200 * time.Millisecond}), c}
}

// P1, P2, P3, P5: both ways to answer pass the table of traps.
func TestP2TasksPassTheTraps(t *testing.T) {
	fronttest.Run(t, func(tb testing.TB, c fronttest.Config) fronttest.FrontEnd {
		tb.Helper()
		return newByTasks(tb, c)
	})
}

func TestP2RepeatedCallsPassTheTraps(t *testing.T) {
	fronttest.Run(t, func(tb testing.TB, c fronttest.Config) fronttest.FrontEnd {
		tb.Helper()
		return byRepeating{newByTasks(tb, c), new(sync.Mutex), make(map[string]string)}
	})
}

// asker asks for a text, and ends with it.
func asker(_ context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Which color?"}), nil
	}
	return engine.Done("It is " + t.Answers[0].Text), nil
}

// P2: for a client with neither dialogs nor tasks, the call is held and then returns the run.
func TestP2AClientWithNeitherGetsTheRunAndWaits(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)},
		Page: func(run string, n int) string { return fmt.Sprintf("https://desk.example.com/#/inbox/%s/%d", run, n) }})
	r, err := d.call("ada", neither, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	pending := r["structuredContent"].(object)
	require.Equal(t, "waiting_user", pending["state"])
	require.Equal(t, "complete", r["resultType"])
	question := pending["questions"].([]any)[0].(object)
	require.Equal(t, "Which color?", question["text"])
	run := pending["run_id"].(string)
	require.Equal(t, "https://desk.example.com/#/inbox/"+run+"/1", question["page"])
	bob := d.lc.As(lifecycle.Actor{ID: "bob", Via: "web"})
	_, err = bob.Reply(t.Context(), run, lifecycle.Reply{ID: 1, Text: "red"})
	require.NoError(t, err)
	r, err = d.call("ada", neither, "wait", object{"run_id": run}, nil)
	require.NoError(t, err)
	require.Equal(t, "It is red", seen(nil, r).Result)
	_, err = d.call("eve", neither, "wait", object{"run_id": run}, nil)
	require.ErrorContains(t, err, "no such run")
}

// P2: the tool that waits holds while the question can only be answered elsewhere.
func TestP2WaitHoldsUntilTheAnswer(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}, Hold: time.Minute})
	r, err := d.call("ada", neither, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	run := r["structuredContent"].(object)["run_id"].(string)
	result := make(chan object, 1)
	go func() {
		r, _ := d.call("ada", neither, "wait", object{"run_id": run}, nil) // nil fails below
		result <- r
	}()
	select {
	case r := <-result:
		require.Fail(t, "it has not waited", "%v", r)
	case <-time.After(100 * time.Millisecond):
	}
	_, err = d.lc.Reply(t.Context(), run, lifecycle.Reply{ID: 1, Text: "red"})
	require.NoError(t, err)
	require.Equal(t, "It is red", seen(nil, <-result).Result)
}

// P2, P5: a state of another principal, tool or arguments is refused, and a changed one.
func TestP5ARequestStateBelongsToItsCall(t *testing.T) {
	other := promptTool(mcp.Hold)
	other.Name = "other"
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold), other}})
	arguments := object{"prompt": "Go."}
	r, err := d.call("ada", dialogs, "start", arguments, nil)
	require.NoError(t, err)
	require.Equal(t, "input_required", r["resultType"])
	more := object{"requestState": r["requestState"], "inputResponses": object{
		"1": object{"action": "accept", "content": object{"answer": "red"}}}}
	refused := func(person, tool string, arguments, more object) {
		t.Helper()
		_, err := d.call(person, dialogs, tool, arguments, more)
		var e *rpcError
		require.ErrorAs(t, err, &e)
		require.Equal(t, -32602, e.Code)
	}
	refused("eve", "start", arguments, more)
	refused("ada", "other", arguments, more)
	refused("ada", "start", object{"prompt": "Stop."}, more)
	refused("ada", "start", arguments, object{"requestState": r["requestState"].(string) + "x"})
	refused("ada", "start", arguments, object{"requestState": "e30"})
	r, err = d.call("ada", dialogs, "start", arguments, more)
	require.NoError(t, err)
	require.Equal(t, "It is red", seen(nil, r).Result)
	again, err := d.call("ada", dialogs, "start", arguments, more) // its response was lost
	require.NoError(t, err)
	require.Equal(t, r["content"], again["content"])
}

// P2: an invalid answer is asked again, with the reason; declining a text leaves the question open.
func TestP2AnInvalidAnswerIsAskedAgain(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	r, err := d.call("ada", dialogs, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	answer := func(response object) object {
		r, err = d.call("ada", dialogs, "start", object{"prompt": "Go."}, object{"requestState": r["requestState"],
			"inputResponses": object{"1": response}})
		require.NoError(t, err)
		return r
	}
	answer(object{"action": "accept", "content": object{"answer": " "}})
	require.Equal(t, "input_required", r["resultType"])
	request := r["inputRequests"].(object)["1"].(object)
	require.Equal(t, "elicitation/create", request["method"])
	require.Equal(t, "The answer is invalid: answer: missing.\n\nWhich color?", request["params"].(object)["message"])
	answer(object{"action": "decline"})
	require.Equal(t, "waiting_user", r["structuredContent"].(object)["state"])
}

// The rules of the extension about capabilities, headers and results.
func TestP4TasksFollowTheExtension(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.TaskOnly)}, TTL: time.Hour})
	_, err := d.call("ada", dialogs, "start", object{"prompt": "Go."}, nil)
	var e *rpcError
	require.ErrorAs(t, err, &e)
	require.Equal(t, -32021, e.Code)
	require.Equal(t, object{"requiredCapabilities": object{"extensions": object{
		"io.modelcontextprotocol/tasks": object{}}}}, e.Data)
	task, err := d.call("ada", tasks, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	require.Equal(t, "task", task["resultType"])
	require.InDelta(t, 3_600_000, task["ttlMs"], 0)
	id := task["taskId"].(string)
	status, body, err := d.post(t.Context(), "ada", tasks, "tasks/get", "another", object{"taskId": id})
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, string(body), "-32020")
	_, err = d.rpc(t.Context(), "ada", dialogs, "tasks/get", object{"taskId": id})
	require.ErrorAs(t, err, &e)
	require.Equal(t, -32021, e.Code)
	_, err = d.rpc(t.Context(), "eve", tasks, "tasks/get", object{"taskId": id})
	require.ErrorAs(t, err, &e)
	require.Equal(t, -32602, e.Code)
	for range 2 {
		ack, err := d.rpc(t.Context(), "ada", tasks, "tasks/cancel", object{"taskId": id})
		require.NoError(t, err)
		require.Equal(t, "complete", ack["resultType"])
		require.NotContains(t, ack, "taskId")
	}
	got, err := d.rpc(t.Context(), "ada", tasks, "tasks/get", object{"taskId": id})
	require.NoError(t, err)
	require.Equal(t, "cancelled", got["status"])
}

// Arguments are checked by the tool's schema before anything is stored; the model learns why.
func TestP5ArgumentsAreChecked(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	for _, arguments := range []object{{}, {"prompt": 1}} {
		r, err := d.call("ada", neither, "start", arguments, nil)
		require.NoError(t, err)
		require.Equal(t, true, r["isError"])
		require.Contains(t, seen(nil, r).Result, "prompt")
	}
	runs, err := d.lc.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Empty(t, runs.Runs)
	_, err = d.rpc(t.Context(), "ada", neither, "prompts/list", object{})
	require.ErrorContains(t, err, "-32601")
	_, _, err = d.post(t.Context(), "", neither, "tools/list", "", object{})
	require.NoError(t, err)
}

// A host's fault is shown; any other error of the host is not.
func TestP5ErrorsOfTheHostAreNotShown(t *testing.T) {
	tool := promptTool(mcp.Hold)
	tool.Spec = func(_ context.Context, _ lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
		switch {
		case bytes.Contains(arguments, []byte("fault")):
			return lifecycle.Spec{}, front.Fault{Text: "There is no such branch."}
		case bytes.Contains(arguments, []byte("panic")):
			panic("secret")
		}
		return lifecycle.Spec{}, errors.New("secret")
	}
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{tool}})
	r, err := d.call("ada", neither, "start", object{"prompt": "fault"}, nil)
	require.NoError(t, err)
	require.Equal(t, "There is no such branch.", seen(nil, r).Result)
	for _, prompt := range []string{"error", "panic"} {
		_, err = d.call("ada", neither, "start", object{"prompt": prompt}, nil)
		require.ErrorContains(t, err, "-32603")
		require.NotContains(t, err.Error(), "secret")
	}
}
