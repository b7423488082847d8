package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// asAda signs in.
type asAda struct{}

func (asAda) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ada")
	return http.DefaultTransport.RoundTrip(r)
}

// dialog is a person at a client with sessions.
type dialog func(context.Context, *sdk.ElicitParams) (*sdk.ElicitResult, error)

// connect connects a client of a revision with sessions; a nil person supports no dialogs.
func (d *desk) connect(revision string, person dialog, progress func(string)) *sdk.ClientSession {
	d.tb.Helper()
	transport := &sdk.StreamableClientTransport{Endpoint: d.url, HTTPClient: &http.Client{Transport: asAda{}}}
	return connect(d.tb, transport, revision, person, progress)
}

func connect(tb testing.TB, transport sdk.Transport, revision string, person dialog, progress func(string),
) *sdk.ClientSession {
	tb.Helper()
	options := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *sdk.ProgressNotificationClientRequest,
	) {
		if progress != nil {
			progress(r.Params.Message)
		}
	}}
	if person != nil {
		options.ElicitationHandler = func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return person(ctx, r.Params)
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(tb.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(tb, err)
	require.Equal(tb, revision, session.InitializeResult().ProtocolVersion)
	tb.Cleanup(func() { _ = session.Close() })
	return session
}

func start(ctx context.Context, s *sdk.ClientSession, prompt string) (*sdk.CallToolResult, error) {
	params := &sdk.CallToolParams{Name: "start", Arguments: object{"prompt": prompt}}
	params.SetProgressToken("p")
	return s.CallTool(ctx, params)
}

func textOf(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	return r.Content[0].(*sdk.TextContent).Text
}

func accept(content object) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: content}
}

// two asks for a text and an approval at once, and then for a text.
func two(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	switch t.Attempt {
	case 1:
		if err := sink.Message(ctx, engine.Message{Text: "reading the orders"}); err != nil {
			return engine.Outcome{}, err
		}
		return engine.AskAll(engine.Question{Kind: engine.OpenText, Prompt: "Which color?"},
			engine.Question{Kind: engine.Approval, Prompt: "Refund?", Subject: &engine.Subject{Tool: "refund",
				Arguments: json.RawMessage(`{"cents":4200}`)}}), nil
	case 2:
		said := t.Answers[0].Text + " and " + string(t.Answers[1].Decision)
		return engine.Ask(engine.ConfirmOf("Sure, " + said + "?")), nil
	}
	return engine.Done("sure: " + t.Answers[0].Text), nil
}

// P4: both revisions with sessions: two questions at once, two rounds, a declined approval.
func TestP4ASessionAsksDuringTheCall(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, two), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		var asked []string
		said := make(chan string, 16) // the client may read progress after the result
		s := d.connect(revision, func(_ context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
			asked = append(asked, p.Message)
			switch {
			case strings.HasPrefix(p.Message, "Which color?"):
				return accept(object{"answer": "red"}), nil
			case strings.HasPrefix(p.Message, "Refund?"):
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			return accept(object{"answer": "yes"}), nil
		}, func(text string) { said <- text })
		r, err := start(t.Context(), s, "Go.")
		require.NoError(t, err)
		require.Equal(t, "sure: yes", textOf(t, r))
		require.Equal(t, []string{"Which color?", "Refund?\n\nTool: refund\nArguments: {\n  \"cents\": 4200\n}",
			"Sure, red and reject?"}, asked)
		require.ElementsMatch(t, []string{"reading the orders", "sure: yes"}, []string{<-said, <-said})
	}
}

// P2: dismissing leaves the question open, and the call returns.
func TestP2ADismissedDialogLeavesTheQuestionOpen(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	for _, action := range []string{"cancel", "decline"} {
		s := d.connect("2025-11-25", func(context.Context, *sdk.ElicitParams) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: action}, nil
		}, nil)
		r, err := start(t.Context(), s, "Go.")
		require.NoError(t, err)
		require.Contains(t, textOf(t, r), "it stays open")
		require.False(t, r.IsError)
	}
}

// P2: when another front end answers, the dialog is withdrawn and the call continues. When the
// client gives up, the run stays.
func TestP2AnAnswerFromElsewhereWithdrawsTheDialog(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	asked, over := make(chan struct{}, 16), make(chan struct{})
	var withdrawn atomic.Int32
	s := d.connect("2025-11-25", func(ctx context.Context, _ *sdk.ElicitParams) (*sdk.ElicitResult, error) {
		asked <- struct{}{}
		select {
		case <-ctx.Done():
			withdrawn.Add(1)
		case <-over: // the call's stream has ended, so the dialog can no longer be withdrawn
		}
		return nil, context.Canceled
	}, nil)
	// The SDK withdraws the dialog in the background, so the end of the call can overtake the
	// withdrawal.
	for range 10 {
		result := make(chan string, 1)
		go func() {
			if r, err := start(t.Context(), s, "Go."); err == nil && len(r.Content) == 1 {
				result <- r.Content[0].(*sdk.TextContent).Text
			}
			close(result)
		}()
		<-asked
		runs, err := d.lc.Runs(t.Context(), lifecycle.Query{States: []lifecycle.State{lifecycle.StateWaitingUser}})
		require.NoError(t, err)
		_, err = d.lc.Reply(t.Context(), runs.Runs[0].ID, lifecycle.Reply{ID: 1, Text: "blue"})
		require.NoError(t, err)
		require.Equal(t, "It is blue", <-result)
	}
	require.Eventually(t, func() bool { return withdrawn.Load() > 0 }, 10*time.Second, time.Millisecond)

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := start(ctx, s, "Again.")
		left <- err
	}()
	<-asked
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	close(over)
	runs, err := d.lc.Runs(t.Context(), lifecycle.Query{States: []lifecycle.State{lifecycle.StateWaitingUser}})
	require.NoError(t, err)
	require.Len(t, runs.Runs, 1, "the run still waits")
}

// P5: the host's Authorize sees the values of the HTTP request, such as the scope of a token, in
// every revision.
func TestP5AuthorizeSeesTheRequestsValues(t *testing.T) {
	type scope struct{}
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Engine: engine.Func(asker),
		Logger: slog.New(slog.DiscardHandler), Authorize: func(ctx context.Context, a lifecycle.Access) error {
			if ctx.Value(scope{}) != "all" && a.Action == lifecycle.ActionSubmit {
				return errors.New("out of scope")
			}
			return nil
		}})
	require.NoError(t, err)
	server, err := mcp.New(mcp.Config{Client: lc.Client, Identify: identify, Tools: []mcp.Tool{promptTool(mcp.Hold)},
		Logger: slog.New(slog.DiscardHandler), Hold: 50 * time.Millisecond})
	require.NoError(t, err)
	handler, err := server.Handler()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	var scopes atomic.Value
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), scope{}, scopes.Load())))
	}))
	t.Cleanup(h.Close) // after the clients have left
	d := &desk{t, h.URL, lc.Client}
	scopes.Store("all")
	opened := d.connect("2025-11-25", nil, nil)
	for _, granted := range []string{"all", "view"} {
		scopes.Store(granted)
		_, err := start(t.Context(), opened, "Go.")
		require.Equal(t, granted == "all", err == nil, "%s in a session that was opened with all: %v", granted, err)
		for _, revision := range []string{"2025-11-25", newest} {
			_, err := start(t.Context(), d.connect(revision, nil, nil), "Go.")
			require.Equal(t, granted == "all", err == nil, "%s %s: %v", granted, revision, err)
		}
	}
	stop()
	require.NoError(t, <-served)
}

// P5: a session belongs to the person who opened it.
func TestP5ASessionBelongsToItsPrincipal(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	s := d.connect("2025-11-25", nil, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url,
		strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`))
	require.NoError(t, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Authorization": {"Bearer eve"}, "Mcp-Session-Id": {s.ID()}, "Mcp-Protocol-Version": {"2025-11-25"}}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	r.Header.Set("Authorization", "")
	r.Body = http.NoBody
	res, err = http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}

// P4: another node does not know a session and answers 404, upon which clients open another session.
// It accepts the requestState of a call and serves tasks.
func TestP4AnotherNodeServesEachRun(t *testing.T) {
	client := host(t, asker)
	var nodes [2]*desk
	for i := range nodes {
		task := promptTool(mcp.Task)
		task.Name = "task"
		nodes[i] = serve(t, mcp.Config{Client: client, Tools: []mcp.Tool{promptTool(mcp.Hold), task}})
	}
	here, there := nodes[0], nodes[1]
	session := http.Header{"Mcp-Session-Id": {here.connect("2025-11-25", nil, nil).ID()}}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		status, _, _ := there.request(method, "ada", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, session)
		require.Equal(t, http.StatusNotFound, status, method)
	}
	status, _, _ := here.raw("ada", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, session)
	require.Equal(t, http.StatusOK, status)

	first, err := here.call("ada", dialogs, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	answers := object{"1": object{"action": "accept", "content": object{"answer": "tea"}}}
	last, err := there.call("ada", dialogs, "start", object{"prompt": "Go."}, object{
		"requestState": first["requestState"], "inputResponses": answers})
	require.NoError(t, err)
	require.Equal(t, "It is tea", seen(nil, last).Result)

	task, err := here.call("ada", tasks, "task", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	id, _ := task["taskId"].(string)
	other := byTasks{desk: there}
	require.Eventually(t, func() bool {
		asked, err := other.See(t.Context(), "ada", id)
		return err == nil && slices.Equal(asked.Questions, []int{1})
	}, time.Minute, time.Millisecond)
	require.NoError(t, other.respond(t.Context(), "ada", id, 1, formOf(fronttest.Answer{Text: "milk"})))
	_, err = client.Wait(t.Context(), id)
	require.NoError(t, err)
	for _, node := range nodes {
		ended, err := byTasks{desk: node}.See(t.Context(), "ada", id)
		require.NoError(t, err)
		require.Equal(t, fronttest.Seen{Ended: true, Result: "It is milk"}, ended)
	}
}

// P4: the same over standard input and output, in every revision.
func TestP4StdioServesOnePerson(t *testing.T) {
	client := host(t, asker)
	server, err := mcp.New(mcp.Config{Client: client, Tools: []mcp.Tool{promptTool(mcp.Hold)},
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for _, revision := range []string{"2025-06-18", "2025-11-25", newest} {
		in, fromClient := io.Pipe()
		toClient, out := io.Pipe()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- server.ServeStdio(ctx, lifecycle.Actor{ID: "ada"}, in, out) }()
		s := connect(t, &sdk.IOTransport{Reader: toClient, Writer: fromClient}, revision,
			func(context.Context, *sdk.ElicitParams) (*sdk.ElicitResult, error) {
				return accept(object{"answer": revision}), nil
			}, nil)
		r, err := start(ctx, s, "Go.")
		require.NoError(t, err)
		require.Equal(t, "It is "+revision, textOf(t, r))
		require.NoError(t, s.Close())
		stop()
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			require.NoError(t, err)
		}
	}
	runs, err := client.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Len(t, runs.Runs, 3)
}

// P4: a question without a flat form opens the host's page, if the client can; the client learns of
// the answer there.
func TestP4AQuestionWithoutAFormOpensThePage(t *testing.T) {
	nested := json.RawMessage(`{"type":"object","properties":{"at":{"type":"object"}}}`)
	agent := func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.Question{Kind: engine.FillFields, Prompt: "Where?", Schema: nested}), nil
		}
		return engine.Done("thanks"), nil
	}
	client := host(t, agent)
	d := serve(t, mcp.Config{Client: client, Tools: []mcp.Tool{promptTool(mcp.Hold)},
		Page: func(run string, n int) string { return fmt.Sprintf("https://desk.example.com/#/inbox/%s/%d", run, n) }})
	both := object{"elicitation": object{"form": object{}, "url": object{}}}
	r, err := d.call("ada", both, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	requests, _ := r["inputRequests"].(object)
	one, _ := requests["1"].(object)
	params, _ := one["params"].(object)
	require.Equal(t, "url", params["mode"])
	page, _ := params["url"].(string)
	require.Regexp(t, `^https://desk\.example\.com/#/inbox/mcp-[^/]+/1$`, page)
	run := strings.Split(page, "/")[5]
	answered := make(chan error, 1)
	go func() {
		_, err := client.As(lifecycle.Actor{ID: "ada", Via: "web"}).Reply(t.Context(), run,
			lifecycle.Reply{ID: 1, Value: json.RawMessage(`{"at":{}}`)})
		answered <- err
	}()
	r, err = d.call("ada", both, "start", object{"prompt": "Go."}, object{"requestState": r["requestState"],
		"inputResponses": object{"1": object{"action": "accept"}}})
	require.NoError(t, err)
	require.NoError(t, <-answered)
	require.Equal(t, "thanks", seen(nil, r).Result)
}

// P4: a client with sessions is notified that its question was answered on the page, with the id of the
// dialog that named the page.
func TestP4AClientIsNotifiedOfAnAnswerOnThePage(t *testing.T) {
	agent := func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.Question{Kind: engine.FillFields, Prompt: "Where?",
				Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"object"}}}`)}), nil
		}
		return engine.Done("thanks"), nil
	}
	client := host(t, agent)
	d := serve(t, mcp.Config{Client: client, Tools: []mcp.Tool{promptTool(mcp.Hold)},
		Page: func(run string, n int) string { return fmt.Sprintf("https://desk.example.com/#/inbox/%s/%d", run, n) }})
	shown, completed := make(chan *sdk.ElicitParams, 1), make(chan string, 1)
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			shown <- r.Params
			return &sdk.ElicitResult{Action: "accept"}, nil // the person opens the page
		},
		ElicitationCompleteHandler: func(_ context.Context, r *sdk.ElicitationCompleteNotificationRequest) {
			completed <- r.Params.ElicitationID
		}})
	s, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: d.url,
		HTTPClient: &http.Client{Transport: asAda{}}}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	defer s.Close()
	answered := make(chan error, 1)
	var dialog *sdk.ElicitParams
	go func() {
		dialog = <-shown
		run := strings.Split(dialog.URL, "/")[5]
		_, err := client.As(lifecycle.Actor{ID: "ada", Via: "web"}).Reply(t.Context(), run,
			lifecycle.Reply{ID: 1, Value: json.RawMessage(`{"at":{}}`)})
		answered <- err
	}()
	r, err := start(t.Context(), s, "Go.")
	require.NoError(t, err)
	require.NoError(t, <-answered)
	require.Equal(t, "thanks", textOf(t, r))
	require.Equal(t, dialog.ElicitationID, <-completed)
}

// P5: a caller without a sign-in reads where to get one, as the protected-resource metadata say.
func TestP5TheMetadataNameTheSignIn(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)},
		Metadata: "https://desk.example.com/.well-known/oauth-protected-resource"})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url, strings.NewReader("{}"))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Equal(t, `Bearer resource_metadata="https://desk.example.com/.well-known/oauth-protected-resource"`,
		res.Header.Get("WWW-Authenticate"))
	w := httptest.NewRecorder()
	mcp.MetadataHandler("https://desk.example.com/mcp", "https://login.example.com").ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"resource":"https://desk.example.com/mcp","authorization_servers":["https://login.example.com"],
		"bearer_methods_supported":["header"]}`, w.Body.String())
}

// annsDeputies makes ada the deputy of ann.
type annsDeputies struct{}

func (annsDeputies) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "ada" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// N10: a client asks a deputy with the name of the absent person, in each revision and as a task.
func TestN10ADeputyReadsForWhom(t *testing.T) {
	agent := func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Which color?",
				To: &lifecycle.Audience{Users: []string{"ann"}}}), nil
		}
		return engine.Done("It is " + t.Answers[0].Text), nil
	}
	client := hostOf(t, lifecycle.Config{Directory: annsDeputies{}}, agent)
	const asked = "You answer for ann.\n\nWhich color?"
	task := promptTool(mcp.Task)
	task.Name = "task"
	d := serve(t, mcp.Config{Client: client, Tools: []mcp.Tool{promptTool(mcp.Hold), task}})
	s := d.connect("2025-11-25", func(_ context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
		require.Equal(t, asked, p.Message)
		return accept(object{"answer": "red"}), nil
	}, nil)
	r, err := start(t.Context(), s, "Go.")
	require.NoError(t, err)
	require.Equal(t, "It is red", textOf(t, r))
	message := func(requests any) any {
		one, _ := requests.(object)["1"].(object)
		params, _ := one["params"].(object)
		return params["message"]
	}
	first, err := d.call("ada", dialogs, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	require.Equal(t, asked, message(first["inputRequests"]))
	held, err := d.call("ada", neither, "start", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(held["structuredContent"]), asked)
	created, err := d.call("ada", tasks, "task", object{"prompt": "Go."}, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		got, err := d.rpc(t.Context(), "ada", tasks, "tasks/get", object{"taskId": created["taskId"]})
		return err == nil && got["inputRequests"] != nil && message(got["inputRequests"]) == asked
	}, time.Minute, time.Millisecond)
}

// raw posts a body in a protocol revision that has sessions.
func (d *desk) raw(person, body string, header http.Header) (status int, session, text string) {
	d.tb.Helper()
	return d.request(http.MethodPost, person, body, header)
}

func (d *desk) request(method, person, body string, header http.Header) (status int, session, text string) {
	d.tb.Helper()
	r, err := http.NewRequestWithContext(d.tb.Context(), method, d.url, strings.NewReader(body))
	require.NoError(d.tb, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Authorization": {"Bearer " + person}, "Mcp-Protocol-Version": {"2025-11-25"}}
	maps.Copy(r.Header, header)
	res, err := http.DefaultClient.Do(r)
	require.NoError(d.tb, err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	require.NoError(d.tb, err)
	return res.StatusCode, res.Header.Get("Mcp-Session-Id"), string(all)
}

// L2: one person can use up neither the sessions nor the connections of the others.
func TestL2SessionsAndRequestsOfOnePersonAreBounded(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{promptTool(mcp.Hold)}})
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
		"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	opened := 0
	var last string
	for range 150 {
		status, session, _ := d.raw("eve", hello, nil)
		if status == http.StatusTooManyRequests {
			break
		}
		require.Equal(t, http.StatusOK, status)
		last = session
		opened++
	}
	require.Equal(t, 100, opened)
	status, _, _ := d.raw("ada", hello, nil)
	require.Equal(t, http.StatusOK, status)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, d.url, nil)
	require.NoError(t, err)
	r.Header = http.Header{"Authorization": {"Bearer eve"}, "Mcp-Session-Id": {last},
		"Mcp-Protocol-Version": {"2025-11-25"}}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	status, _, _ = d.raw("eve", hello, nil)
	require.Equal(t, http.StatusOK, status, "after the end of another session: %d", res.StatusCode)

	ctx, end := context.WithCancel(t.Context())
	defer end()
	statuses := make(chan int, 201)
	for range cap(statuses) { // bodies that never end
		never, _ := io.Pipe()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, never)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer eve")
		go func() {
			if res, err := http.DefaultClient.Do(r); err == nil {
				statuses <- res.StatusCode
				_ = res.Body.Close()
			} else if ctx.Err() == nil {
				statuses <- 0
			}
		}()
	}
	require.Equal(t, http.StatusTooManyRequests, <-statuses)
	status, _, _ = d.raw("ada", hello, nil)
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, statuses, "the others wait for their bodies")
}

// L1: a body that two readers could understand differently is refused, also the body of an
// answer.
func TestL1ABodyWithTwoMeaningsIsRefused(t *testing.T) {
	d := serve(t, mcp.Config{Client: host(t, two), Tools: []mcp.Tool{promptTool(mcp.Task)}})
	for name, body := range map[string]string{
		"a member twice":        `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`,
		"an argument twice":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":1,"a":2}}}`,
		"half a surrogate pair": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":"\ud800"}}}`,
		"invalid UTF-8":         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"too many values": `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[` + strings.Repeat("[],", 100_000) +
			`[]]}}`,
	} {
		status, _, text := d.raw("ada", body, nil)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", name, text)
	}
	run := byTasks{desk: d}
	id, err := run.Start(t.Context(), "ada", "Go.")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s, err := run.See(t.Context(), "ada", id)
		return err == nil && len(s.Questions) == 2
	}, time.Minute, time.Millisecond)
	_, err = d.rpc(t.Context(), "ada", tasks, "tasks/update", object{"taskId": id, "inputResponses": object{"2": object{
		"action": "decline", "Action": "accept", "content": object{"decision": "approve"}}}})
	require.Error(t, err)
	_, err = d.rpc(t.Context(), "ada", tasks, "tasks/cancel", object{"taskId": id, "TaskId": "mcp-other"})
	require.ErrorContains(t, err, "400")
	record, err := d.lc.Question(t.Context(), id, 2)
	require.NoError(t, err)
	require.Empty(t, record.Resolution)
}

// L1: a client that announces a body and never sends it holds no connection.
func TestL1ABodyThatNeverArrivesHoldsNoConnection(t *testing.T) {
	var requests []string
	for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS"} {
		for _, header := range []string{"", "Authorization: Bearer ada\r\n",
			"Authorization: Bearer ada\r\nSec-Fetch-Site: cross-site\r\n",
			"Authorization: Bearer ada\r\nMcp-Protocol-Version: " + newest + "\r\n"} {
			requests = append(requests, method+" /mcp HTTP/1.1\r\nHost: localhost\r\n"+header)
		}
	}
	fronttest.HoldsNoConnection(t, func(t *testing.T) http.Handler {
		s, err := mcp.New(mcp.Config{Client: host(t, asker), Identify: identify,
			Tools: []mcp.Tool{promptTool(mcp.Hold)}, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		handler, err := s.Handler()
		require.NoError(t, err)
		return handler
	}, requests...)
}

// L2: a function of the host that panics or exits its goroutine fails its request only.
func TestL2FunctionsOfTheHostFailTheirRequestOnly(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("/secret/runs.db") }, "exit": runtime.Goexit} {
		tool := promptTool(mcp.Hold)
		spec := tool.Spec
		tool.Spec = func(ctx context.Context, by lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
			if strings.Contains(string(arguments), "Fail.") {
				fail()
			}
			return spec(ctx, by, arguments)
		}
		// The time to hold the call ends before the run is read.
		s, err := mcp.New(mcp.Config{Client: host(t, asker), Tools: []mcp.Tool{tool}, Hold: time.Nanosecond,
			Logger: slog.New(slog.DiscardHandler), Identify: func(r *http.Request) (lifecycle.Actor, error) {
				if r.Header.Get("Authorization") == "Bearer eve" {
					fail()
				}
				return identify(r)
			}})
		require.NoError(t, err)
		handler, err := s.Handler()
		require.NoError(t, err)
		server := httptest.NewServer(handler)
		d := &desk{t, server.URL, nil}
		status, _, text := d.raw("eve", `{}`, nil)
		require.Equal(t, http.StatusInternalServerError, status, name)
		require.NotContains(t, text, "secret")
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		call := object{"name": "start", "arguments": object{"prompt": "Fail."}}
		_, err = d.rpc(ctx, "ada", neither, "tools/call", call)
		require.ErrorAs(t, err, new(*rpcError), name)
		require.NotContains(t, err.Error(), "secret")
		_, err = d.rpc(ctx, "ada", neither, "tools/call", object{"name": "start", "arguments": object{"prompt": "Go."}})
		require.NoError(t, err, name)
		stop()
		server.Close()
	}
}
